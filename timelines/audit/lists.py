"""Checks lists: their fields, the indexes of their owners and the counter of their ids."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from accounts.domain import DELETED
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import Checks
from timelines.audit.discrepancy import Discrepancy, detail_of
from timelines.audit.reader import ABSENT, AuditReader
from timelines.ids import ListId

MEMBERS_PER_ROUND = 500
FIELDS = ("owner", "title", "created_ms", "deleted")


class ListChecks(Checks):
    async def lists(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each list has an owner, all its fields and an id up to the counter. Only deleted lists expire."""
        counter = keys.list_id_counter()
        last_id, highest = await reader.read_counter(counter), max(checked, key=list_id_of)
        if last_id is not None and list_id_of(highest) > last_id:
            repair = self._context.raise_counter(counter, list_id_of(highest))
            yield Discrepancy("list_counter_low", highest, repair=repair)
        rows = await reader.read_each(checked, ("HMGET", *FIELDS), ("PTTL",))
        owners = {key: int(fields[0]) for key, (fields, _) in rows if fields[0] is not None}
        states = await reader.read_states(owners.values())
        for key, (fields, ttl_ms) in rows:
            owner, title, created_ms, deleted = fields
            if not any(field is not None for field in fields):
                continue
            if ttl_ms > 0:  # the key of a deleted list, kept so that the deletion may be repeated
                if deleted is None:
                    yield Discrepancy("list_expires", key, repair=self._context.run(("PERSIST", key)))
            elif owner is None or states[int(owner)] == ABSENT:
                yield Discrepancy("list_of_nobody", key, repair=partial(self._erase, key, int(owner or 0)))
            elif deleted is not None:
                erase = partial(self._erase, key, int(owner))
                yield Discrepancy("list_half_deleted", key, repair=erase, is_damage=False)
            elif title is None or created_ms is None:
                fill = self._context.run(
                    ("HSETNX", key, "title", f"List {key.tag[1:]}"), ("HSETNX", key, "created_ms", 0)
                )
                yield Discrepancy("list_half", key, repair=fill)
        active = {key: owner for key, owner in owners.items() if states[owner] not in (ABSENT, DELETED)}
        async for found in self._find_unindexed(reader, active):
            yield found

    async def indexes(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each entry is a list of the owner.

        An entry that remains after a crash during a deletion is a leftover.
        """
        async for key, members in reader.pages_of_many(checked):
            ids = [ListId(int(member)) for member, _ in members if member.isdigit()]
            rows = await reader.execute_all(("HGET", keys.account_list(list_id), "owner") for list_id in ids)
            owners = dict(zip(ids, rows, strict=True))
            for member, _ in members:
                owner = owners.get(ListId(int(member))) if member.isdigit() else None
                if owner != key.tag.encode():
                    remove, is_damage = self._context.remove(key, member), owner is not None
                    yield Discrepancy("list_gone", key, detail_of(member), remove, is_damage=is_damage)

    async def _find_unindexed(self, reader: AuditReader, owners: dict[Key, int]) -> AsyncIterator[Discrepancy]:
        """Find the lists that are absent from the index of their owner."""
        indexes = {key: keys.list_index(owner) for key, owner in owners.items()}
        scores = await reader.execute_all(("ZSCORE", indexes[key], key.tag[1:]) for key in owners)
        marks = await reader.execute_all(("HEXISTS", key, "deleted") for key in owners)
        for key, score, is_deleted in zip(owners, scores, marks, strict=True):
            if score is None and not is_deleted:
                add = self._context.run(("ZADD", indexes[key], key.tag[1:], key.tag[1:]))
                yield Discrepancy("list_unindexed", key, repair=add)

    async def _erase(self, key: Key, owner: int) -> None:
        list_id = ListId(list_id_of(key))
        while await self._context.members.remove_members(list_id, MEMBERS_PER_ROUND):
            pass
        await self._context.list_timelines.invalidate(list_id)
        await self._context.lists.erase(AccountId(owner), list_id)


def list_id_of(key: Key) -> int:
    return int(key.tag[1:])
