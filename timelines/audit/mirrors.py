"""Relations of two accounts that stand under both tags: blocks, and requests to follow.

Both sides are written before anything is answered, so a side that stands alone is completed, with its time.
"""

from collections.abc import Callable, Sequence
from functools import partial

from socialsite.ids import AccountId
from socialsite.store import Key
from timelines import keys
from timelines.audit.discrepancy import Check, Finding
from timelines.audit.members import first_pages, name_of
from timelines.audit.reader import ABSENT, Looking, Scored
from timelines.audit.repairs import Places

KeyOf = Callable[[int], Key]


class MirrorChecks:
    def __init__(self, places: Places) -> None:
        self._places = places
        self.blocks = self._of("block", keys.blocked_by)
        self.blocked_by = self._of("block", keys.blocks)
        self.requests = self._of("request", keys.sent_follow_requests)
        self.requested = self._of("request", keys.follow_requests)

    def _of(self, name: str, mirror: KeyOf) -> Check:
        return partial(self._check, name, mirror)

    async def _check(self, name: str, mirror: KeyOf, look: Looking, found: Sequence[Key]) -> list[Finding]:
        findings: list[Finding] = []
        async for key, members in first_pages(look, list(found)):
            findings += await self._members(look, name, mirror, key, members)
        return findings

    async def _members(
        self, look: Looking, name: str, mirror: KeyOf, key: Key, members: Sequence[Scored]
    ) -> list[Finding]:
        owner, findings = AccountId(int(key.tag)), list[Finding]()
        others = {int(member): score for member, score in members if member.isdigit()}
        states = await look.states([owner, *others])
        held = await look.gather(("ZSCORE", mirror(other), owner) for other in others)
        for (other, score), there in zip(others.items(), held, strict=True):
            if ABSENT in (states[owner], states[other]):
                drop = partial(self._drop, key, other, mirror(other), owner)
                findings.append(Finding(f"{name}_of_nobody", key, str(other), drop))
            elif there is None:
                complete = self._places.run(("ZADD", mirror(other), "NX", score, owner))
                findings.append(Finding(f"{name}_one_sided", key, str(other), complete))
        for member in (member for member, _ in members if not member.isdigit()):
            drop_it = self._places.run(("ZREM", key, member))
            findings.append(Finding(f"{name}_garbage", key, name_of(member), drop_it))
        return findings

    async def _drop(self, key: Key, other: int, mirror: Key, owner: AccountId) -> None:
        await self._places.store.gather([("ZREM", key, other), ("ZREM", mirror, owner)])
