"""Edits posts and stores their former versions. An edited post keeps its id; `version` numbers its texts.

An edit is stored like a post: first the job with the new version, then the version, then hashtags, search and
notifications. So a crash loses no acknowledged edit, and a worker finishes the others.
"""

import msgspec
from django.utils.translation import gettext as _
from msgspec import structs

from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Service
from socialsite.store import NotDurable
from socialsite.store.aof import wait_for_aof_during
from timelines.errors import EditConflict, EditsCapReached, PostInvalid, PostNotFound, PostUnconfirmed
from timelines.jobs import EditPost, encode_job
from timelines.live_updates.service import LiveService
from timelines.media.service import MediaService
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import UNEDITED_DETAILS, Poll, Post, PostDetails, decode_post, encode_post
from timelines.posts.repository import EditResult, PostRepository
from timelines.publishing.content_rules import check_mentions
from timelines.publishing.forms import EditForm
from timelines.publishing.service import ANNOUNCED_QUOTES, PublishingService
from timelines.publishing.timeline_writer import TimelineWriter

VERSIONS_CAP = 50
"""The maximum number of edits of a post."""
MAX_ATTEMPTS = 5


class EditService(Service):
    """Edits posts, and reads their versions."""

    posts: PostRepository
    publishing: PublishingService
    timeline_writer: TimelineWriter
    outbox: JobQueue
    live: LiveService
    media: MediaService
    limits: ActionLimits

    async def find_own(self, account_id: AccountId, post_id: PostId) -> Post:
        """Return the newest version of a post of the account. Raises PostNotFound."""
        return _require_own(await self.posts.find(post_id), account_id)

    async def edit(
        self, form: EditForm, *, account_id: AccountId, post_id: PostId, now_ms: int, caller: Caller | None = None
    ) -> Post:
        """Edit a post of the account as the form says, and return the newest version. A repeated call changes nothing.

        A poll with other options starts again without votes.

        Raises PostNotFound, PostInvalid, MediaInvalid, EditConflict, EditsCapReached, RateLimited and StoreFull. Raises
        PostUnconfirmed if the required replicas did not confirm the edit in time; then repeat the call.
        """
        details = form.details
        if form.poll is not None:
            poll = form.poll.build(now_ms, self.publishing.poll_max_options)
            if details.poll is None or not is_same_poll(details.poll, poll):
                details = structs.replace(details, poll=poll)
        if form.media_ids is not None or form.media_changes:
            ids = [each.id for each in details.media] if form.media_ids is None else form.media_ids
            media = await self.media.find_attachments(account_id, ids, form.media_changes, details.media)
            details = structs.replace(details, media=media)
        text, new_details = self.publishing.validate_content(form.text, details)
        check_mentions(text, caller)
        await self.publishing.first_links.check_edit(account_id, text, details)
        async with self.limits.refundable(caller, "edit"):
            await self.publishing.memory.check()
            try:
                announces = await self._store(account_id, post_id, text, new_details, now_ms, form.version, caller)
                return await self._update_derived(post_id, announces=announces)
            except NotDurable as error:
                raise PostUnconfirmed from error

    async def set_fold(self, post_id: PostId, *, is_folded: bool, warning: str, now_ms: int) -> Post:
        """Put a content warning of staff on a post, or remove it. If it is removed, `warning` is the author's own
        warning or "".

        A repeated call changes nothing. Raises PostNotFound, EditConflict, PostUnconfirmed.
        """
        for _attempt in range(MAX_ATTEMPTS):
            post = await self.posts.find(post_id)
            if post is None or post.boost_of is not None:
                raise PostNotFound
            try:
                announces = True
                if post.extra.is_folded != is_folded or (is_folded and post.extra.spoiler_text != warning):
                    details = structs.replace(post.extra, is_folded=is_folded, spoiler_text=warning)
                    version = post.extra.version
                    announces = await self._store(
                        post.author_id, post_id, post.text, details, now_ms, version, None, is_by_staff=True
                    )
                return await self._update_derived(post_id, announces=announces)
            except EditConflict:
                continue  # the author edited the post meanwhile
            except NotDurable as error:
                raise PostUnconfirmed from error
        raise EditConflict

    async def versions(self, post_id: PostId) -> list[Post]:
        """Return all versions of a post, oldest first. The caller checks that the viewer may see the post."""
        return await self.posts.find_versions(post_id)

    async def _store(
        self,
        account_id: AccountId,
        post_id: PostId,
        text: str,
        details: PostDetails | None,
        now_ms: int,
        version: int | None,
        caller: Caller | None,
        *,
        is_by_staff: bool = False,
    ) -> bool:
        """Store the job and the next version. Does nothing if the newest version has this content.

        Return False if a worker has stored the version meanwhile; the worker also announces it. For staff, neither the
        number of versions nor the author's right to see the parent is checked.
        """
        for _attempt in range(MAX_ATTEMPTS):
            former = await self.posts.find_value(post_id)
            post = _require_own(None if former is None else decode_post(former), account_id)
            if not is_by_staff:
                await self._check_parent(post)
                details = keep_fold(post.extra, details)
            edited = next_version(post, text, details, now_ms)
            if former is None or edited is None:
                return True
            if version is not None and version != post.extra.version:
                raise EditConflict
            if post.extra.version >= VERSIONS_CAP and not is_by_staff:
                raise EditsCapReached
            value = encode_post(await self.publishing.new_hashtags.limit_edit(edited, caller))
            await self.limits.enforce_bytes("edits", caller, len(value))
            if edited.extra.media != post.extra.media:
                await self.media.attach(edited)
            job = EditPost(msgspec.Raw(former), msgspec.Raw(value))
            await self.outbox.add(encode_job(job), sender=account_id)
            result = await self.posts.edit(post_id, former, value)
            if result is EditResult.DELETED:
                raise PostNotFound
            if result is not EditResult.CONFLICT:
                return result is not EditResult.EXISTS
        raise EditConflict

    async def _check_parent(self, post: Post) -> None:
        """Raise PostInvalid if the author may not see the parent any more, as for a new reply. It may be deleted."""
        if (
            post.in_reply_to is None
            or await self.publishing.pipeline.find_visible(post.author_id, post.in_reply_to) is not None
        ):
            return
        if await self.posts.find(post.in_reply_to) is not None:
            raise PostInvalid({"in_reply_to": _("The post you reply to does not exist, or no longer does.")})

    async def _update_derived(self, post_id: PostId, *, announces: bool) -> Post:
        """Update hashtags, search and quotes to the newest version of the post, and announce it if `announces`."""
        versions = await self.timeline_writer.update(post_id)
        if not versions:
            raise PostNotFound
        quote_ids = await self.publishing.quotes.read(post_id, ABOVE_ALL_IDS, ANNOUNCED_QUOTES, upward=False)
        if announces:
            await wait_for_aof_during(self.live.post_edited(post_id))
        await self.publishing.announce_quotes(quote_ids)
        return versions[-1]


def keep_fold(old: PostDetails, new: PostDetails | None) -> PostDetails | None:
    """Return the details of an edit by the author, with the content warning that staff put on the post."""
    if not old.is_folded:
        return new
    return structs.replace(new or PostDetails(), is_folded=True, spoiler_text=old.spoiler_text)


def next_version(post: Post, text: str, details: PostDetails | None, now_ms: int) -> Post | None:
    """Return the next version, or None if nothing changes. A poll with other options begins a new round."""
    old, new = post.extra, details or PostDetails()
    if new.poll is not None:
        number = old.version + 1
        if old.poll is not None and is_same_poll(old.poll, new.poll):
            number = old.poll.round
        new = structs.replace(new, poll=structs.replace(new.poll, round=number))
    new = structs.replace(new, **{name: getattr(old, name) for name in UNEDITED_DETAILS})
    if text == post.text and new == old:
        return None
    new = structs.replace(new, version=old.version + 1, edited_ms=max(now_ms, post.created_ms))
    return structs.replace(post, text=text, details=new)


def is_same_poll(old: Poll, new: Poll) -> bool:
    return (old.options, old.multiple) == (new.options, new.multiple)


def _require_own(post: Post | None, account_id: AccountId) -> Post:
    if post is None or post.author_id != account_id or post.boost_of is not None:
        raise PostNotFound
    return post
