"""Publishes and deletes posts. The intent is stored first, so that a crash loses no acknowledged post.

Publishing takes four round trips before the response:

1. Reserve an id, claim the idempotency key, and count the rate limits and the hashtags that may be new.
2. Add the job to the outbox.
3. Write the post and add it to the author's own timelines.
4. Announce the post, and check that it still exists and is durable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Protocol, cast

import msgspec
from django.utils.translation import gettext as _
from msgspec import structs

from socialsite.concurrency import run_all_to_end, run_together
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.service import Service
from socialsite.store import NotDurable as NotConfirmed
from socialsite.store import StoreError
from timelines.errors import IdempotencyConflict, PostHeld, PostInvalid, PostNotFound, PostUnconfirmed
from timelines.live_updates.service import LiveService
from timelines.media.service import MediaService
from timelines.pages.page import ABOVE_ALL_IDS, HydratedPost
from timelines.posts.post import FOLLOWERS, NO_DETAILS, PUBLIC, SHORT_TEXTS, Post, PostDetails
from timelines.posts.quotes import QuoteRepository
from timelines.posts.repository import IdempotencyRecord, PostRepository
from timelines.publishing.blocked_content import BlockedContent
from timelines.publishing.content_rules import check_mentions, text_refusal
from timelines.publishing.forms import PostForm
from timelines.publishing.hashtag_limit import NewHashtagLimit, TakenHashtags
from timelines.publishing.held_links import FirstLinks
from timelines.publishing.poll_form import PollForm
from timelines.publishing.post_writer import PostWriter, Reservation, hash_request, idempotency_key_digest
from timelines.publishing.timeline_writer import TimelineWriter
from timelines.quotes.service import QuoteService
from timelines.reading.pipeline import ReadPipeline
from timelines.text.post_text import TextRefused, check_post_text, grapheme_count

MAX_ATTEMPTS = 20
UNASSIGNED_ID = PostId(0)


class BoostRemover(Protocol):
    """The part of `BoostService` that deletes boosts."""

    async def remove(self, boost: Post) -> None: ...

    async def delete_boosts(self, original_id: PostId) -> int: ...


HoldPost = Callable[[AccountId, PostForm], Awaitable[object]]
"""Stores a post that staff looks at before it is published (DraftService)."""
ANNOUNCED_QUOTES = 100
"""The number of newest quotes whose open pages show at once that the quoted post was edited or deleted."""


@dataclass(frozen=True, slots=True)
class Request:
    """A post that is not written yet, and its reserved id. The post id in `record` is UNASSIGNED_ID."""

    draft: Post
    key_digest: str | None
    record: IdempotencyRecord
    reservation: Reservation


class PublishingService(Service):
    """Publishes and deletes posts."""

    posts: PostRepository
    post_writer: PostWriter
    timeline_writer: TimelineWriter
    live: LiveService
    boosts: BoostRemover
    pipeline: ReadPipeline
    memory: MemoryGuard
    post_max_length: int
    new_hashtags: NewHashtagLimit
    posts_per_day: int
    poll_max_options: int
    limits: ActionLimits
    media: MediaService
    quotes: QuoteRepository
    quote_service: QuoteService
    blocked: BlockedContent
    hold_post: HoldPost
    first_links: FirstLinks

    async def publish_form(
        self,
        form: PostForm,
        *,
        author_id: AccountId,
        now_ms: int,
        is_private: bool = False,
        idempotency_key: str | None = None,
        caller: Caller | None = None,
        is_released: bool = False,
    ) -> Post:
        """Publish the post of a form, with its pictures, as `publish` does. Raises its errors.

        Raises PostHeld if the post waits for staff. `is_released` is set if staff has done so.
        """
        if not is_released and await self.first_links.must_hold(author_id, form):
            self.validate(form.text, form.details, form.poll, now_ms)
            async with self.limits.refundable(caller, "post"):
                await self.hold_post(author_id, form)
            raise PostHeld
        media = (
            await self.media.find_attachments(author_id, form.media_ids, form.media_changes) if form.media_ids else ()
        )
        audience = FOLLOWERS if form.audience is None and is_private else form.audience
        return await self.publish(
            author_id=author_id,
            text=form.text,
            in_reply_to=form.in_reply_to,
            audience=audience,
            details=structs.replace(form.details, media=media) if media else form.details,
            poll=form.poll,
            redraft_of=form.redraft_of,
            idempotency_key=idempotency_key or form.idempotency_key,
            now_ms=now_ms,
            caller=caller,
        )

    async def publish(
        self,
        *,
        author_id: AccountId,
        text: str,
        in_reply_to: PostId | None = None,
        audience: int | None = None,
        details: PostDetails | None = None,
        poll: PollForm | None = None,
        redraft_of: PostId | None = None,
        idempotency_key: str | None = None,
        now_ms: int,
        caller: Caller | None = None,
    ) -> Post:
        """Publish a post. Repeated calls with the same idempotency key publish only one post.

        If `audience` is None, the post has its `default_audience`. A repeated call uses the audience of the first call.
        The post `redraft_of` of the author is deleted once the new post is stored, so that a crash loses neither text.

        Raises PostInvalid, IdempotencyConflict, RateLimited and StoreFull. Raises PostNotFound if the post of the
        idempotency key was deleted. Raises PostUnconfirmed if the required replicas did not confirm the post in time;
        then repeat the call with the same key.
        """
        text, details = self.validate(text, details or NO_DETAILS, poll, now_ms)
        check_mentions(text, caller)
        if redraft_of is not None:
            await self._check_redraft(author_id, redraft_of, in_reply_to)
        key_digest = None if idempotency_key is None else idempotency_key_digest(idempotency_key)
        reserve = self._reserve(author_id, text, in_reply_to, audience, details, key_digest, now_ms)
        try:
            size_bytes = len(msgspec.msgpack.encode((text, details)))
            return await self._publish_counted(reserve, text, size_bytes, audience, redraft_of, caller, now_ms)
        except NotConfirmed as error:
            raise PostUnconfirmed from error

    async def _publish_counted(
        self,
        reserve: Awaitable[Request],
        text: str,
        size_bytes: int,
        audience: int | None,
        redraft_of: PostId | None,
        caller: Caller | None,
        now_ms: int,
    ) -> Post:
        """Count the post for the caller's limits and publish it. If this fails, the post is not counted."""
        async with AsyncExitStack() as stack:
            request, taken = await self._prepare(
                caller,
                reserve,
                self.new_hashtags.take(text, audience, caller),
                stack.enter_async_context(self.limits.refundable(caller, "post")),
                stack.enter_async_context(self.limits.refundable_daily(caller, "posts", self.posts_per_day)),
                self.memory.check(),
                self.limits.enforce_bytes("posts", caller, size_bytes),
            )
            request, unused = _limit_new_hashtags(request, taken)
            refund = self.new_hashtags.refund(caller, unused)
            post = await run_all_to_end(self._publish(request, now_ms, redraft_of), refund)
            if redraft_of is not None:
                await self.delete(account_id=post.author_id, post_id=redraft_of)
            return post

    async def _prepare(
        self,
        caller: Caller | None,
        reserve: Awaitable[Request],
        take_hashtags: Awaitable[TakenHashtags],
        *checks: Awaitable[object],
    ) -> tuple[Request, TakenHashtags]:
        """Return the request and its new hashtags, after one round trip.

        If a check refuses the request, its reservations are withdrawn.
        """
        *results, taken, reserved = await asyncio.gather(*checks, take_hashtags, reserve, return_exceptions=True)
        for result in (*results, taken, reserved):
            if isinstance(result, BaseException):
                if isinstance(reserved, Request):
                    await self._withdraw(reserved)
                if isinstance(taken, TakenHashtags):
                    await self.new_hashtags.refund(caller, taken.counted)
                raise result
        return cast(Request, reserved), cast(TakenHashtags, taken)

    async def _check_redraft(self, author_id: AccountId, redraft_of: PostId, in_reply_to: PostId | None) -> None:
        """Raise PostInvalid unless the author wrote the post. An earlier request may have deleted it."""
        post = await self.posts.find(redraft_of) or await self.posts.find_tombstone(author_id, redraft_of)
        if post is None or post.author_id != author_id or post.boost_of is not None or in_reply_to == redraft_of:
            raise PostInvalid({"redraft_of": _("The post to replace does not exist, or is not yours.")})

    def validate(
        self, text: str, details: PostDetails, poll: PollForm | None, now_ms: int
    ) -> tuple[str, PostDetails | None]:
        """Return the text and details as a post stores them. Raises PostInvalid."""
        if poll is not None:
            details = structs.replace(details, poll=poll.build(now_ms, self.poll_max_options))
        return self.validate_content(text, details)

    async def _publish(self, request: Request, now_ms: int, redraft_of: PostId | None) -> Post:
        draft, reservation = request.draft, request.reservation
        for _attempt in range(MAX_ATTEMPTS):
            audience = draft.audience if reservation.audience is None else reservation.audience
            post = reservation.existing or structs.replace(draft, id=reservation.post_id, audience=audience)
            if reservation.existing is None and (post.extra.media or post.extra.quote_of is not None):
                post = await self._attach(post, replace(request, reservation=reservation), redraft_of)
            result = await self.post_writer.write_with_timelines(post, exists=reservation.existing is not None)
            if result.exists:
                return post
            reservation = await self._reserve_id(draft.author_id, request.key_digest, request.record, now_ms)
        raise IdempotencyConflict

    async def _attach(self, post: Post, request: Request, redraft_of: PostId | None) -> Post:
        """Authorize the quote and attach the pictures. Return the post with the quoted author.

        Raises PostInvalid if the author may not quote the post, or if a picture is in another post meanwhile, or
        deleted.
        """
        try:
            if post.extra.quote_of is not None:
                post = await self.quote_service.authorize(post)
            if post.extra.media:
                await self.media.attach(post, redraft_of)
        except PostInvalid:
            await self.quotes.remove(post)
            await self._withdraw(request)
            raise
        return post

    async def announce_quotes(self, quote_ids: Iterable[PostId]) -> None:
        """Announce that the posts show another quoted post than before."""
        await run_together(*map(self.live.counts_changed, quote_ids))

    async def _withdraw(self, request: Request) -> None:
        """Withdraw the reservation of a refused request, unless an earlier request made the reservation."""
        if request.reservation.is_new:
            claim = replace(request.record, post_id=request.reservation.post_id)
            with suppress(StoreError):  # if this fails, the reservation expires
                await self.posts.withdraw_claim(request.draft.author_id, request.key_digest, claim)

    async def _reserve(
        self,
        author_id: AccountId,
        text: str,
        in_reply_to: PostId | None,
        audience: int | None,
        details: PostDetails | None,
        key_digest: str | None,
        now_ms: int,
    ) -> Request:
        draft = await self._make_draft(author_id, text, in_reply_to, audience, key_digest)
        draft = structs.replace(draft, details=details)
        if details is not None and details.poll is not None:  # equal in a repeated request
            poll = structs.replace(details.poll, ends_ms=details.poll.ends_ms - now_ms)
            details = structs.replace(details, poll=poll)
        digest = hash_request(text, in_reply_to, PUBLIC if audience is None else audience, details)
        # Only the default audience of a reply depends on data outside the request.
        is_derived = audience is None and in_reply_to is not None
        record = IdempotencyRecord(UNASSIGNED_ID, digest, draft.audience if is_derived else None)
        return Request(draft, key_digest, record, await self._reserve_id(author_id, key_digest, record, now_ms))

    async def delete(self, *, account_id: AccountId, post_id: PostId, keep_pictures: bool = False) -> None:
        """Delete a post of the account. When this returns, no viewer sees the post. The call may be repeated.

        If `keep_pictures` is set, another post may contain the pictures for some time, as after an upload. Raises
        PostNotFound if the post never existed or belongs to another account.
        """
        versions = await self.posts.find_versions(post_id)
        post = versions[-1] if versions else None
        if post is not None and post.author_id == account_id and post.boost_of is not None:
            await self.boosts.remove(post)
            return
        if post is not None and post.author_id == account_id and any(each.extra.media for each in versions):
            await self.media.release(versions, keep=keep_pictures)
        quote_ids = await self.quotes.read(post_id, ABOVE_ALL_IDS, ANNOUNCED_QUOTES, upward=False)
        if post is None or post.author_id != account_id or not await self.posts.delete(post_id, account_id):
            post = await self.posts.find_tombstone(account_id, post_id)  # an earlier deletion may be incomplete
            if post is None:
                raise PostNotFound
        await self.timeline_writer.remove(post, versions[:-1])
        await self.live.post_deleted(post_id)
        await self.announce_quotes(quote_ids)
        await self.boosts.delete_boosts(post_id)
        if post.in_reply_to is not None:
            await self.live.counts_changed(post.in_reply_to)

    async def _make_draft(
        self, author_id: AccountId, text: str, in_reply_to: PostId | None, audience: int | None, key_digest: str | None
    ) -> Post:
        """Return the post without its id. A reply to a boost becomes a reply to the original."""
        entry = await self._find_parent(author_id, in_reply_to, key_digest)
        parent = None if entry is None else entry.post
        if parent is None:
            if audience is None:  # the audience of a deleted parent is unknown
                audience = PUBLIC if in_reply_to is None else FOLLOWERS
            return Post(UNASSIGNED_ID, author_id, text, in_reply_to, audience=audience)
        if audience is None:
            audience = default_audience(is_private=False, parent=entry)
        draft = Post(UNASSIGNED_ID, author_id, text, parent.id, audience=audience)
        return structs.replace(draft, reply_to_author_id=parent.author_id, root_id=parent.root_id or parent.id)

    async def _find_parent(
        self, author_id: AccountId, in_reply_to: PostId | None, key_digest: str | None
    ) -> HydratedPost | None:
        """Return the parent, or None if there is none.

        Also returns None if the parent was deleted after the first request with this idempotency key. Raises
        PostInvalid if the author cannot see the parent.
        """
        if in_reply_to is None:
            return None
        entry = await self.pipeline.find_visible(author_id, in_reply_to)
        if entry is None and (
            key_digest is None or not await self.posts.find_idempotency_record(author_id, key_digest)
        ):
            raise PostInvalid({"in_reply_to": _("The post you reply to does not exist, or no longer does.")})
        return None if entry is None else entry.shown

    def validate_content(self, text: str, details: PostDetails) -> tuple[str, PostDetails | None]:
        """Return the normalized text and details. Raises PostInvalid.

        A content warning counts towards the length of the post. A post with pictures may have no text.
        """
        max_graphemes, short_texts = self.post_max_length, {}
        for each in SHORT_TEXTS:
            short = self._normalize(each.name, getattr(details, each.name), max_graphemes, each.max_graphemes)
            short_texts[each.name] = " ".join(short.split())
            if each.max_graphemes is None:
                max_graphemes -= grapheme_count(short)
        text = self._normalize("text", text, max_graphemes)
        if not text and not details.media:
            raise PostInvalid({"text": text_refusal("empty", self.post_max_length)})
        details = structs.replace(details, **short_texts)
        self.blocked.check_post(text, details)
        return text, None if details == NO_DETAILS else details

    def _normalize(self, field: str, text: str, max_graphemes: int, own_limit: int | None = None) -> str:
        """Return the normalized text, or "" if nothing in it is visible. Raises PostInvalid."""
        try:
            return check_post_text(text, own_limit or max_graphemes)
        except TextRefused as refused:
            if refused.code == "empty":
                return ""
            limit = None if own_limit else self.post_max_length
            raise PostInvalid({field: text_refusal(refused.code, limit)}) from refused

    async def _reserve_id(
        self, author_id: AccountId, key_digest: str | None, record: IdempotencyRecord, now_ms: int
    ) -> Reservation:
        """Return a new id, or the id of the first request with the same key. Raises IdempotencyConflict."""
        if key_digest is None:
            return Reservation(await self.post_writer.reserve_id(), is_new=True)
        offered = replace(record, post_id=self.post_writer.ids.next_id())
        is_reserved, agreement = await run_together(
            self.posts.reserve_id(offered.post_id), self.posts.claim_idempotency_key(author_id, key_digest, offered)
        )
        if not is_reserved:  # another request has chosen the same id in the same millisecond
            taken, offered = offered, replace(offered, post_id=await self.post_writer.reserve_id())
            if agreement == taken:
                agreement = await self.posts.replace_idempotency_record(author_id, key_digest, taken, offered)
        for _attempt in range(MAX_ATTEMPTS):
            if agreement.request_digest != record.request_digest:
                raise IdempotencyConflict
            if agreement.post_id == offered.post_id:
                return Reservation(offered.post_id, audience=agreement.audience, is_new=True)
            reservation = await self.post_writer.resolve_reservation(agreement.post_id, author_id, now_ms)
            if reservation is not None:
                return replace(reservation, audience=agreement.audience)
            offered = replace(offered, audience=agreement.audience)
            agreement = await self.posts.replace_idempotency_record(author_id, key_digest, agreement, offered)
        raise IdempotencyConflict


def _limit_new_hashtags(request: Request, taken: TakenHashtags) -> tuple[Request, int]:
    """Return the request with unindexed hashtags, and how many counted uses to refund."""
    audience = request.draft.audience if request.reservation.audience is None else request.reservation.audience
    if audience != PUBLIC or request.reservation.existing is not None:
        return request, taken.counted
    return replace(request, draft=taken.exclude_from(request.draft)), taken.unused


def default_audience(is_private: bool, parent: HydratedPost | None = None, preferred: int = PUBLIC) -> int:
    """Return the audience of a post whose request names no audience.

    The audience is never wider than the audience of the parent. `preferred` is for posts without a parent. `is_private`
    is set if the account of the author is private. Only followers see the posts of private accounts.
    """
    if is_private or (parent is not None and parent.author.private):
        return FOLLOWERS
    return preferred if parent is None else parent.post.audience
