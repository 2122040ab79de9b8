"""Imports the likes, bookmarks and boosts of an archive of this site, if the person sees the post.

A boost becomes a bookmark, because a boost is delivered to followers. No account is notified.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId
from socialsite.service import Part
from timelines.exporting.repository import BOOKMARK, LIKE, RecordImported
from timelines.importing.account_archive import MarkedPost
from timelines.importing.lines import Tally
from timelines.importing.posts import StoreProgress
from timelines.importing.rows import parse_post_url
from timelines.pages.page import HydratedPost
from timelines.reactions.bookmarks import Bookmarks
from timelines.reactions.repository import PostGone, ReactionKind, Reactions
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

POSTS_PER_READ, WRITES_AT_ONCE = 100, 10


class ReactionsImport(Part):
    """Counts new `likes` and `bookmarks`, and `standing`, which the account has already."""

    pipeline: ReadPipeline
    reactions: Reactions
    bookmarks: Bookmarks

    async def run(
        self, account_id: AccountId, marked: Iterable[MarkedPost], base_url: str, tally: Tally, at_ms: int,
        *, dry_run: bool, offset: int, progress: StoreProgress, record: RecordImported,
    ) -> None:  # fmt: skip
        """Import the marked posts after the first `offset`. A repetition changes nothing.

        Posts without a time of their own were marked before `at_ms`, the first one last. Raises ArchiveUnreadable,
        StoreError.
        """
        number, all_batches = offset, batches(islice(marked, offset, None), POSTS_PER_READ)
        while batch := await asyncio.to_thread(next, all_batches, None):
            new = await self._find_new(account_id, batch, base_url, tally, number, at_ms)
            for kind, _, _ in new:
                tally.counts["likes" if kind == LIKE else "bookmarks"] += 1
            if not dry_run and new:
                await record([(kind, post_id) for kind, post_id, _ in new])
                for some in batches(new, WRITES_AT_ONCE):
                    await run_together(*(self._add(account_id, *each) for each in some))
            number += len(batch)
            await progress(number)

    async def _find_new(
        self, account_id: AccountId, batch: Sequence[MarkedPost], base_url: str, tally: Tally, number: int,
        at_ms: int,
    ) -> list[tuple[str, PostId, int]]:  # fmt: skip
        """Return the kind, post and time of the marks that the account lacks. Posts that it cannot see are refused."""
        ids = [parse_post_url(each.url, base_url) for each in batch]
        read = await self.pipeline.read_posts(
            list(dict.fromkeys(id for id in ids if id)), ViewerContext(account_id, ViewContext.POST)
        )
        visible = {entry.post.id: entry.shown for entry in read}
        new: dict[tuple[str, PostId], int] = {}
        for place, (each, post_id) in enumerate(zip(batch, ids, strict=True), number + 1):
            if (shown := visible.get(post_id)) is None:
                tally.refuse(place, "post_missing")
            elif _is_marked(shown, each.kind) or (each.kind, shown.post.id) in new:
                tally.counts["standing"] += 1
            else:
                new[each.kind, shown.post.id] = min(each.at_ms or at_ms - place, at_ms)
        return [(*mark, marked_ms) for mark, marked_ms in new.items()]

    async def _add(self, account_id: AccountId, kind: str, post_id: PostId, at_ms: int) -> None:
        if kind == BOOKMARK:
            await self.bookmarks.add(account_id, post_id, at_ms)
            return
        with suppress(PostGone):  # deleted meanwhile
            await self.reactions.add(ReactionKind.LIKE, post_id, account_id, at_ms)
            await self.reactions.sync_index(ReactionKind.LIKE, post_id, account_id)

    async def remove(self, account_id: AccountId, kind: str, post_id: PostId) -> None:
        if kind == BOOKMARK:
            await self.bookmarks.remove(account_id, post_id)
        else:
            await self.reactions.remove(ReactionKind.LIKE, post_id, account_id)
            await self.reactions.sync_index(ReactionKind.LIKE, post_id, account_id)


def _is_marked(entry: HydratedPost, kind: str) -> bool:
    viewer = entry.viewer
    return viewer is not None and (viewer.liked if kind == LIKE else viewer.bookmarked)
