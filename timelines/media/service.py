"""Uploads, describes, attaches and serves pictures, and enforces the quotas.

The order of writes leaves no file without an owner, whenever a process is killed: an upload first schedules the check
of its name, then stores the row, counts its bytes, and only then stores the file. `MediaDeletion` makes the check.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from hmac import compare_digest

import structlog
from django.core.files.base import ContentFile, File
from django.utils.translation import gettext_lazy as _

from accounts.accounts.service import AccountService
from accounts.domain import PictureKind
from socialsite.errors import Unavailable
from socialsite.ids import AccountId, PostId, PostIdGenerator, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Service
from socialsite.site.service import SiteService
from timelines.errors import MediaInvalid, MediaNotFound, MediaQuotaReached, MediaRefused, PostInvalid
from timelines.media.deletion import MediaDeletion
from timelines.media.links import is_link_key
from timelines.media.media import (
    MEDIA_PER_POST,
    MEDIA_PER_THREAD,
    REFUSALS,
    SITE_OWNER,
    UNATTACHED_MS,
    UPLOAD_MAX_BYTES,
    Crop,
    Media,
    MediaChange,
    MediaKind,
    MediaSize,
    ServedFile,
    change_attachment,
    find_refusal,
    media_file,
    parse_name,
    upload_file,
    validate_alt,
)
from timelines.media.processing import EncodePicture, encode_job
from timelines.media.repository import MediaRows
from timelines.media.storage import MediaFiles
from timelines.posts.post import MediaAttachment, Post
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState

READY_POLL_S = 0.1
PREVIEW_PICTURE_TIMEOUT_S, PROFILE_PICTURE_TIMEOUT_S = 15.0, 5.0
"""Times that the job of a preview and a change of the profile wait for the encoding."""
ABANDONED_STATES = (PostState.ABSENT, PostState.SUPERSEDED, PostState.DELETED)
"""The states of an id that no post has, because its request wrote none or the post was deleted."""

NO_SUCH_PICTURE = _("One of the pictures does not exist, or no longer does.")
FindAudience = Callable[[AccountId | None, PostId], Awaitable[bool | None]]
"""The method ReadPipeline.find_audience."""
log = structlog.stdlib.get_logger("timelines.media")


class MediaService(Service):
    """The pictures of posts, avatars, headers and the logo of the site. The quotas are in bytes, 0 is no quota."""

    rows: MediaRows
    files: MediaFiles
    deletion: MediaDeletion
    jobs: JobQueue
    posts: PostRepository
    accounts: AccountService
    ids: PostIdGenerator
    limits: ActionLimits
    clock: TimeSource
    site: SiteService
    find_audience: FindAudience
    media_account_quota: int
    media_site_quota: int

    # Uploads

    async def check_upload(self, owner_id: AccountId, caller: Caller | None) -> None:
        """Count an upload for the rate limit, before its body is read. Raises RateLimited, MediaQuotaReached."""
        await self.limits.enforce(caller, "media")
        account_bytes, site_bytes = await self.rows.read_totals(owner_id)
        if self.media_account_quota and account_bytes >= self.media_account_quota:
            raise MediaQuotaReached
        if self.media_site_quota and site_bytes >= self.media_site_quota:
            raise MediaQuotaReached(_("This site has no room for more pictures."))

    async def upload(
        self,
        *,
        owner_id: AccountId,
        content: "File[bytes]",
        kind: MediaKind = "picture",
        alt: str = "",
        focus: tuple[float, float] = (0.0, 0.0),
        crop: Crop | None = None,
        sender: AccountId = SITE_OWNER,
    ) -> Media:
        """Store an upload and the job that encodes it. Return its row in the state "processing".

        `crop` is the part to show of an avatar or header: left, top, width and height, from 0.0 to 1.0. `sender` is the
        account whose turn a picture of the site takes. Raises MediaInvalid, MediaRefused, MediaQuotaReached.
        """
        size = content.size or 0
        if size > UPLOAD_MAX_BYTES:
            raise MediaInvalid({"file": _("This file is too large. A picture has at most 16 MB.")})
        if refusal := await asyncio.to_thread(find_refusal, content):
            raise MediaRefused({"file": REFUSALS[refusal]})
        await self.require_shared_folder()
        alt = validate_alt(alt)
        await self.limits.enforce_bytes("descriptions", owner_id, len(alt.encode()))
        now_ms = self.clock.now_ms()
        row = Media(
            id=self.ids.next_id(), secret=secrets.token_hex(16), owner=owner_id, kind=kind, created_ms=now_ms,
            size_bytes=size, alt=alt, focus_x=focus[0], focus_y=focus[1],
        )  # fmt: skip
        await self.rows.schedule_check([row.name], now_ms + UNATTACHED_MS)
        if not await self.rows.add(row):  # another process chose the same id in the same millisecond
            raise MediaInvalid
        quota_bytes = 0 if owner_id == SITE_OWNER else self.media_account_quota
        if not await self.rows.count(owner_id, row.id, size, quota_bytes):
            await self.rows.erase(row)
            raise MediaQuotaReached
        try:
            await self.files.save(upload_file(row.name), content)
        except OSError:
            await self.files.delete_picture(row.name)  # the part that was written
            await self.rows.erase(row)
            raise
        await self.jobs.add(encode_job(EncodePicture(row.name, crop, owner_id, sender)), sender=sender or owner_id)
        return row

    async def require_shared_folder(self) -> None:
        """Raise Unavailable if this machine and the site have different folders: other machines would miss the file."""
        folder_id = await asyncio.to_thread(self.files.find_id, create=True)
        if folder_id is not None and await self.rows.agree_on_folder(folder_id) != folder_id:
            log.error("media_folder_differs", folder=str(self.files.folder))
            raise Unavailable

    async def upload_preview(self, content: bytes, sender: AccountId) -> MediaAttachment | None:
        """Store the picture of a link preview, and return it encoded, or None if it is refused or takes too long.

        It takes the turn of the account `sender`, whose post contains the link.
        """
        _, site_bytes = await self.rows.read_totals(SITE_OWNER)
        if self.media_site_quota and site_bytes >= self.media_site_quota:
            return None
        try:
            row = await self.upload(owner_id=SITE_OWNER, content=ContentFile(content), kind="preview", sender=sender)
        except (MediaInvalid, MediaRefused, MediaQuotaReached):
            return None
        for done in await self.wait_until_done([row], PREVIEW_PICTURE_TIMEOUT_S):
            if done.state == "ready":
                return done.attachment
        await self.discard_preview(row.id, row.name)
        return None

    async def discard_preview(self, media_id: int, name: str) -> None:
        """Let the next check delete the picture of a preview."""
        now_ms = self.clock.now_ms()
        if await self.rows.update(media_id, {"kind": "preview"}, {"unused_ms": now_ms}):
            await self.rows.schedule_check([name], now_ms, earlier=True)

    async def wait_until_done(self, rows: Sequence[Media], timeout_s: float) -> list[Media]:
        """Wait until all pictures are encoded or refused, or until the timeout, and return their rows."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while True:
            current_rows = [row for row in await self.rows.find_many([row.id for row in rows]) if row is not None]
            is_done = all(row.state != "processing" for row in current_rows)
            if is_done or asyncio.get_running_loop().time() > deadline:
                return current_rows
            await asyncio.sleep(READY_POLL_S)

    async def find_own(self, owner_id: AccountId, media_id: int) -> Media:
        """Return a row of the account. Raises MediaNotFound, and MediaRefused if its file was refused."""
        row = await self.rows.find(media_id)
        if row is None or row.owner != owner_id or row.state == "deleting":
            raise MediaNotFound
        if row.state == "refused":
            raise MediaRefused({"file": REFUSALS.get(row.refusal, REFUSALS["unreadable"])})
        return row

    async def find_all_own(self, owner_id: AccountId, media_ids: Sequence[int]) -> list[Media]:
        """Return the rows that belong to the account, including pictures that are not ready."""
        rows = await self.rows.find_many(media_ids[:MEDIA_PER_THREAD]) if media_ids else []
        return [row for row in rows if row is not None and row.owner == owner_id and row.state != "deleting"]

    async def describe(
        self, *, owner_id: AccountId, media_id: int, alt: str | None = None, focus: tuple[float, float] | None = None
    ) -> Media:
        """Change the text or the focal point of a picture that no post contains. Raises MediaNotFound, MediaInvalid."""
        row = await self.find_own(owner_id, media_id)
        changed: dict[str, object] = {} if alt is None else {"alt": validate_alt(alt)}
        await self.limits.enforce_bytes("descriptions", owner_id, len(str(changed.get("alt", "")).encode()))
        if focus is not None:
            changed |= {"focus_x": focus[0], "focus_y": focus[1]}
        if row.post or (changed and not await self.rows.update(media_id, {"owner": owner_id, "post": 0}, changed)):
            raise MediaNotFound
        return await self.find_own(owner_id, media_id)

    async def delete(self, *, owner_id: AccountId, media_id: int) -> None:
        """Delete a picture that nothing uses. Raises MediaNotFound."""
        row = await self.rows.find(media_id)
        if row is None or row.owner != owner_id or row.post:
            raise MediaNotFound
        await self.rows.schedule_check([row.name], 0, earlier=True)
        await self.deletion.check(row.name)

    # Posts

    async def find_attachments(
        self,
        owner_id: AccountId,
        media_ids: Iterable[int],
        changes: Mapping[int, MediaChange] | None = None,
        current: Iterable[MediaAttachment] = (),
    ) -> tuple[MediaAttachment, ...]:
        """Return the changed pictures as a post stores them, in this order. Raises PostInvalid, MediaInvalid.

        `current` are the pictures that the post contains already. `attach` checks that no other post contains the new
        ones; it knows the id of the post, in which a repeated request finds them.
        """
        ids = list(dict.fromkeys(media_ids))
        if len(ids) > MEDIA_PER_POST:
            raise PostInvalid({"media_ids": _("A post has at most four pictures.")})
        attachments = {each.id: each for each in current}
        for row in await self.rows.find_many(media_id for media_id in ids if media_id not in attachments):
            if row is None or row.owner != owner_id or row.kind != "picture" or row.state == "deleting":
                raise PostInvalid({"media_ids": NO_SUCH_PICTURE})
            if row.state != "ready":
                is_refused = row.state == "refused"
                text = REFUSALS.get(row.refusal) if is_refused else _("A picture is not ready yet. Try again.")
                raise PostInvalid({"media_ids": text or REFUSALS["unreadable"]})
            attachments[row.id] = row.attachment
        return tuple(change_attachment(attachments[media_id], (changes or {}).get(media_id)) for media_id in ids)

    async def attach(self, post: Post, replaced_id: PostId | None = None) -> None:
        """Record that a post contains its pictures, before the post or its version is written. Raises PostInvalid.

        `replaced_id` is the post that the new one replaces, and that may contain the pictures.
        """
        media = post.extra.media
        for each, row in zip(media, await self.rows.find_many(each.id for each in media), strict=True):
            if row is not None and row.post == post.id and row.attachment == each and not row.unused_ms:
                continue
            is_free = await self._is_free(row, {post.id, replaced_id})
            expected = {"owner": post.author_id, "state": "ready", "post": row.post if row else 0}
            x, y = each.focus
            changed = {"post": post.id, "alt": each.alt, "focus_x": x, "focus_y": y, "unused_ms": 0}
            if not is_free or not await self.rows.update(each.id, expected, changed):
                raise PostInvalid({"media_ids": NO_SUCH_PICTURE})

    async def require_free(
        self, media_ids: Iterable[int], own_ids: Collection[PostId | None], used: Collection[int]
    ) -> None:
        """Raise PostInvalid if a picture is one of `used`, or if a post that is not one of `own_ids` contains it."""
        for row in await self.rows.find_many(media_ids):
            if row is None or row.id in used or not await self._is_free(row, own_ids):
                raise PostInvalid({"media_ids": NO_SUCH_PICTURE})

    async def _is_free(self, row: Media | None, own_ids: Collection[PostId | None]) -> bool:
        """Return whether a post with one of these ids may contain the picture."""
        return row is not None and (
            not row.post or row.post in own_ids or await self.posts.find_state(row.post) in ABANDONED_STATES
        )

    async def release(self, versions: Iterable[Post], *, keep: bool = False) -> None:
        """Schedule the deletion of the pictures of all versions of a post. Call it before the post is deleted.

        If `keep` is set, a new post may contain them for UNATTACHED_MS.
        """
        names = {f"{each.id}-{each.secret}" for version in versions for each in version.extra.media}
        at_ms = self.clock.now_ms() + (UNATTACHED_MS if keep else 0)
        await self.rows.schedule_check(names, at_ms, earlier=True)

    async def release_name(self, name: str) -> None:
        """Schedule the deletion of an avatar or header. Call it before the account gets another."""
        if parse_name(name) is not None:
            await self.rows.schedule_check([name], self.clock.now_ms(), earlier=True)

    async def keep_until(self, names: Iterable[str], until_ms: int) -> None:
        """Keep unattached pictures until this time, for a draft or a scheduled post."""
        await self.rows.schedule_check(names, until_ms)

    async def set_profile_picture(
        self, *, account_id: AccountId, kind: PictureKind, content: "File[bytes] | None", crop: Crop | None = None
    ) -> str:
        """Replace or remove the avatar or header of an account, when it is encoded. Return the name of its files.

        Raises MediaInvalid, MediaQuotaReached.
        """
        name = "" if content is None else await self._upload_cropped(account_id, kind, content, crop)
        account = await self.accounts.get(account_id)
        await self.release_name(account.avatar if kind == "avatar" else account.header)
        await self.accounts.set_picture(account_id=account_id, kind=kind, name=name)
        return name

    async def set_logo(self, content: "File[bytes] | None", crop: Crop | None = None) -> None:
        """Replace or remove the logo of the site, when it is encoded.

        Raises MediaInvalid, and Conflict if the environment sets it.
        """
        name = "" if content is None else await self._upload_cropped(SITE_OWNER, "logo", content, crop)
        await self.release_name(self.site.settings.logo)
        await self.site.change(logo=name)

    async def _upload_cropped(
        self, account_id: AccountId, kind: MediaKind, content: "File[bytes]", crop: Crop | None
    ) -> str:
        row = await self.upload(owner_id=account_id, content=content, kind=kind, crop=crop)
        await self.wait_until_done([row], PROFILE_PICTURE_TIMEOUT_S)
        row = await self.find_own(account_id, row.id)
        if row.state != "ready":
            await self.delete(owner_id=account_id, media_id=row.id)  # its job then ends without work
            raise MediaInvalid({"file": _("The picture could not be prepared in time. Try again.")})
        return row.name

    # Files

    async def find_file(
        self, viewer_id: AccountId | None, name: str, size: MediaSize, extension: str, key: str = ""
    ) -> ServedFile:
        """Return the file at a URL. Raises MediaNotFound if the viewer may not see it.

        A picture is visible to viewers of its post, or to its owner before a post contains it. A request with
        the key of its URL needs no account.
        """
        parsed = parse_name(name)
        row = None if parsed is None else await self.rows.find(parsed[0])
        if row is None or parsed is None or not compare_digest(row.secret, parsed[1]):
            raise MediaNotFound
        if row.state != "ready" or row.extension != extension:
            raise MediaNotFound
        is_public = await self._find_row_audience(viewer_id, row, key)
        if is_public is None:
            raise MediaNotFound
        return ServedFile(media_file(name, size, extension), is_public)

    async def _find_row_audience(self, viewer_id: AccountId | None, row: Media, key: str) -> bool | None:
        has_key = is_link_key(key, row)
        if row.kind == "logo":
            return True
        if viewer_id is None and not has_key and self.site.settings.members_only:
            return None
        if row.kind == "preview":
            return True
        if row.kind != "picture":
            owner = (await self.accounts.find_authors([row.owner])).get(row.owner)
            return True if owner is not None and owner.is_visible else None
        if not row.post or viewer_id == row.owner:
            return False if viewer_id == row.owner or has_key else None
        return await self.find_audience(row.owner if has_key else viewer_id, row.post)
