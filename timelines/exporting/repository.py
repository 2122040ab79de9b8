"""Stores the transfers of an account, and which posts an import has made."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from struct import Struct

from socialsite.ids import AccountId, PostId
from socialsite.store import Repository, load_script
from timelines import keys
from timelines.errors import TransfersCapReached, TransferUnderWay
from timelines.exporting.transfer import (
    ACTIVE_STATES,
    STALLED_MS,
    TRANSFERS_CAP,
    Transfer,
    decode_transfer,
    encode_transfer,
)

START_TRANSFER = load_script("start_transfer.lua", __package__)
SAVE_TRANSFER = load_script("save_draft.lua", "timelines.drafts")
REPLACE_TRANSFER = load_script("replace_draft.lua", "timelines.drafts")
ENTRY, ID_BYTES = Struct("16s7s"), 7  # digest of a source, id of its post

ImportedPost = tuple[str, PostId]
"""The digest of a source (32 hex digits), and the id of its post; or LIKE or BOOKMARK, and the id of a marked post.

An import of a list of accounts records the id of a list or 0, and the id of an account, or 0 if it created the list.
"""
RecordImported = Callable[[list[ImportedPost]], Awaitable[None]]
"""Stores what an import is about to write, so that it can be undone."""
LIKE, BOOKMARK = f"{1:032x}", f"{2:032x}"


class Transfers(Repository):
    async def all(self, account_id: AccountId) -> list[Transfer]:
        """Return all transfers, the newest first."""
        values = await self._timelines.execute("HVALS", keys.transfers(account_id))
        return sorted(map(decode_transfer, values), key=lambda transfer: -transfer.id)

    async def find(self, account_id: AccountId, transfer_id: int) -> Transfer | None:
        value = await self._timelines.execute("HGET", keys.transfers(account_id), transfer_id)
        return None if value is None else decode_transfer(value)

    async def start(self, account_id: AccountId, transfer: Transfer) -> None:
        """Store a new transfer. Raises TransferUnderWay if a transfer of its kind is running, TransfersCapReached."""
        lost_ms = transfer.changed_ms - STALLED_MS
        args = [transfer.id, encode_transfer(transfer), transfer.kind, TRANSFERS_CAP, lost_ms, *ACTIVE_STATES]
        result = await self._timelines.write(*START_TRANSFER.command([keys.transfers(account_id)], args))
        if result != 1:
            raise TransfersCapReached if result else TransferUnderWay

    async def save(self, account_id: AccountId, transfer: Transfer) -> bool:
        """Store a transfer. Return False if it was deleted meanwhile."""
        key = keys.transfers(account_id)
        args = [transfer.id, encode_transfer(transfer), TRANSFERS_CAP, ""]
        return bool(await self._timelines.write(*SAVE_TRANSFER.command([key], args)))

    async def delete(self, account_id: AccountId, transfer_id: int) -> None:
        """Delete a transfer, and the record of the posts that it imported."""
        key, imported = keys.transfers(account_id), keys.imported_posts(account_id, transfer_id)
        await self._timelines.write_all([("UNLINK", imported), ("HDEL", key, transfer_id)])

    async def replace(self, account_id: AccountId, transfer: Transfer, changed: Transfer | None) -> bool:
        """Replace a transfer, or delete it. Return False if it was changed meanwhile.

        The script compares stored bytes: another release encodes the same transfer with other fields.
        """
        key = keys.transfers(account_id)
        stored = await self._timelines.execute("HGET", key, transfer.id)
        if stored is None or decode_transfer(stored) != transfer:
            return False
        args = [transfer.id, stored, encode_transfer(changed) if changed else ""]
        return bool(await self._timelines.write(*REPLACE_TRANSFER.command([key], args)))

    # Posts of an import

    async def add_imported(
        self, account_id: AccountId, transfer_id: int, posts: Sequence[ImportedPost], expires_ms: int
    ) -> None:
        """Record posts before they are written. A repetition records them again."""
        key = keys.imported_posts(account_id, transfer_id)
        page = b"".join(ENTRY.pack(bytes.fromhex(digest), id.to_bytes(ID_BYTES, "big")) for digest, id in posts)
        await self._timelines.write_all([("RPUSH", key, page), ("PEXPIREAT", key, expires_ms)])

    async def count_imported(self, account_id: AccountId, transfer_id: int) -> Counter[str]:
        """Return the number of recorded `posts`, `likes` and `bookmarks`, each counted once."""
        key = keys.imported_posts(account_id, transfer_id)
        pages = await self._timelines.execute("LRANGE", key, 0, -1)  # at most IMPORT_ROWS_CAP of each
        entries, kinds = set(chain.from_iterable(map(ENTRY.iter_unpack, pages))), {LIKE: "likes", BOOKMARK: "bookmarks"}
        return Counter(kinds.get(digest.hex(), "posts") for digest, _id in entries)

    async def last_imported(self, account_id: AccountId, transfer_id: int) -> list[ImportedPost]:
        """Return the recorded posts of the last page, or an empty list if there is none."""
        page = await self._timelines.execute("LINDEX", keys.imported_posts(account_id, transfer_id), -1)
        entries = ENTRY.iter_unpack(page or b"")
        return [(digest.hex(), PostId(int.from_bytes(id, "big"))) for digest, id in entries]

    async def drop_last_imported(self, account_id: AccountId, transfer_id: int) -> None:
        await self._timelines.write("RPOP", keys.imported_posts(account_id, transfer_id))
