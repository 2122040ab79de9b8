"""Checks pictures: rows, their files, their posts and accounts, and the counted bytes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

from accounts.domain import DELETED
from socialsite.batches import batches
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.reader import ABSENT, AuditReader
from timelines.media.media import SIZES, Media, media_file, name_of_file, parse_name
from timelines.media.repository import parse_row
from timelines.media.storage import list_files

FILES_PER_ROUND = 1_000


class MediaChecks:
    def __init__(self, context: AuditContext) -> None:
        self._context = context
        self._names_by_key: dict[Key, set[str]] = {}
        self.with_files = True

    async def keys_of_files(self) -> AsyncIterator[list[Key]]:
        """Yield the keys of the rows to which the stored files belong. `rows` then finds files without a row."""
        names = await asyncio.to_thread(lambda: {name for file in list_files() if (name := name_of_file(file))})
        for batch in batches(sorted(names), FILES_PER_ROUND):
            round_keys = []
            for name in batch:
                media_id, _ = parse_name(name) or (0, "")
                key = keys.media(media_id)
                self._names_by_key.setdefault(key, set()).add(name)
                round_keys.append(key)
            yield round_keys

    async def rows(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each row has its files, and each file its row, and that something uses the picture."""
        rows: dict[Key, Media] = {}
        for key, (reply,) in await reader.read_each(checked, ("HGETALL",)):
            row = parse_row(reply)
            if row is not None:
                rows[key] = row
            for name in self._names_by_key.get(key, ()):
                if row is None or row.name != name:
                    delete = partial(self._context.media_files.delete_picture, name)
                    yield Discrepancy("file_without_picture", key, name, delete, is_damage=False)
        if self.with_files:
            for key, row in rows.items():
                files = [media_file(row.name, size, row.extension) for size in SIZES]
                if row.state == "ready" and None in await self._context.media_files.read_sizes(files):
                    yield Discrepancy("picture_without_file", key, row.name)  # only a copy of the files can restore it
        async for found in self._find_unused(reader, rows):
            yield found
        async for found in self._find_miscounted(reader, rows):
            yield found

    async def _find_unused(self, reader: AuditReader, rows: dict[Key, Media]) -> AsyncIterator[Discrepancy]:
        """Find pictures that nothing uses, and for which no check is scheduled."""
        checks = keys.media_checks()
        scores = await reader.execute_all([("ZSCORE", checks, row.name) for row in rows.values()])
        states = await reader.read_states(row.owner for row in rows.values())
        posts = await reader.read_posts(row.post for row in rows.values() if row.post)
        for (key, row), score in zip(rows.items(), scores, strict=True):
            is_owned = states[row.owner] not in (ABSENT, DELETED)
            is_used = row.kind != "picture" or row.post in posts or reader.is_body_lost(row.post)
            if score is None and not (is_owned and is_used):
                schedule = self._context.run(("ZADD", checks, "LT", 0, row.name))
                yield Discrepancy("picture_unused", key, row.name, schedule, is_damage=False)

    async def _find_miscounted(self, reader: AuditReader, rows: dict[Key, Media]) -> AsyncIterator[Discrepancy]:
        counted = await reader.execute_all(
            [("HGET", keys.media_of_account(row.owner), row.id) for row in rows.values()]
        )
        for (key, row), reply in zip(rows.items(), counted, strict=True):
            if row.state == "ready" and int(reply or 0) != row.size_bytes:
                count = partial(self._context.media_rows.count, row.owner, row.id, row.size_bytes)
                yield Discrepancy("picture_miscounted", key, row.name, count)

    async def accounts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that the total of each account is the sum of its pictures."""
        for key, (reply,) in await reader.read_each(checked, ("HGETALL",)):
            fields = dict(zip(reply[::2], reply[1::2], strict=True))
            total = sum(int(size) for field, size in fields.items() if field.isdigit())
            if fields and int(fields.get(b"total", 0)) != total:
                yield Discrepancy(
                    "pictures_miscounted", key, str(total), self._context.run(("HSET", key, "total", total))
                )
