"""The keys that a post shares with others, and how a server tells by how many posts such a key is shared."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from socialsite.ids import PostId
from socialsite.store import Command, Key, Reply
from timelines import keys
from timelines.author_feeds.hashtag_timelines import hashtag_key
from timelines.posts.post import Post
from timelines.search.repository import ID_BYTES, partition_of_post, post_digests, term_keys
from timelines.text.linkify import find_hashtags

SIMILAR_KEYS_SAMPLED = 4
"""Hashtags, and terms, that are asked about of each post; they speak for the others of it."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedKey:
    """`shared_by` reads the answers: the number of posts there, 0 where this post is not among them.

    `speaks_for`: as many such places of the post, itself among them.
    """

    key: Key
    commands: tuple[Command, Command]
    count_posts: Callable[[Sequence[Reply]], float]
    weight: float = 1.0


def list_shared_keys(post: Post, profiles: keys.AuthorFeedKeys) -> Iterator[SharedKey]:
    """Whether or not it still stands there: caps may have dropped it."""
    yield _timeline_key(profiles.of_post(post.author_id, post.id), post.id)
    if post.in_reply_to is not None:
        yield _timeline_key(keys.replies(post.in_reply_to), post.id)
    if post.is_discoverable:
        tags, speak_for = _sample_with_weight(list(dict.fromkeys(find_hashtags(post.text))))
        yield from (_timeline_key(hashtag_key(tag), post.id, speak_for) for tag in tags)
        terms, speak_for = _sample_with_weight(post_digests(post))
        for term in terms:
            many, few = term_keys(partition_of_post(post.id), [term])
            yield _postings_key(many, post.id, speak_for)
            yield _rare_postings_key(few, term, speak_for)


def _sample_with_weight(all_alike: Sequence[T]) -> tuple[Sequence[T], float]:
    if len(all_alike) <= SIMILAR_KEYS_SAMPLED:
        return all_alike, 1.0
    return random.sample(all_alike, SIMILAR_KEYS_SAMPLED), len(all_alike) / SIMILAR_KEYS_SAMPLED


def _timeline_key(key: Key, post_id: PostId, speaks_for: float = 1.0) -> SharedKey:
    def shared_by(replies: Sequence[Reply]) -> float:
        score, size = replies
        return 0 if score is None else int(size)

    return SharedKey(key, (("ZSCORE", key, post_id), ("ZCARD", key)), shared_by, speaks_for)


def _postings_key(key: Key, post_id: PostId, speaks_for: float) -> SharedKey:
    """Of a term with many posts: a floor, and the ids above it."""

    def shared_by(replies: Sequence[Reply]) -> float:
        floor, size = replies
        return int(size) / ID_BYTES - 1 if floor and int.from_bytes(floor, "big") < post_id else 0

    return SharedKey(key, (("GETRANGE", key, 0, ID_BYTES - 1), ("STRLEN", key)), shared_by, speaks_for)


def _rare_postings_key(key: Key, term: bytes, speaks_for: float) -> SharedKey:
    """Of terms with few posts, many in one hash: each has a part of it, and its posts parts of that."""

    def shared_by(replies: Sequence[Reply]) -> float:
        size, terms = replies
        return int(size) / ID_BYTES * int(terms)

    return SharedKey(key, (("HSTRLEN", key, term), ("HLEN", key)), shared_by, speaks_for)
