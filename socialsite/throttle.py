"""Rate limits as requests meet them: which rule, whose hits (CHARTER 22).

An action counts for the account and for the address together, so neither many accounts behind one address nor
one account behind many gets more. Signed out, the address alone counts. Without an answer of the limits the
action is refused (503): what changes something fails closed.
"""

from contextlib import suppress
from functools import lru_cache

from socialsite.recipes.rate_limit import Rule, Subject
from socialsite.store.errors import StoreError

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
    await _hit(request, _asked(request, name), request.services.clock.now_ms())


class Counted:
    """`async with Counted(request, "post"):` counts one `post`, and takes it back where the block raises.

    For actions whose failure costs nobody anything; tries that are counted because they fail (log-in,
    passwords) use `take`. A block that is cancelled, by its client or its deadline, stays counted: what it
    did is unknown, and hanging up must not be a way around the limit.
    """

    def __init__(self, request: SiteRequest, name: str) -> None:
        self._request = request
        self._asked = _asked(request, name)
        self._now_ms = request.services.clock.now_ms()

    async def __aenter__(self) -> None:
        await _hit(self._request, self._asked, self._now_ms)

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and issubclass(kind, Exception):
            with suppress(StoreError):  # the counter forgets it by itself within two minutes
                await self._request.services.limits.refund_all(self._asked, self._now_ms)


def _asked(request: SiteRequest, name: str) -> list[tuple[Subject, list[Rule]]]:
    subjects = [address_subject(request.client_address)]
    if request.account is not None:
        subjects.append(Subject.account(request.account.id))
    rules = rules_of(request, name)
    return [(subject, rules) for subject in subjects]


async def _hit(request: SiteRequest, asked: list[tuple[Subject, list[Rule]]], now_ms: int) -> None:
    verdict = await request.services.limits.hit_all(asked, now_ms)
    if not verdict.granted:
        raise RateLimited(verdict.rule, verdict.retry_after_s)
