"""Publishing: intent first, so that an acknowledged post survives the death of any process.

claim an id -> agree on the idempotency key -> outbox -> the post -> the author's own timelines -> answer.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from django.utils.translation import gettext as _
from msgspec.structs import replace

from accounts.domain import AccountId
from socialsite.ids import PostId, PostIds, ms_of
from socialsite.store import Unconfirmed as NotConfirmed
from timelines.domain.jobs import SyndicatePost, encode_job
from timelines.domain.post import PUBLIC, Post
from timelines.domain.text import TextRefused, check_post_text
from timelines.errors import IdempotencyConflict, PostNotFound, PostRefused, Unconfirmed
from timelines.repositories.posts import Agreement, PostRepository, PostState, Written
from timelines.services.placing import Placing
from timelines.services.ports import PostMeter
from timelines.services.refusals import text_refusal

GIVE_UP_AFTER_MS = 60_000  # an id claimed this long ago and never written would appear too deep in timelines
MOST_TRIES = 20
NO_ID = PostId(0)


@dataclass(frozen=True, slots=True)
class Agreed:
    """The id a request publishes under. `standing`: the post that is there, so it has its job, too."""

    post_id: PostId
    standing: Post | None = None


class Outbox(Protocol):
    async def add(self, payload: bytes) -> object: ...


class Announcer(Protocol):
    async def entry_published(self, post: Post) -> None: ...

    async def post_deleted(self, post_id: PostId) -> None: ...

    async def counts_changed(self, post_id: PostId) -> None: ...


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
        check_room: Callable[[], Awaitable[None]],
        meter: PostMeter,
        max_graphemes: int,
    ) -> None:
        self._ids = ids
        self._posts = posts
        self._placing = placing
        self._outbox = outbox
        self._live = live
        self._check_room = check_room
        self._meter = meter
        self._max_graphemes = max_graphemes

    async def publish(
        self,
        *,
        author_id: AccountId,
        text: str,
        in_reply_to: PostId | None = None,
        audience: int = PUBLIC,
        idempotency_key: str | None = None,
        now_ms: int,
    ) -> Post:
        """Publish once, however often it is called with the same key.

        Raises PostRefused, IdempotencyConflict, PostNotFound (the key's post was deleted), StoreFull, and
        Unconfirmed where required replicas did not confirm it in time: repeat it with the same key.
        """
        text = self._checked(text)
        await self._check_room()
        draft = await self._draft(author_id, text, in_reply_to, audience, idempotency_key)
        try:
            return await self._publish(draft, in_reply_to, idempotency_key, now_ms)
        except NotConfirmed as error:
            raise Unconfirmed from error

    async def _publish(self, draft: Post, asked_reply: PostId | None, key: str | None, now_ms: int) -> Post:
        """`draft` has everything but its id; `asked_reply` is what the request said it answers."""
        digest = request_digest(draft.text, asked_reply, draft.audience)
        for _attempt in range(MOST_TRIES):
            agreed = await self._agreed(draft.author_id, key, digest, now_ms)
            post = agreed.standing or replace(draft, id=agreed.post_id)
            # What an earlier try wrote is written again: it changes nothing, and has replicas confirm it.
            write = self._posts.write if agreed.standing else self._store_with_intent
            written = await write(post)
            if written is Written.DELETED:
                raise PostNotFound
            if written is not Written.SUPERSEDED:
                await self._place(post)
                return post
        raise IdempotencyConflict

    async def delete(self, *, account_id: AccountId, post_id: PostId) -> None:
        """Nobody sees it again from the answer on; a second time changes nothing.

        Raises PostNotFound where it never was, or is another's.
        """
        post = await self._posts.find(post_id)
        if post is None or post.author_id != account_id or not await self._posts.delete(post_id, account_id):
            if await self._posts.was_deleted_by(account_id, post_id):
                return
            raise PostNotFound
        await self._placing.withdraw(post)
        await self._live.post_deleted(post_id)
        if post.in_reply_to is not None:
            await self._live.counts_changed(post.in_reply_to)

    async def _store_with_intent(self, post: Post) -> Written:
        # The intent goes first: the job carries the post, a worker can finish it.
        await self._outbox.add(encode_job(SyndicatePost(post)))
        written = await self._posts.write(post)
        if written is Written.NEW:
            self._meter.published(post.author_id)
        return written

    async def _place(self, post: Post) -> None:
        await self._placing.place(post)
        # A word is a hint: whoever hears it reads the post, or its tombstone.
        stands, _told = await asyncio.gather(self._placing.still_stands(post), self._tell(post))
        if not stands:
            raise PostNotFound

    async def _tell(self, post: Post) -> None:
        await self._live.entry_published(post)
        if post.in_reply_to is not None:
            await self._live.counts_changed(post.in_reply_to)

    async def _draft(
        self, author_id: AccountId, text: str, in_reply_to: PostId | None, audience: int, key: str | None
    ) -> Post:
        """The post without its id; what answers a boost answers the original."""
        parent = await self._answered(author_id, in_reply_to, key)
        if parent is None:
            return Post(NO_ID, author_id, text, in_reply_to, audience=audience)
        root = parent.root or parent.id
        return Post(
            NO_ID, author_id, text, parent.id, audience=audience, reply_to_author=parent.author_id, root=root
        )

    async def _answered(
        self, author_id: AccountId, in_reply_to: PostId | None, key: str | None
    ) -> Post | None:
        """The post that is answered: it stands, or stood when a request with this key came first."""
        if in_reply_to is None:
            return None
        found = await self._posts.find(in_reply_to)
        if found is not None and found.boost_of is not None:
            found = await self._posts.find(found.boost_of)
        if found is None and (key is None or not await self._posts.is_agreed(author_id, digest_of_key(key))):
            raise PostRefused({"in_reply_to": _("The post you answer does not exist, or no longer does.")})
        return found

    def _checked(self, text: str) -> str:
        try:
            return check_post_text(text, self._max_graphemes)
        except TextRefused as refused:
            raise PostRefused({"text": text_refusal(refused, self._max_graphemes)}) from refused

    async def _agreed(self, author_id: AccountId, key: str | None, digest: str, now_ms: int) -> Agreed:
        """The id of this request: a fresh one, or that of the first request with the same key."""
        offered = Agreement(await self._claimed_id(), digest)
        if key is None:
            return Agreed(offered.post_id)
        key_digest = digest_of_key(key)
        agreement = await self._posts.agree(author_id, key_digest, offered)
        for _attempt in range(MOST_TRIES):
            if agreement.digest != digest:
                raise IdempotencyConflict
            if agreement == offered:
                return Agreed(offered.post_id)
            found = await self._of_another(agreement.post_id, now_ms)
            if found is not None:
                return found
            agreement = await self._posts.agree_anew(author_id, key_digest, agreement, offered)
        raise IdempotencyConflict

    async def _of_another(self, post_id: PostId, now_ms: int) -> Agreed | None:
        """What became of the id of an earlier request; None where it was given up, by us now or before."""
        state = await self._posts.state(post_id)
        if state is PostState.DELETED:
            raise PostNotFound
        if isinstance(state, Post):
            return Agreed(post_id, state)
        if state is not PostState.SUPERSEDED and now_ms - ms_of(post_id) <= GIVE_UP_AFTER_MS:
            return Agreed(post_id)
        answer = await self._posts.give_up(post_id)
        if answer is Written.DELETED:
            raise PostNotFound
        return None if answer is Written.SUPERSEDED else Agreed(post_id, await self._posts.find(post_id))

    async def _claimed_id(self) -> PostId:
        post_id = self._ids.next()
        while not await self._posts.claim(post_id):
            post_id = self._ids.next()
        return post_id


def digest_of_key(key: str) -> str:
    """What stands for an idempotency key in the store: user text never enters a key there."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def request_digest(text: str, in_reply_to: PostId | None, audience: int = PUBLIC) -> str:
    """What makes two requests the same one."""
    said = f"{in_reply_to}\n{text}" if audience == PUBLIC else f"{in_reply_to} {audience}\n{text}"
    return hashlib.sha256(said.encode()).hexdigest()[:32]
