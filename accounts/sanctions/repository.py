"""Stores the sanctions of each account, the sanctions that are not complete, and the open appeals."""

from collections.abc import Callable, Sequence

from accounts import keys
from accounts.errors import AccountNotFound, AlreadySuspended, SanctionNotFound, SanctionsCapReached
from accounts.sanctions.sanction import SANCTIONS_CAP, Sanction, SanctionId, decode_sanction, encode_sanction
from socialsite.ids import AccountId
from socialsite.recipes.time_queue import TimeQueue, encode_pair
from socialsite.store.commands import load_script
from socialsite.store.store import Store

STORE_SANCTION = load_script("store_sanction.lua", __package__)
ADD_REFERENCE = load_script("add_reference.lua", __package__)
Reference = tuple[AccountId, SanctionId]
"""An account and one of its sanctions."""


def _parse_reference(member: bytes) -> Reference:
    account_id, id = map(int, member.split(b":"))
    return AccountId(account_id), SanctionId(id)


class SanctionRepository:
    def __init__(self, store: Store, cap: int = SANCTIONS_CAP) -> None:
        self._store = store
        self._accounts = store.component("accounts")
        self._cap = cap
        self.due = TimeQueue(store, keys.due_sanctions(), _parse_reference, encode_pair, ADD_REFERENCE)
        """The sanctions that are not complete."""
        self.appeals = TimeQueue(store, keys.appeals(), _parse_reference, encode_pair, ADD_REFERENCE)
        """The sanctions with an open appeal."""

    async def find_room(self, sanction: Sanction) -> tuple[int, list[SanctionId]] | None:
        """Return the number of sanctions beside a new one, and the ids to delete for it; None if it is stored already.

        Above the cap, the oldest notes are deleted first, then the oldest sanctions that have ended.
        Raises AlreadySuspended, SanctionsCapReached.
        """
        rows, now_ms = await self.list_all(sanction.account_id), sanction.created_ms
        if any(each.id == sanction.id for each in rows):
            return None
        if sanction.kind == "suspend" and any(each.kind == "suspend" and each.is_in_force(now_ms) for each in rows):
            raise AlreadySuspended
        excess = max(0, len(rows) + 1 - self._cap)
        ended = [each for each in rows if each.has_ended(now_ms)]
        if len(ended) < excess:
            raise SanctionsCapReached
        ended.sort(key=lambda each: (each.kind != "note", each.id))
        return len(rows) - excess, [each.id for each in ended[:excess]]

    async def add(self, sanction: Sanction, *, is_news: bool) -> None:
        """Store a new sanction. A repetition changes nothing. Raises AccountNotFound and the errors of `find_room`."""
        while (room := await self.find_room(sanction)) is not None:
            count, ended_ids = room
            if ended_ids:
                await self._accounts.write("HDEL", keys.sanctions(sanction.account_id), *ended_ids)
            if await self._store_value(sanction, b"", is_news=is_news, count=count):
                return

    async def change(
        self, account_id: AccountId, id: SanctionId, edit: Callable[[Sanction], Sanction], *, is_news: bool = False
    ) -> Sanction:
        """Replace a sanction by the result of `edit`, and return the result. `edit` may be called more than once.

        Nothing is written if it returns an equal sanction. Raises SanctionNotFound, AccountNotFound.
        """
        key = keys.sanctions(account_id)
        while True:
            former = await self._accounts.execute("HGET", key, id)
            if former is None:
                raise SanctionNotFound
            sanction = edit(old := decode_sanction(former))
            if sanction == old or await self._store_value(sanction, former, is_news=is_news):
                return sanction

    async def _store_value(self, sanction: Sanction, former: bytes, *, is_news: bool, count: int | None = None) -> bool:
        changed = [keys.account(sanction.account_id), keys.sanctions(sanction.account_id)]
        expected = "" if count is None else count
        args = (sanction.id, former, encode_sanction(sanction), int(is_news), expected)
        reply = await self._accounts.write(*STORE_SANCTION.command(changed, args))
        if reply < 0:
            raise AccountNotFound
        return bool(reply)

    async def find(self, account_id: AccountId, id: SanctionId) -> Sanction:
        """Return a sanction. Raises SanctionNotFound."""
        (sanction,) = await self.find_many([(account_id, id)])
        if sanction is None:
            raise SanctionNotFound
        return sanction

    async def find_many(self, references: Sequence[Reference]) -> list[Sanction | None]:
        replies = await self._store.execute_all([("HGET", keys.sanctions(account), id) for account, id in references])
        return [None if reply is None else decode_sanction(reply) for reply in replies]

    async def list_all(self, account_id: AccountId) -> list[Sanction]:
        """Return all sanctions of an account, newest first."""
        rows = await self._accounts.execute("HVALS", keys.sanctions(account_id))
        return sorted(map(decode_sanction, rows), key=lambda sanction: -sanction.id)

    async def mark_read(self, account_id: AccountId) -> None:
        """Remove the mark of the account that it has news about its sanctions."""
        await self._accounts.write("HDEL", keys.account(account_id), "sanctions")
