"""The counts of replies, boosts and likes of a post. Scripts update them with every change of the three sets."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from socialsite.ids import PostId
from socialsite.store import Command, Key, PreparedCommand, Read, load_script, prepare_command
from socialsite.store.key import KEY_CACHE_SIZE
from timelines import keys
from timelines.posts.post import PostCounts

JOIN_SET = load_script("join_set.lua", __package__)
LEAVE_SET = load_script("leave_set.lua", __package__)
ZERO_COUNTS = PostCounts()


def count_script_keys(post_id: PostId, build_set_key: Callable[[int], Key]) -> list[Key]:
    """Return the keys of join_set.lua and leave_set.lua: the changed set, the counts, and the three counted sets."""
    sets = keys.replies(post_id), keys.boosts(post_id), keys.likes(post_id)
    return [build_set_key(post_id), keys.post_counts(post_id), *sets]


def add_member_command(
    build_set_key: Callable[[int], Key], post_id: PostId, member: int, score: int, *, if_post_exists: bool = False
) -> Command:
    """Return the command that adds a member to the replies, boosts or likes of a post.

    If `if_post_exists` is set, the script adds the member only if the post exists.
    """
    touched = count_script_keys(post_id, build_set_key)
    return JOIN_SET.command([*touched, keys.post(post_id)] if if_post_exists else touched, [member, score])


@lru_cache(maxsize=2_048)
def parse_counts(reply: bytes | None) -> PostCounts:
    """Parse a stored value. None means that all counts are zero."""
    return ZERO_COUNTS if reply is None else PostCounts(*map(int, reply.split()))


def read_counts(post_ids: Sequence[PostId]) -> Read[dict[PostId, PostCounts]]:
    return Read(
        list(map(_counts_command, post_ids)),
        lambda replies: dict(zip(post_ids, map(parse_counts, replies), strict=True)),
        wrong_type_reply=None,
    )


@lru_cache(maxsize=KEY_CACHE_SIZE)
def _counts_command(post_id: PostId) -> PreparedCommand:
    return prepare_command("GET", keys.post_counts(post_id))
