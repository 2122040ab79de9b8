"""Imports posts with their own times and replies; nothing is syndicated and nobody is told.

A segment of rows is bound to ids, written, placed, the cached timelines it touches are deleted, and only then
are its sources marked done. What a stopped run left half-done, the next one does again under the same ids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from accounts.accounts.service import AccountService
from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from timelines.author_feeds.repository import PublicTimelineRepository
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.importing.authors import ImportAuthors, assigned_by_rank
from timelines.importing.lines import LineFile, LineRefused, Tally
from timelines.importing.repository import GraphRanks, ImportedPosts, Source
from timelines.importing.rows import PostRow, RowRules, newest_ms
from timelines.importing.threads import threaded
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.search.indexing import SearchIndexer

ROWS_PER_SEGMENT = 10_000
SHIFT_MARGIN_MS = 3 * 60_000


def shift_to(file: LineFile, now_ms: int) -> int:
    """What to add to the times of a file to make its newest post three minutes old. Reads the file once."""
    newest = newest_ms(line for _, line in file.lines(Tally()))
    return 0 if newest is None else now_ms - SHIFT_MARGIN_MS - newest


@dataclass(frozen=True, slots=True)
class PostsOptions:
    """What is asked of an import of posts beside the rules of its rows."""

    rules: RowRules
    assign_to_graph: bool = False
    dry_run: bool = False


class PostsImport:
    """Counts `posts` (new ones), `standing` (already there), `deleted`, `replies`, `parent_missing`."""

    def __init__(
        self,
        *,
        accounts: AccountService,
        posts: ImportedPosts,
        public: PublicTimelineRepository,
        touched: AffectedTimelines,
        indexing: SearchIndexer,
        ranks: GraphRanks,
        standing: PostRepository,
        rows_per_segment: int = ROWS_PER_SEGMENT,
    ) -> None:
        self._accounts = accounts
        self._posts = posts
        self._public = public
        self._touched = touched
        self._indexing = indexing
        self._ranks = ranks
        self._standing = standing
        self._rows_per_segment = rows_per_segment

    async def run(self, file: LineFile, options: PostsOptions, tally: Tally, now_ms: int) -> None:
        """Raises NoGraph; OSError, EOFError or zlib.error for the file, StoreError for the store."""
        assigned = await assigned_by_rank(file, self._ranks) if options.assign_to_graph else {}
        authors = ImportAuthors(self._accounts, assigned)
        for rows in batches(self._rows(file, options.rules, tally), self._rows_per_segment):
            if options.dry_run:
                tally.counts["posts"] += len(rows)
            else:
                await self._import(rows, authors, tally, now_ms)

    def _rows(self, file: LineFile, rules: RowRules, tally: Tally) -> Iterator[PostRow]:
        for number, line in file.lines(tally):
            try:
                yield rules.row_of(number, line)
            except LineRefused as refused:
                tally.refuse(number, refused.reason)

    async def _import(self, rows: list[PostRow], authors: ImportAuthors, tally: Tally, now_ms: int) -> None:
        rows = self._once_each(rows, tally)
        parents = {row.reply_to for row in rows if row.reply_to is not None}
        sources = await self._posts.sources([*(row.source_id for row in rows), *parents])
        due = [row for row in rows if not (row.source_id in sources and sources[row.source_id].is_done)]
        tally.counts["standing"] += len(rows) - len(due)
        if not due:
            return
        new = [(row.source_id, row.wanted_id) for row in due if row.source_id not in sources]
        sources |= await self._posts.claim(new)
        owners = await authors.ids((row.handle for row in due), now_ms)
        posts = await self._threaded([self._post(row, sources, owners, tally) for row in due])
        await self._publish(posts, tally)
        await self._posts.finish((row.source_id, post.id) for row, post in zip(due, posts, strict=True))

    async def _publish(self, posts: Sequence[Post], tally: Tally) -> None:
        """Timelines are forgotten before and after, as everywhere: a rebuild in flight is defeated."""
        touched = await self._touched.of_authors({post.author_id for post in posts})
        await touched.invalidate()
        standing = await self._posts.write(posts)
        await self._posts.place(standing)
        for some in batches((post.id for post in standing), 1000):
            await self._public.add_many(some)
        await self._indexing.add_posts(standing)
        await touched.invalidate()
        tally.counts["posts"] += len(standing)
        tally.counts["deleted"] += len(posts) - len(standing)

    async def _threaded(self, posts: Sequence[Post]) -> list[Post]:
        """The same, each with the author it answers and the first post of its thread."""
        here = {post.id for post in posts}
        before = {post.in_reply_to for post in posts if post.in_reply_to is not None} - here
        return threaded(posts, await self._standing.find_many(sorted(before)))

    @staticmethod
    def _once_each(rows: list[PostRow], tally: Tally) -> list[PostRow]:
        """Rows of different sources; of one that comes twice the first counts."""
        first: dict[str, PostRow] = {}
        for row in rows:
            if first.setdefault(row.source_id, row) is not row:
                tally.refuse(row.number, "repeated_id")
        return list(first.values())

    @staticmethod
    def _post(row: PostRow, sources: dict[str, Source], owners: dict[str, AccountId], tally: Tally) -> Post:
        parent: PostId | None = None
        if row.reply_to is not None:
            source = sources.get(row.reply_to)
            parent = source.post_id if source is not None and row.reply_to != row.source_id else None
            tally.counts["parent_missing" if parent is None else "replies"] += 1
        return Post(sources[row.source_id].post_id, owners[row.handle], row.text, parent)
