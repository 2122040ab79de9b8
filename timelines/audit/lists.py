"""Lists: their hashes, their owners' indexes, the counter of their ids."""

from collections.abc import Sequence
from functools import partial

from accounts.domain import DELETED
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines import keys
from timelines.audit.discrepancy import Finding
from timelines.audit.members import name_of, pages
from timelines.audit.reader import ABSENT, Looking
from timelines.audit.repairs import Places
from timelines.ids import ListId

MEMBERS_PER_ROUND = 500
FIELDS = ("owner", "title", "created_ms", "deleted")


class ListChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def lists(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        counter = keys.list_id_counter()
        last = await look.number(counter)
        rows = await look.gather(("HMGET", key, *FIELDS) for key in found)
        ids = [int(key.tag[1:]) for key in found]
        findings: list[Finding] = []
        if ids and last is not None and max(ids) > last:
            highest = found[ids.index(max(ids))]
            findings.append(Finding("list_counter_low", highest, repair=partial(self._raise, max(ids))))
        owners = {key: int(row[0]) for key, row in zip(found, rows, strict=True) if row[0] is not None}
        states = await look.states(owners.values())
        lives = await look.gather(("PTTL", key) for key in found)
        for key, (owner, title, created_ms, deleted), left_ms in zip(found, rows, lives, strict=True):
            if owner is None and title is None and created_ms is None and deleted is None:
                continue
            if left_ms > 0:
                findings += self._expiring(key, deleted)
                continue
            if owner is None or states[int(owner)] == ABSENT:
                repair = partial(self._erase, key, int(owner or 0))
                findings.append(Finding("list_of_nobody", key, repair=repair))
            elif deleted is not None:
                repair = partial(self._erase, key, int(owner))
                findings.append(Finding("list_half_deleted", key, repair=repair, is_damage=False))
            elif title is None or created_ms is None:
                fill = ("HSETNX", key, "title", f"List {key.tag[1:]}"), ("HSETNX", key, "created_ms", 0)
                findings.append(Finding("list_half", key, repair=self._places.run(*fill)))
        kept = {key: owner for key, owner in owners.items() if states[owner] not in (ABSENT, DELETED)}
        return findings + await self._unindexed(look, kept)

    def _expiring(self, key: Key, deleted: object) -> list[Finding]:
        """The trace of a deleted list is to go; a list that stands is not."""
        repair = self._places.run(("PERSIST", key))
        return [] if deleted is not None else [Finding("list_expires", key, repair=repair)]

    async def indexes(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """A crash at the end of a deletion leaves a name in the index: a leftover."""
        findings: list[Finding] = []
        for key in found:
            async for members in pages(look, key):
                ids = [int(member) for member, _ in members if member.isdigit()]
                rows = await look.gather(("HGET", keys.account_list(ListId(i)), "owner") for i in ids)
                owners = dict(zip(ids, rows, strict=True))
                for member, _ in members:
                    owner = owners.get(int(member)) if member.isdigit() else None
                    if owner != key.tag.encode():
                        drop = self._places.run(("ZREM", key, member))
                        findings.append(Finding("list_gone", key, name_of(member), drop, is_damage=owner is not None))
        return findings

    async def _unindexed(self, look: Looking, owners: dict[Key, int]) -> list[Finding]:
        """A list that its owner cannot find."""
        indexes = {key: keys.list_index(owner) for key, owner in owners.items()}
        scores = await look.gather(("ZSCORE", indexes[key], key.tag[1:]) for key in owners)
        marks = await look.gather(("HEXISTS", key, "deleted") for key in owners)
        findings: list[Finding] = []
        for key, score, marked in zip(owners, scores, marks, strict=True):
            if score is None and not marked:
                enter = self._places.run(("ZADD", indexes[key], key.tag[1:], key.tag[1:]))
                findings.append(Finding("list_unindexed", key, repair=enter))
        return findings

    async def _erase(self, key: Key, owner: int) -> None:
        """The deletion of a list, to its end."""
        list_id, at = ListId(int(key.tag[1:])), self._places
        while await at.members.remove_members(list_id, MEMBERS_PER_ROUND):
            pass
        await at.list_timelines.invalidate(list_id)
        await at.lists.erase(AccountId(owner), list_id)

    async def _raise(self, highest: int) -> None:
        key = keys.list_id_counter()
        (last,) = await self._places.store.gather([("GET", key)])
        if int(last or 0) < highest:
            await self._places.store.gather([("INCRBY", key, highest - int(last or 0))])
