"""Reads pages of threads: the ancestors of a post, and all replies below it in the order of a conversation.

A deleted or hidden post keeps its place as long as it has visible replies. The read pipeline decides about visibility.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId
from socialsite.service import Service
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost
from timelines.posts.post import Post
from timelines.posts.replies import ReplyRange, ReplyRepository
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.threads.thread import MAX_ANCESTORS, MAX_DEPTH, ReplyNode, ThreadEntry, ThreadPage, ThreadWalk
from timelines.visibility.rights import ViewContext

MAX_ROUNDS = 40
"""The maximum number of reads for one page. If too many replies are hidden, the page ends early with a cursor."""
PARENTS_CAP = 200_000
MAX_GUESSED_PARENTS = 200
"""The maximum number of parents that are read in one round trip, if the cache contains their chain."""

WHOLE_THREAD = 400
"""The maximum number of replies for clients that read a thread as a whole."""
MAX_GUESSED_CHILDREN = 200
"""The maximum number of replies to one post in the cache."""


class ChainEnd(Enum):
    """The reason why a chain of ancestors ends."""

    THREAD_START = "the thread's first post"
    LIMIT = "the limit"
    UNKNOWN = "a post whose parent is unknown"


class ThreadService(Service):
    """Reads pages of threads. The caller checks that the viewer may see the post of the page."""

    replies: ReplyRepository
    pipeline: ReadPipeline
    _parents: dict[PostId, PostId] = field(init=False, default_factory=dict)
    _children: dict[PostId, list[PostId]] = field(init=False, default_factory=dict)
    # The parent of a post never changes. The caches only guess the ids of one read, and every post is read again.

    async def load_page(
        self, post: Post, *, viewer_id: AccountId | None, after: int = 0, limit: int = DEFAULT_LIMIT
    ) -> ThreadPage:
        """Return the thread of a post that the viewer may see: its ancestors, and the replies after `after`."""
        (ancestors, earlier), (replies, following) = await run_together(
            self._ancestors(post, viewer_id), self._replies(post.id, viewer_id, after, limit)
        )
        return ThreadPage(ancestors, earlier, replies, following)

    async def load_whole(self, post: Post, *, viewer_id: AccountId | None) -> ThreadPage:
        """Return the thread like `load_page`, with WHOLE_THREAD replies."""
        return await self.load_page(post, viewer_id=viewer_id, limit=WHOLE_THREAD)

    # Ancestors

    async def _ancestors(
        self, post: Post, viewer_id: AccountId | None
    ) -> tuple[tuple[ThreadEntry, ...], HydratedPost | None]:
        """Return the nearest ancestors, the earliest first, and the ancestor whose page shows earlier ancestors."""
        chain, is_all = await self._upward(post)
        seen = await self._visible(chain, viewer_id)
        entries = tuple(ThreadEntry(id, -at, seen.get(id)) for at, id in enumerate(chain, start=1))[::-1]
        first = next((entry.entry for entry in entries if entry.entry is not None), None)
        return entries, None if is_all else first

    async def _upward(self, post: Post) -> tuple[list[PostId], bool]:
        """Return the ids of the ancestors, the nearest first, and whether these are all ancestors.

        If the parent of an ancestor is unknown, because the ancestor was deleted long ago, the first post of the thread
        is the last id.
        """
        if post.in_reply_to is None:
            return [], True
        chain, end = await self._climb(post.in_reply_to, MAX_ANCESTORS)
        if end is ChainEnd.UNKNOWN and post.root_id is not None and post.root_id not in chain:
            chain.append(post.root_id)
        return chain, end is not ChainEnd.LIMIT

    async def _climb(self, start: PostId, most: int, until: PostId | None = None) -> tuple[list[PostId], ChainEnd]:
        """Return `start` and its ancestors, at most `most` posts or up to `until`, and why the chain ends."""
        chain = [start]
        while chain[-1] != until:
            guessed = self._guessed(chain[-1], most + 1 - len(chain))
            parents = await self.replies.find_parents(guessed)
            for post_id in guessed:
                if post_id != chain[-1] or post_id == until:
                    break
                if post_id not in parents:
                    return chain, ChainEnd.UNKNOWN
                parent = parents[post_id]
                if parent is None or parent in chain:
                    return chain, ChainEnd.THREAD_START
                self._note(post_id, parent)
                if len(chain) == most:
                    return chain, ChainEnd.LIMIT
                chain.append(parent)
        return chain, ChainEnd.LIMIT

    def _guessed(self, post_id: PostId, most: int) -> list[PostId]:
        """Return the post and its ancestors in the cache of parents."""
        guessed = [post_id]
        while len(guessed) < min(most, MAX_GUESSED_PARENTS) and (parent := self._parents.get(guessed[-1])):
            guessed.append(parent)
        return guessed

    def _note(self, post_id: PostId, parent: PostId) -> None:
        if len(self._parents) >= PARENTS_CAP:
            self._parents.clear()
            self._children.clear()
        if post_id not in self._parents:
            self._parents[post_id] = parent
            children = self._children.setdefault(parent, [])
            if len(children) < MAX_GUESSED_CHILDREN:
                children.append(post_id)

    # Replies

    async def _replies(
        self, post_id: PostId, viewer_id: AccountId | None, after: int, limit: int
    ) -> tuple[tuple[ThreadEntry, ...], PostId | None]:
        """Return a page of replies, and the cursor of the next page or None. Reads one extra reply to find the end."""
        walk = await self._walk(post_id, after)
        entries: list[ThreadEntry] = []
        hidden: list[ReplyNode] = []  # ancestors of the next reply, shown only if a reply below them is visible
        for _ in range(MAX_ROUNDS):
            size = limit + 1 - len(entries)
            nodes = await self._next(walk, size)
            seen = await self._visible([node.id for node in nodes], viewer_id)
            for node in nodes:
                hidden = [each for each in hidden if each.depth < node.depth]
                if node.id not in seen:
                    hidden.append(node)
                    continue
                entries += [ThreadEntry(each.id, each.depth, None) for each in hidden]
                entries.append(_make_entry(node, seen[node.id]))
                hidden.clear()
            if len(nodes) < size or len(entries) > limit:
                break
        else:
            entries += [ThreadEntry(each.id, each.depth, None) for each in hidden]
            return tuple(entries[:limit]), nodes[-1].id if len(entries) <= limit else entries[limit - 1].id
        more = len(entries) > limit
        return tuple(entries[:limit]), entries[limit - 1].id if more else None

    async def _walk(self, post_id: PostId, after: int) -> ThreadWalk:
        """Return a walk that starts after the reply `after`.

        If `after` is not below the post, the walk starts at the direct replies with greater ids.
        """
        if not after:
            return ThreadWalk([post_id])
        path, _ = await self._climb(PostId(after), MAX_DEPTH, until=post_id)
        if path[-1] != post_id:
            return ThreadWalk([post_id], after)
        return ThreadWalk(path[::-1])

    async def _next(self, walk: ThreadWalk, wanted: int) -> list[ReplyNode]:
        """Return the next `wanted` replies. There are fewer only at the end of the thread.

        Takes one round trip for each level that this process has not read before, and one for all other levels.
        """
        read: dict[tuple[PostId, int], list[PostId]] = {}
        while ranges := walk.unread_ranges(wanted):
            if unread := [row for row in ranges if (row.parent, row.after_id) not in read]:
                unread += self._guessed_below(unread, wanted)
                for row, ids in zip(unread, await self.replies.read_replies(unread), strict=True):
                    read[row.parent, row.after_id] = ids
                    for post_id in ids:
                        self._note(post_id, row.parent)
            walk.insert_children(ranges, [read[row.parent, row.after_id][: row.limit] for row in ranges])
        return walk.take_nodes(wanted)

    def _guessed_below(self, ranges: Sequence[ReplyRange], wanted: int) -> list[ReplyRange]:
        """Return a range of the replies to each of the next `wanted` cached posts, in conversation order."""
        guessed: list[ReplyRange] = []
        for row in ranges:
            stack = [id for id in reversed(self._children.get(row.parent, ())) if id > row.after_id]
            while stack and len(guessed) < wanted:
                guessed.append(ReplyRange(post_id := stack.pop(), 0, 0, wanted))
                stack += reversed(self._children.get(post_id, ()))
        return guessed

    async def _visible(self, post_ids: Sequence[PostId], viewer_id: AccountId | None) -> dict[PostId, HydratedPost]:
        entries_read = await self.pipeline.read_posts(post_ids, ViewerContext(viewer_id, ViewContext.THREAD))
        return {entry.post.id: entry for entry in entries_read}


def _make_entry(node: ReplyNode, entry: HydratedPost) -> ThreadEntry:
    return ThreadEntry(node.id, node.depth, entry, continues=node.depth == MAX_DEPTH and entry.counts.replies > 0)
