"""Drafts and scheduled posts of an account.

A draft becomes a scheduled post when it gets a time. The due entry is stored before the draft, so that no crash leaves
a scheduled post that is never published. Workers publish due posts. The idempotency key of a scheduled post contains
its id, so that a repetition after a crash publishes nothing twice. A post that cannot be published becomes a draft
again, with the reason, and its author is notified.
"""

import hashlib
from contextlib import suppress
from dataclasses import replace

from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.accounts.repository import AccountRepository
from accounts.domain import ACTIVE
from socialsite.clock import DAY_MS
from socialsite.errors import ApiError, Invalid, Unavailable
from socialsite.ids import AccountId, PostId, PostIdGenerator, TimeSource
from socialsite.limits import ActionLimits, newcomer_caller, refuse_silenced
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.web.requests import FormFields
from timelines.drafts.draft import DRAFT_BYTES_CAP, Draft, encode_draft
from timelines.drafts.repository import Drafts, DuePost
from timelines.errors import DraftNotFound, DraftsCapReached, IdempotencyConflict, PostHeld, PostInvalid
from timelines.media.service import MediaService
from timelines.notifications.kinds import DRAFT
from timelines.notifications.service import NotificationService
from timelines.posts.post import PostDetails
from timelines.posts.repository import IdempotencyRecord, PostRepository
from timelines.publishing.forms import PostForm
from timelines.publishing.post_writer import idempotency_key_digest
from timelines.publishing.service import PublishingService
from timelines.publishing.thread import check_thread, fields_left, publish_thread

MIN_AHEAD_MS = 5 * 60_000
UNFINISHED_MS = 60 * 60_000
"""The age at which an entry of the queue of held posts without a draft is removed."""
DUE_INTERVAL_S = 5.0
RETRY_MS = 10_000
MAX_COMPARISONS = 10
"""The maximum number of comparisons of a draft and its due entry while other devices change the draft."""
KEPT_MS = 60 * DAY_MS
"""The time for which the pictures of a draft are kept after its last change, or after its time."""


class DraftService(Service):
    """Stores drafts, and publishes scheduled posts at their time."""

    drafts: Drafts
    publishing: PublishingService
    posts: PostRepository
    media: MediaService
    accounts: AccountRepository
    notifications: NotificationService
    site: SiteService
    limits: ActionLimits
    ids: PostIdGenerator
    clock: TimeSource

    async def all(self, account_id: AccountId) -> list[Draft]:
        """Return all drafts and scheduled posts, the last saved first."""
        return await self.drafts.all(account_id)

    async def scheduled(self, account_id: AccountId) -> list[Draft]:
        """Return the scheduled posts, newest id first."""
        drafts = [draft for draft in await self.drafts.all(account_id) if draft.scheduled_ms is not None]
        return sorted(drafts, key=lambda draft: -draft.id)

    async def find(self, account_id: AccountId, draft_id: int) -> Draft:
        """Return a draft of the account. Raises DraftNotFound."""
        draft = await self.drafts.find(account_id, draft_id)
        if draft is None:
            raise DraftNotFound
        return draft

    async def save(self, account_id: AccountId, draft: Draft, *, idempotency_key: str | None = None) -> Draft:
        """Store a draft or scheduled post, and return it with its id. A draft without id (0) is new.

        Repeated calls with the same idempotency key store one scheduled post, even after it was published. Raises
        PostInvalid (also if a scheduled post could not be published), DraftNotFound, DraftsCapReached,
        IdempotencyConflict.
        """
        now_ms, is_new, content = self.clock.now_ms(), draft.id == 0, structs.replace(draft, id=0)
        id, language = draft.id or self.ids.next_id(), get_language() or ""
        draft = structs.replace(draft, id=id, saved_ms=now_ms, error="", language=language)
        if (size_bytes := len(encode_draft(draft))) > DRAFT_BYTES_CAP:
            raise PostInvalid({"text": _("This draft is too large.")})
        await self.limits.enforce_bytes("drafts", account_id, size_bytes)
        if (at_ms := draft.scheduled_ms) is not None:
            await self._check_scheduled(account_id, draft, now_ms)
            if idempotency_key is not None:
                try:
                    claimed_id = await self._claim_id(account_id, content, draft.id, idempotency_key)
                    draft = structs.replace(draft, id=claimed_id if is_new else draft.id)
                except IdempotencyConflict:
                    if is_new:
                        raise  # the form of an existing draft keeps its key when its content changes
            await self.drafts.due.add(DuePost(account_id, draft.id), at_ms)
        await self._keep_pictures(account_id, draft, now_ms)
        stored = await self.drafts.save(account_id, draft, is_new=is_new)
        await self._sync_due(DuePost(account_id, draft.id))
        if stored is None:
            raise DraftsCapReached
        if not stored:
            raise DraftNotFound
        return draft

    async def _claim_id(self, account_id: AccountId, content: Draft, offered_id: int, key: str) -> int:
        """Return the id of the first draft with this key and content. Raises IdempotencyConflict for other content."""
        offered = IdempotencyRecord(PostId(offered_id), hashlib.sha256(encode_draft(content)).hexdigest()[:32])
        stored = await self.posts.claim_idempotency_key(account_id, idempotency_key_digest(key), offered)
        if stored.request_digest != offered.request_digest:
            raise IdempotencyConflict
        return stored.post_id

    async def _check_scheduled(self, account_id: AccountId, draft: Draft, now_ms: int) -> None:
        """Raise PostInvalid if the time is too near, or if the post could not be published now."""
        if draft.scheduled_ms is None or draft.scheduled_ms < now_ms + MIN_AHEAD_MS:
            raise PostInvalid({"scheduled_at": _("Choose a time at least 5 minutes from now.")})
        form, details = await self._parse(account_id, draft)
        self.publishing.validate(form.text, details, form.poll, now_ms)
        await check_thread(self.publishing, form, account_id, None)

    async def _parse(self, account_id: AccountId, draft: Draft) -> tuple[PostForm, PostDetails]:
        """Return the form of the draft, and its details with the pictures. Raises PostInvalid."""
        form = PostForm.parse(FormFields(draft.fields))
        media = await self.media.find_attachments(account_id, form.media_ids) if form.media_ids else ()
        return form, structs.replace(form.details, media=media)

    async def _keep_pictures(self, account_id: AccountId, draft: Draft, now_ms: int) -> None:
        """Keep the uploaded pictures until KEPT_MS after the last change of the draft, or after its scheduled time."""
        rows = await self.media.find_all_own(account_id, draft.media_ids)
        await self.media.keep_until((row.name for row in rows), max(now_ms, draft.scheduled_ms or 0) + KEPT_MS)

    async def delete(self, account_id: AccountId, draft_id: int) -> bool:
        """Delete a draft or scheduled post. Return whether it existed."""
        existed = await self.drafts.delete(account_id, draft_id)
        await self._sync_due(DuePost(account_id, draft_id))
        return existed

    async def _sync_due(self, due: DuePost) -> None:
        """Update the due entry to the time of the draft, also if two devices change the draft at the same time."""
        for _attempt in range(MAX_COMPARISONS):
            at_ms = await self._find_time(due)
            if at_ms is None:
                await self.drafts.due.remove(due)
            else:
                await self.drafts.due.add(due, at_ms)
            if await self._find_time(due) == at_ms:
                return

    async def _find_time(self, due: DuePost) -> int | None:
        draft = await self.drafts.find(due.account_id, due.draft_id)
        return None if draft is None else draft.scheduled_ms

    async def publish_due(self) -> int:
        """Publish the scheduled posts whose time has come. Return their number. Raises StoreUnavailable."""
        return await self.drafts.due.process_due(self._publish, self.clock)

    async def _publish(self, due: DuePost) -> bool:
        """Publish one scheduled post, or hold it. Return False if a later round has to publish it."""
        draft = await self.drafts.find(due.account_id, due.draft_id)
        if draft is None or draft.scheduled_ms is None:
            return True
        if draft.scheduled_ms > self.clock.now_ms():
            await self.drafts.due.add(due, draft.scheduled_ms)
            return False
        try:
            with override(draft.language or get_language()):
                await self._publish_draft(due.account_id, draft)
        except PostHeld:
            await self._hold(due, draft)
            return True
        except Unavailable:  # the post may be published; a repetition publishes nothing twice
            await self.drafts.due.add(due, self.clock.now_ms() + RETRY_MS)
            return False
        except ApiError as error:
            with override(draft.language or get_language()):
                reason = str(next(iter(error.fields.values()), error.message))
            fields = draft.fields
            with suppress(Invalid):  # if the form cannot be parsed, all its posts stay
                fields = await fields_left(self.publishing, _form_of(draft), due.account_id)
            refused = structs.replace(draft, fields=fields, scheduled_ms=None, error=reason)
            if await self.drafts.replace(due.account_id, draft, refused):
                await self.notifications.add({due.account_id: DRAFT}, due.account_id)
            return True
        await self.drafts.replace(due.account_id, draft, None)
        return True

    async def _publish_draft(self, account_id: AccountId, draft: Draft) -> PostId:
        account = await self.accounts.find(account_id)
        if account is None or account.state != ACTIVE:
            raise PostInvalid({"text": _("The account is suspended.")})
        refuse_silenced(account.silenced_until_ms, self.clock.now_ms())
        form, caller = _form_of(draft), None
        if not draft.is_released:
            days = self.site.settings.newcomer_days
            caller = newcomer_caller(account_id, account.created_ms, days, self.clock.now_ms())
        if not draft.is_released and await self.publishing.first_links.must_hold(account_id, form):
            raise PostHeld
        posts = await publish_thread(
            self.publishing,
            form,
            author_id=account_id,
            now_ms=self.clock.now_ms(),
            is_private=account.is_private,
            caller=caller,
            is_released=True,
        )
        return posts[0].id

    # Posts that staff looks at before they are published

    async def hold(self, account_id: AccountId, form: PostForm) -> Draft:
        """Store the post of a form as a draft that waits for staff. Raises DraftsCapReached, IdempotencyConflict.

        A repetition with the same idempotency key stores one draft.
        """
        for row in await self.media.find_all_own(account_id, list(form.media_changes)):
            change = form.media_changes[row.id]
            await self.media.describe(owner_id=account_id, media_id=row.id, alt=change.alt, focus=change.focus)
        now_ms, draft_id = self.clock.now_ms(), int(self.ids.next_id())
        if form.idempotency_key is not None:
            draft_id = await self._claim_id(account_id, Draft(0, form.content), draft_id, form.idempotency_key)
        draft = Draft(draft_id, form.content, now_ms, held_ms=now_ms, language=get_language() or "")
        due = DuePost(account_id, draft_id)
        await self.limits.enforce_bytes("drafts", account_id, len(encode_draft(draft)))
        # Stored before the draft, so that no crash hides the draft from staff.
        await self.drafts.held.add(due, now_ms, keeps_time=True)
        await self._keep_pictures(account_id, draft, now_ms)
        if await self.drafts.save(account_id, draft, is_new=True) is None:
            await self.drafts.held.remove(due)
            raise DraftsCapReached
        return draft

    async def _hold(self, due: DuePost, draft: Draft) -> None:
        """Hold a scheduled post for staff. Of a thread, hold only the posts that no interrupted attempt published."""
        now_ms = self.clock.now_ms()
        await self.drafts.held.add(due, now_ms, keeps_time=True)
        fields = await fields_left(self.publishing, _form_of(draft), due.account_id)
        held = structs.replace(draft, fields=fields, scheduled_ms=None, held_ms=now_ms)
        await self.drafts.replace(due.account_id, draft, held)

    async def count_held(self) -> int:
        return await self.drafts.held.count()

    async def held(self, after_ms: int, limit: int) -> tuple[list[tuple[AccountId, Draft]], int | None]:
        """Return the posts that wait for staff, the oldest first, and the time from which the next page continues."""
        queue = await self.drafts.held.oldest(limit, after_ms)
        drafts = await self.drafts.find_many([held for held, _at_ms in queue])
        page = []
        for (held, at_ms), draft in zip(queue, drafts, strict=True):
            if draft is not None and draft.held_ms is not None:
                page.append((held.account_id, draft))
                continue
            if draft is not None and draft.scheduled_ms is not None:
                await self._sync_due(held)  # a release was interrupted after it changed the draft
            if draft is not None or at_ms < self.clock.now_ms() - UNFINISHED_MS:
                await self.drafts.held.remove(held)  # the draft was decided, changed by its author, or never stored
        return page, queue[-1][1] if len(queue) == limit else None

    async def release(self, account_id: AccountId, draft_id: int, held_ms: int | None) -> None:
        """Let a worker publish a held post now, as a scheduled post.

        Raises DraftNotFound if the post is not held since `held_ms`: its author may have changed it meanwhile.
        """
        draft, due = await self._find_held(account_id, draft_id, held_ms), DuePost(account_id, draft_id)
        now_ms = self.clock.now_ms()
        await self.drafts.due.add(due, now_ms)
        released = structs.replace(draft, held_ms=None, is_released=True, scheduled_ms=now_ms)
        if not await self.drafts.replace(account_id, draft, released):
            raise DraftNotFound
        await self.drafts.due.add(due, now_ms)  # a worker may have removed the due entry before
        await self.drafts.held.remove(due)

    async def refuse(self, account_id: AccountId, draft_id: int, held_ms: int | None, text: str) -> None:
        """Give a held post back to its author as a draft with a text. Raises DraftNotFound as `release`."""
        draft = await self._find_held(account_id, draft_id, held_ms)
        if not await self.drafts.replace(account_id, draft, structs.replace(draft, held_ms=None, error=text)):
            raise DraftNotFound
        await self.drafts.held.remove(DuePost(account_id, draft_id))
        await self.notifications.add({account_id: DRAFT}, account_id)

    async def _find_held(self, account_id: AccountId, draft_id: int, held_ms: int | None) -> Draft:
        draft = await self.find(account_id, draft_id)
        if draft.held_ms is None or draft.held_ms != held_ms:
            raise DraftNotFound
        return draft

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("scheduled", DUE_INTERVAL_S, self.publish_due),)


def _form_of(scheduled: Draft) -> PostForm:
    """Return the form of a scheduled post. Each time of a draft has an idempotency key of its own."""
    return replace(
        PostForm.parse(FormFields(scheduled.fields)),
        idempotency_key=f"scheduled {scheduled.id} {scheduled.scheduled_ms}",
    )
