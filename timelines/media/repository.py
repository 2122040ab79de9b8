"""Stores the rows of pictures, the bytes of accounts, and the times at which pictures are checked for use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec.structs import asdict

from socialsite.ids import AccountId
from socialsite.store import Reply, Repository, load_script
from timelines import keys
from timelines.media.media import MEDIA_PER_ACCOUNT, Media

UPDATE, COUNT_MEDIA, COUNT_ACCOUNT = (
    load_script(f"{name}.lua", __package__) for name in ("update_media", "count_media", "count_account")
)
Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FolderUse:
    """The bytes (as `du` counts them) and files of the folder, and the time when a worker measured them."""

    size_bytes: int
    files: int
    at_ms: int


class MediaRows(Repository):
    # Rows

    async def add(self, row: Media) -> bool:
        """Store a new row. Return False if a row with this id exists."""
        return bool(await self._posts.write(*UPDATE.command([keys.media(row.id)], [-1, *_flatten(asdict(row))])))

    async def find(self, media_id: int) -> Media | None:
        return (await self.find_many([media_id]))[0]

    async def find_many(self, media_ids: Iterable[int]) -> list[Media | None]:
        """Return the rows in the order of the ids."""
        replies = await self._posts.execute_all([("HGETALL", keys.media(media_id)) for media_id in media_ids])
        return [parse_row(reply) for reply in replies]

    async def update(self, media_id: int, expected: Fields, changed: Fields) -> bool:
        """Change fields if the `expected` fields have their values. Return False if they differ or there is no row."""
        key = keys.media(media_id)
        args = [len(expected), *_flatten(expected), *_flatten(changed)]
        return bool(await self._posts.write(*UPDATE.command([key], args)))

    async def remove(self, media_id: int) -> None:
        await self._posts.write("DEL", keys.media(media_id))

    async def erase(self, row: Media) -> None:
        """Remove the row of a picture without files. Its bytes are no longer counted."""
        await self.count(row.owner, row.id, 0)
        await self.remove(row.id)
        await self.complete_check(row.name)

    # Bytes

    async def count(self, owner_id: AccountId, media_id: int, size_bytes: int, quota_bytes: int = 0) -> bool:
        """Count the bytes of a picture for its account and the site; 0 bytes remove it.

        Return False if a new picture would exceed the quota or MEDIA_PER_ACCOUNT. Then nothing is counted.
        """
        key, site = keys.media_of_account(owner_id), keys.media_total()
        args = [media_id, size_bytes, quota_bytes, MEDIA_PER_ACCOUNT]
        (total, changes) = await self._timelines.write(*COUNT_MEDIA.command([key], args))
        if total < 0:
            return False
        if changes:
            await self._posts.write(*COUNT_ACCOUNT.command([site], [owner_id, total, changes]))
        return True

    async def read_totals(self, owner_id: AccountId) -> tuple[int, int]:
        """Return the bytes of the pictures of the account, and of the whole site."""
        key, site = keys.media_of_account(owner_id), keys.media_total()
        account_bytes, site_bytes = (
            await self._timelines.execute("HGET", key, "total"),
            await self._posts.execute("HGET", site, "total"),
        )
        return int(account_bytes or 0), int(site_bytes or 0)

    async def ids_of_account(self, owner_id: AccountId, limit: int) -> list[int]:
        """Return the ids of at most `limit` pictures of the account."""
        fields = await self._timelines.execute("HKEYS", keys.media_of_account(owner_id))  # at most MEDIA_PER_ACCOUNT
        return [int(field) for field in fields if field.isdigit()][:limit]

    async def forget_account(self, owner_id: AccountId) -> None:
        """Delete the counters of an account without pictures."""
        key, site = keys.media_of_account(owner_id), keys.media_total()
        await self._posts.write("HDEL", site, owner_id)
        await self._timelines.write("DEL", key)

    # Checks

    async def schedule_check(self, names: Iterable[str], at_ms: int, *, earlier: bool = False) -> None:
        """Schedule the check of the pictures. The later of old and new time is kept, with `earlier` the earlier."""
        key = keys.media_checks()
        scores = [part for name in names for part in (at_ms, name)]
        if scores:
            await self._posts.write("ZADD", key, "LT" if earlier else "GT", *scores)

    async def due_checks(self, now_ms: int, limit: int) -> list[str]:
        """Return the names of pictures to check, the oldest first."""
        names = await self._posts.execute("ZRANGE", keys.media_checks(), "-inf", now_ms, "BYSCORE", "LIMIT", 0, limit)
        return [name.decode() for name in names]

    async def find_check(self, name: str) -> int:
        """Return the time of the check of a picture, or 0 if there is none."""
        return int(float(await self._posts.execute("ZSCORE", keys.media_checks(), name) or 0))

    async def complete_check(self, name: str) -> None:
        await self._posts.write("ZREM", keys.media_checks(), name)

    # The folder

    async def agree_on_folder(self, folder_id: str) -> str:
        """Return the id of the folder that the site uses. If none is stored, store `folder_id`."""
        key = keys.media_folder()
        is_new = await self._posts.write("HSETNX", key, "id", folder_id)
        return folder_id if is_new else str((await self._posts.execute("HGET", key, "id")).decode())

    async def find_folder_id(self) -> str | None:
        folder_id = await self._posts.execute("HGET", keys.media_folder(), "id")
        return None if folder_id is None else str(folder_id.decode())

    async def store_folder_use(self, use: FolderUse) -> None:
        key = keys.media_folder()
        await self._posts.write("HSET", key, "bytes", use.size_bytes, "files", use.files, "ms", use.at_ms)

    async def read_site_use(self) -> tuple[int, FolderUse | None]:
        """Return the counted bytes of the site, and the last measurement or None."""
        site, folder = keys.media_total(), keys.media_folder()
        total, measured = await self._posts.execute_all(
            [("HGET", site, "total"), ("HMGET", folder, "bytes", "files", "ms")]
        )
        use = FolderUse(*map(int, measured)) if None not in measured else None
        return int(total or 0), use


def parse_row(reply: Reply) -> Media | None:
    """Return the row of a reply to HGETALL, or None if there is none."""
    fields = {name.decode(): value.decode() for name, value in zip(reply[::2], reply[1::2], strict=True)}
    return msgspec.convert(fields, Media, strict=False) if fields else None


def _flatten(fields: Fields) -> list[object]:
    """Return fields and values as Redis stores them; booleans are 0 and 1."""
    texts = {name: int(value) if isinstance(value, bool) else value for name, value in fields.items()}
    return [part for pair in texts.items() for part in pair]
