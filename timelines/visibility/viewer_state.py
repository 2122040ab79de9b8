"""Reads the relations of a viewer to the posts and authors of a page with one script.

The script returns only the posts and authors to which the viewer has a relation.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from socialsite.ids import AccountId, PostId
from socialsite.store import Key, Read, Reply, load_script
from socialsite.store.key import READER_CACHE_SIZE
from timelines import keys
from timelines.ids import ListId
from timelines.visibility.filter import decode_filter
from timelines.visibility.rights import ViewerRelations

READER_STATE = load_script("reader_state.lua", __package__)
RELATIONSHIP_KEY_BUILDERS: tuple[Callable[[int], Key], ...] = (
    keys.liked_posts, keys.boosted_posts, keys.bookmarks, keys.blocks, keys.blocked_by, keys.mutes, keys.boosts_hidden,
    keys.exclusive_lists, keys.keyword_filters, keys.muted_threads,
)  # fmt: skip
NO_HITS: list[list[bytes]] = [[]] * 10
MAX_POSTS, MAX_AUTHORS = 600, 1_000  # Lua cannot unpack more arguments in one call


def read_viewer_relations(
    viewer_id: AccountId, post_ids: Collection[PostId], author_ids: Collection[AccountId], now_ms: int
) -> Read[ViewerRelations]:
    """Read the relations of the viewer to at most MAX_POSTS posts and MAX_AUTHORS authors."""
    arguments = [len(post_ids), now_ms, *post_ids, *author_ids]
    command = READER_STATE.command(_keys_of_viewer(viewer_id), arguments)

    def parse(replies: Sequence[Reply]) -> ViewerRelations:
        (hits,) = replies
        return ViewerRelations(viewer_id, now_ms) if hits == NO_HITS else _parse_hits(viewer_id, now_ms, hits)

    return Read([command], parse)


def _parse_hits(viewer_id: AccountId, now_ms: int, hits: list[list[bytes]]) -> ViewerRelations:
    liked, boosted, bookmarked = (frozenset(PostId(int(id)) for id in found) for found in hits[:3])
    blocks, blocked_by, muted, quieted = (frozenset(AccountId(int(id)) for id in found) for found in hits[3:7])
    return ViewerRelations(
        viewer_id,
        now_ms,
        liked=liked,
        boosted=boosted,
        bookmarked=bookmarked,
        blocks=blocks,
        blocked_by=blocked_by,
        muted=muted,
        boosts_hidden=quieted,
        exclusive_list_ids=tuple(sorted(ListId(int(id)) for id in hits[7])),
        filters=tuple(sorted((decode_filter(value) for value in hits[8]), key=lambda each: each.id)),
        muted_threads=frozenset(PostId(int(id)) for id in hits[9]),
    )


@lru_cache(maxsize=READER_CACHE_SIZE)
def _keys_of_viewer(viewer_id: AccountId) -> tuple[Key, ...]:
    return tuple(build(viewer_id) for build in RELATIONSHIP_KEY_BUILDERS)
