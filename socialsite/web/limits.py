"""Rate limits as requests meet them: which rule, whose hits.

An action counts for the account and for the address together. One account gets no more behind many addresses.
Many accounts behind one address share what ACCOUNTS_PER_ADDRESS accounts may do: a family, a school or a mobile
network is one address, and one noisy neighbour must not lock it out. Signed out, the address alone counts.
Without an answer of the limits the action is refused (503): what changes something fails closed.
"""

from contextlib import suppress
from functools import lru_cache

from socialsite.errors import RateLimited
from socialsite.recipes.rate_limit import Identifier, Rule
from socialsite.store.errors import StoreError
from socialsite.web.requests import SiteRequest

ACCOUNTS_PER_ADDRESS = 10
"""Signed-in accounts that may act at full rate behind one address at the same time."""


@lru_cache(maxsize=4_096)
def address_identifier(address: str) -> Identifier:
    """Parsing an address and taking its digest costs as much as the rest of the middleware together."""
    return Identifier.address(address)


def get_rate_limit_rules(request: SiteRequest, name: str) -> list[Rule]:
    """The rule of RATE_LIMIT_<NAME>; none where it is off."""
    rule = request.services.rules.get(name)
    return [rule] if rule is not None and rule.limit is not None else []


async def enforce_rate_limit(request: SiteRequest, name: str) -> None:
    """Count one `name` for the account and the address, or for neither. Raises RateLimited."""
    await _count_hits(request, _collect_hits(request, name), request.services.clock.now_ms())


class RefundableLimit:
    """`async with Counted(request, "post"):` counts one `post`, and takes it back where the block raises.

    For actions whose failure costs nobody anything; tries that are counted because they fail (log-in,
    passwords) use `take`. A block that is cancelled, by its client or its deadline, stays counted: what it
    did is unknown, and hanging up must not be a way around the limit.
    """

    def __init__(self, request: SiteRequest, name: str) -> None:
        self._request = request
        self._hits = _collect_hits(request, name)
        self._now_ms = request.services.clock.now_ms()

    async def __aenter__(self) -> None:
        await _count_hits(self._request, self._hits, self._now_ms)

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and issubclass(kind, Exception):
            with suppress(StoreError):  # the counter forgets it by itself within two minutes
                await self._request.services.limits.refund_all(self._hits, self._now_ms)


def _collect_hits(request: SiteRequest, name: str) -> list[tuple[Identifier, list[Rule]]]:
    rules, address = get_rate_limit_rules(request, name), address_identifier(request.client_address)
    if request.account is None:
        return [(address, rules)]
    shared = [Rule(rule.name, rule.limit and rule.limit * ACCOUNTS_PER_ADDRESS) for rule in rules]
    return [(Identifier.account(request.account.id), rules), (address, shared)]


async def _count_hits(request: SiteRequest, asked: list[tuple[Identifier, list[Rule]]], now_ms: int) -> None:
    verdict = await request.services.limits.hit_all(asked, now_ms)
    if not verdict.granted:
        raise RateLimited(verdict.rule, verdict.retry_after_s)
