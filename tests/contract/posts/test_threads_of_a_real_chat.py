"""Threads of the Ubuntu channel (50,264 reply links), imported and read completely."""

import re
from collections import defaultdict
from typing import Any

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.corpora import corpus_path, read_posts
from tests.support.imports import NOW_MS, import_posts
from timelines.importing.repository import ImportedPosts
from timelines.importing.rows import RowRules
from timelines.posts.post import Post

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

LINKS = 50_264
LONG = RowRules(max_graphemes=2_000, latest_ms=NOW_MS)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Four rows contain such a character; three of these rows are replies, and three rows reply to them."""


class Talk:
    """The rows of the file as trees of source ids."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.answers: dict[str, list[str]] = defaultdict(list)
        self.links = 0
        row_ids = {row["id"] for row in rows}
        for row in rows:
            if row.get("in_reply_to") in row_ids:
                self.answers[row["in_reply_to"]].append(row["id"])
                self.links += 1
        self.first = [row["id"] for row in rows if row.get("in_reply_to") not in row_ids]

    def preorder(self, source: str, order: dict[str, PostId], depth: int = 1) -> list[tuple[PostId, int]]:
        replies: list[tuple[PostId, int]] = []
        for answer in sorted(self.answers.get(source, ()), key=order.__getitem__):
            replies += [(order[answer], depth), *self.preorder(answer, order, depth + 1)]
        return replies

    def depth(self, source: str) -> int:
        return 1 + max(map(self.depth, self.answers.get(source, ())), default=0)

    def size(self, source: str) -> int:
        return 1 + sum(map(self.size, self.answers.get(source, ())))


async def test_the_deepest_the_widest_and_the_longest_thread_are_read_completely(services: Services) -> None:
    rows = list(read_posts("ubuntu-irc"))
    tally = await import_posts(services, corpus_path("posts/ubuntu-irc.jsonl.gz"), LONG)
    assert Talk(rows).links == LINKS
    assert tally.refused == {"text_control": 4}
    talk = Talk([row for row in rows if not CONTROL.search(row["text"])])
    assert tally.counts["replies"] == talk.links == LINKS - 6
    widest = max(talk.answers, key=lambda source: len(talk.answers[source]))
    for source in (max(talk.first, key=talk.depth), widest, max(talk.first, key=talk.size)):
        await same_thread(services, talk, source)


async def same_thread(services: Services, talk: Talk, source: str) -> None:
    at = services.repositories
    imported = ImportedPosts(services.store, profile_cap=services.config.profile_cap)
    below = [source]
    for each in below:
        below += talk.answers.get(each, ())
    order = {name: found.post_id for name, found in (await imported.sources(below)).items()}
    post = await at.posts.find(order[source])
    assert post is not None
    read: list[tuple[PostId, int]] = []
    after: PostId | None = PostId(0)
    while after is not None:
        page = await services.threads.load_page(post, viewer_id=None, after=after)
        read += [(each.id, each.depth) for each in page.replies]
        after = page.next_after
    assert read == talk.preorder(source, order)
    standing = await at.posts.find_many([post_id for post_id, _ in read])
    await same_links(standing, post)


async def same_links(standing: dict[PostId, Post], first: Post) -> None:
    """Check that every reply names its parent's author and the first post of its thread."""
    author_ids: dict[PostId, AccountId] = {id: post.author_id for id, post in standing.items()}
    author_ids[first.id] = first.author_id
    for post in standing.values():
        assert post.in_reply_to is not None
        assert post.reply_to_author_id == author_ids[post.in_reply_to]
        assert post.root_id == (first.root_id or first.id)
