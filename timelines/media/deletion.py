"""Deletes the pictures that nothing uses. Uploads and `MediaService.release` schedule the checks.

A check deletes the files first and the row last, so that no file is left without an owner if the process is killed.
"""

import structlog

from accounts.accounts.service import AccountService
from accounts.domain import DELETED
from socialsite.ids import AccountId, TimeSource
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Part
from socialsite.site.service import SiteService
from timelines.media.media import PREVIEW_PICTURE_TTL_MS, UNATTACHED_MS, Media, parse_name
from timelines.media.repository import FolderUse, MediaRows
from timelines.media.storage import MediaFiles
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState

CHECK_INTERVAL_S = 20.0
CHECKS_AT_ONCE = 100
MEASURE_INTERVAL_S = 600.0
RETRY_CHECK_MS = 3_600_000
"""A picture whose post is being published is checked again after this time."""
DELETION_MS = 60_000
"""More than the time from `release` until the post is deleted. A request has a shorter deadline."""
ABANDONED_FILE_MS = 3_600_000
"""No process writes a temporary file for so long."""
log = structlog.stdlib.get_logger("timelines.media")


class MediaDeletion(Part):
    rows: MediaRows
    files: MediaFiles
    posts: PostRepository
    accounts: AccountService
    clock: TimeSource
    site: SiteService

    async def check(self, name: str) -> bool:
        """Delete a picture that nothing uses. Return whether it was deleted. The call may be repeated."""
        parsed = parse_name(name)
        row = None if parsed is None else await self.rows.find(parsed[0])
        if row is not None and row.state != "deleting":
            if (until_ms := await self._used_until(row)) is not None:
                if until_ms:
                    await self.rows.schedule_check([name], until_ms)
                elif await self.rows.find_check(name) <= self.clock.now_ms() - DELETION_MS:
                    await self.rows.complete_check(name)
                return False  # a new check stays due, because the deletion of the post may be under way
            expected = {"post": row.post, "state": row.state} | ({"unused_ms": row.unused_ms} if row.unused_ms else {})
            if not await self.rows.update(row.id, expected, {"state": "deleting"}):
                return False  # the row has changed, and the next check follows
        if parsed is not None:
            await self.files.delete_picture(name)
        if row is None:
            await self.rows.complete_check(name)
        else:
            await self.rows.erase(row)
        return True

    async def _used_until(self, row: Media) -> int | None:
        """Return None if nothing uses the picture, 0 if something uses it, or the time in ms of the next check."""
        if row.kind == "preview":
            until_ms = row.created_ms + PREVIEW_PICTURE_TTL_MS
            return until_ms if not row.unused_ms and self.clock.now_ms() < until_ms else None
        if row.kind == "logo":
            is_used = not self.site.is_read or row.name == self.site.settings.logo
            return self.clock.now_ms() + UNATTACHED_MS if is_used else None
        owner = await self.accounts.find(row.owner)
        if owner is None or owner.state == DELETED:
            return None
        if row.kind != "picture":
            return 0 if row.name in (owner.avatar, owner.header) else None
        if not row.post:
            return None
        state, now_ms = await self.posts.find_state(row.post), self.clock.now_ms()
        if isinstance(state, Post):
            versions = await self.posts.find_versions(row.post)
            if any(each.id == row.id for version in versions for each in version.extra.media):
                return 0
            # An edit attaches its pictures before it is written, so an edit with this picture may be under way.
            if row.unused_ms and row.unused_ms <= now_ms - RETRY_CHECK_MS:
                return None
            if not row.unused_ms:
                await self.rows.update(row.id, {"post": row.post}, {"unused_ms": now_ms})
            return now_ms + RETRY_CHECK_MS
        return now_ms + RETRY_CHECK_MS if state is PostState.PENDING else None

    async def check_due(self) -> int:
        """Delete the pictures that are due and that nothing uses. Return their number.

        A picture whose deletion fails is logged and tried again in the next round.
        """
        deleted = 0
        for name in await self.rows.due_checks(self.clock.now_ms(), CHECKS_AT_ONCE):
            try:
                deleted += await self.check(name)
            except OSError as error:
                log.warning("picture_not_deleted", name=name, error=str(error))
        return deleted

    async def purge(self, owner_id: AccountId, limit: int) -> bool:
        """Delete pictures of a deleted account. Return whether some may be left."""
        rows = await self.rows.find_many(ids := await self.rows.ids_of_account(owner_id, limit))
        for media_id, row in zip(ids, rows, strict=True):
            if row is None:
                await self.rows.count(owner_id, media_id, 0)
            else:
                await self.rows.schedule_check([row.name], 0, earlier=True)
                await self.check(row.name)
        if not ids:
            await self.rows.forget_account(owner_id)
        return bool(ids)

    async def measure(self) -> None:
        """Measure the folder, if the storage is one, and delete the abandoned files of killed processes."""
        await self.files.delete_abandoned(self.clock.now_ms() - ABANDONED_FILE_MS)
        measured = await self.files.measure()
        if measured is not None:
            await self.rows.store_folder_use(FolderUse(*measured, self.clock.now_ms()))

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (
            PeriodicTask("pictures", CHECK_INTERVAL_S, self.check_due),
            PeriodicTask("disk", MEASURE_INTERVAL_S, self.measure),
        )
