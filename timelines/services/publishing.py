"""Publishing: intent first, so that an acknowledged post survives the death of any process (DESIGN 2.7).

claim an id -> agree on the idempotency key -> outbox -> the post -> the author's own timelines -> answer.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Protocol

from django.utils.translation import gettext as _

from accounts.domain import AccountId, Author
from socialsite.ids import PostId, PostIds, ms_of
from socialsite.store import Unconfirmed as NotConfirmed
from timelines.domain.jobs import SyndicatePost, encode_job
from timelines.domain.post import Post
from timelines.domain.text import TextRefused, check_post_text
from timelines.errors import IdempotencyConflict, PostNotFound, PostRefused, Unconfirmed
from timelines.repositories.posts import Agreement, PostRepository, PostState, Written
from timelines.services.placing import Placing
from timelines.services.refusals import text_refusal

GIVE_UP_AFTER_MS = 60_000  # an id claimed this long ago and never written would appear too deep in timelines
MOST_TRIES = 20


class Outbox(Protocol):
    async def add(self, payload: bytes) -> object: ...


class Announcer(Protocol):
    async def entry_published(self, post: Post, author: Author) -> None: ...

    async def post_deleted(self, post_id: PostId) -> None: ...

    async def counts_changed(self, post_id: PostId) -> None: ...


class Authors(Protocol):
    async def authors(self, ids: list[AccountId]) -> dict[AccountId, Author]: ...


class PublishingService:
    """Publishes and deletes posts."""

    def __init__(
        self,
        *,
        ids: PostIds,
        posts: PostRepository,
        placing: Placing,
        outbox: Outbox,
        live: Announcer,
        accounts: Authors,
        check_room: Callable[[], Awaitable[None]],
        max_graphemes: int,
    ) -> None:
        self._ids = ids
        self._posts = posts
        self._placing = placing
        self._outbox = outbox
        self._live = live
        self._accounts = accounts
        self._check_room = check_room
        self._max_graphemes = max_graphemes

    async def publish(
        self,
        *,
        author_id: AccountId,
        text: str,
        in_reply_to: PostId | None = None,
        idempotency_key: str | None = None,
        now_ms: int,
    ) -> Post:
        """Publish once, however often it is called with the same key.

        Raises PostRefused, IdempotencyConflict, PostNotFound (the key's post was deleted), StoreFull, and
        Unconfirmed where required replicas did not confirm it in time: repeat it with the same key.
        """
        text = self._checked(text)
        await self._check_room()
        if in_reply_to is not None and await self._posts.find(in_reply_to) is None:
            raise PostRefused({"in_reply_to": _("The post you answer does not exist, or no longer does.")})
        try:
            return await self._publish(author_id, text, in_reply_to, idempotency_key, now_ms)
        except NotConfirmed as error:
            raise Unconfirmed from error

    async def _publish(
        self, author_id: AccountId, text: str, in_reply_to: PostId | None, key: str | None, now_ms: int
    ) -> Post:
        digest = request_digest(text, in_reply_to)
        for _attempt in range(MOST_TRIES):
            post_id = await self._agreed_id(author_id, key, digest, now_ms)
            post = Post(post_id, author_id, text, in_reply_to)
            written = await self._store_with_intent(post)
            if written is Written.DELETED:
                raise PostNotFound
            if written is not Written.SUPERSEDED:
                await self._place(post)
                return post
        raise IdempotencyConflict

    async def delete(self, *, account_id: AccountId, post_id: PostId) -> None:
        """Nobody sees it again from the answer on. Raises PostNotFound where it is gone or another's."""
        post = await self._posts.find(post_id)
        if post is None or post.author_id != account_id or not await self._posts.delete(post_id):
            raise PostNotFound
        await self._placing.withdraw(post)
        await self._live.post_deleted(post_id)
        if post.in_reply_to is not None:
            await self._live.counts_changed(post.in_reply_to)

    async def _store_with_intent(self, post: Post) -> Written:
        if isinstance(await self._posts.state(post.id), Post):
            return Written.HELD  # a post that stands has its job: it was written after it
        # The intent goes first: the job carries the post, a worker can finish it.
        await self._outbox.add(encode_job(SyndicatePost(post)))
        return await self._posts.write(post)

    async def _place(self, post: Post) -> None:
        if not await self._placing.place(post):
            raise PostNotFound
        author = (await self._accounts.authors([post.author_id])).get(post.author_id)
        if author is not None:
            await self._live.entry_published(post, author)
        if post.in_reply_to is not None:
            await self._live.counts_changed(post.in_reply_to)

    def _checked(self, text: str) -> str:
        try:
            return check_post_text(text, self._max_graphemes)
        except TextRefused as refused:
            raise PostRefused({"text": text_refusal(refused, self._max_graphemes)}) from refused

    async def _agreed_id(self, author_id: AccountId, key: str | None, digest: str, now_ms: int) -> PostId:
        """The id of this request: a fresh one, or that of the first request with the same key."""
        offered = Agreement(await self._claimed_id(), digest)
        if key is None:
            return offered.post_id
        key_digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        agreed = await self._posts.agree(author_id, key_digest, offered)
        for _attempt in range(MOST_TRIES):
            if agreed.digest != digest:
                raise IdempotencyConflict
            if agreed == offered or not await self._is_dead(agreed.post_id, now_ms):
                return agreed.post_id
            agreed = await self._posts.agree_anew(author_id, key_digest, agreed, offered)
        raise IdempotencyConflict

    async def _is_dead(self, post_id: PostId, now_ms: int) -> bool:
        """Whether an agreed id was given up, by us now or by another before."""
        state = await self._posts.state(post_id)
        if state is PostState.DELETED:
            raise PostNotFound
        if state is PostState.SUPERSEDED:
            return True
        if isinstance(state, Post) or now_ms - ms_of(post_id) <= GIVE_UP_AFTER_MS:
            return False
        answer = await self._posts.give_up(post_id)
        if answer is Written.DELETED:
            raise PostNotFound
        return answer is Written.SUPERSEDED

    async def _claimed_id(self) -> PostId:
        post_id = self._ids.next()
        while not await self._posts.claim(post_id):
            post_id = self._ids.next()
        return post_id


def request_digest(text: str, in_reply_to: PostId | None) -> str:
    """What makes two requests the same one."""
    return hashlib.sha256(f"{in_reply_to}\n{text}".encode()).hexdigest()[:32]
