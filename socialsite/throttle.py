"""Rate limits as requests meet them: which rule, whose hits (CHARTER 22).

An action counts for the account and for the address together, so neither many accounts behind one address nor
one account behind many gets more. Signed out, the address alone counts. Without an answer of the limits the
action is refused (503): what changes something fails closed.
"""

from functools import lru_cache

from socialsite.recipes.rate_limit import Rule, Subject

from .errors import RateLimited
from .http import SiteRequest


@lru_cache(maxsize=4_096)
def address_subject(address: str) -> Subject:
    """Parsing an address and taking its digest costs as much as the rest of the middleware together."""
    return Subject.address(address)


def rules_of(request: SiteRequest, name: str) -> list[Rule]:
    """The rule of RATE_LIMIT_<NAME>; none where it is off."""
    rule = request.services.rules.get(name)
    return [rule] if rule is not None and rule.limit is not None else []


async def take(request: SiteRequest, name: str) -> None:
    """Count one `name` for the account and the address, or for neither. Raises RateLimited."""
    services = request.services
    subjects = [address_subject(request.client_address)]
    if request.account is not None:
        subjects.append(Subject.account(request.account.id))
    rules = rules_of(request, name)
    verdict = await services.limits.hit_all(
        [(subject, rules) for subject in subjects], services.clock.now_ms()
    )
    if not verdict.granted:
        raise RateLimited(verdict.rule, verdict.retry_after_s)
