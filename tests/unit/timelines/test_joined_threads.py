"""Threads of one author are joined on pages. Joining changes neither ids, order nor cursors of a page."""

import random
import re
from itertools import pairwise

import pytest

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from tests.support.random_tests import mostly_nightly
from timelines.pages.joined_threads import join_threads
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import entries_html
from timelines.posts.post import Post, PostCounts

ALICE, BOB = (Author(AccountId(number), handle, "", "active", 1) for number, handle in ((1, "alice"), (2, "bob")))


def entry(post_id: int, author: Author, parent: int | None = None, boost_of: int | None = None) -> HydratedPost:
    answered, original = (PostId(id) if id else None for id in (parent, boost_of))
    post = Post(PostId(post_id), author.id, "" if boost_of else f"post {post_id}", answered, boost_of=original)
    shown = entry(boost_of, BOB) if boost_of else None
    return HydratedPost(post, author, PostCounts(), None, shown)


def joined_html(entries: list[HydratedPost]) -> str:
    return b"".join(join_threads(entries, entries_html(entries))).decode()


def shown(entries: list[HydratedPost]) -> list[list[int]]:
    """Return the ids of each top item of the page, in the order in which they are read."""
    depth, items = 0, list[list[int]]()
    for tag in re.findall(r"<li\b|</li>|<article [^>]*?data-post-id=\"\d+", joined_html(entries)):
        if tag == "<li":
            items += [[]] if depth == 0 else []
            depth += 1
        elif tag == "</li>":
            depth -= 1
        else:
            items[-1].append(int(tag.rsplit('"', 1)[1]))
    assert depth == 0
    return items


def test_a_thread_of_one_author_is_one_item_in_reading_order() -> None:
    thread = [entry(30 + number, ALICE, 29 + number) for number in range(1, 5)]
    page = [entry(40, BOB), *thread[::-1], entry(30, ALICE), entry(20, BOB)]
    assert shown(page) == [[40], [30, 31, 32, 33, 34], [20]]
    assert "<details><summary>… 3 more posts</summary>" in joined_html(page)
    assert "… 1 more post<" in joined_html(page[1:4])
    assert '<li class="joined-more" hidden>' in joined_html(page[1:3])


def test_a_part_of_a_thread_is_joined_without_its_first_post_and_a_branch_is_not() -> None:
    assert shown([entry(35, ALICE, 34), entry(34, ALICE, 33)]) == [[34, 35]]
    branch = [entry(33, ALICE, 30), entry(32, ALICE, 31), entry(31, ALICE, 30), entry(30, ALICE)]
    assert shown(branch) == [[33], [30, 31, 32]]
    between = [entry(33, ALICE, 31), entry(32, BOB, boost_of=31), entry(31, ALICE, 30), entry(30, ALICE)]
    assert shown(between) == [[33], [32], [30, 31]]


@pytest.mark.parametrize(
    "newer",
    [
        entry(31, BOB, 30),  # another author answers
        entry(31, ALICE, 20),  # the parent is not the entry before it
        entry(31, ALICE),  # no reply
        entry(31, ALICE, boost_of=30),
    ],
)
def test_neighbours_that_form_no_thread_stay_separate_entries(newer: HydratedPost) -> None:
    assert shown([newer, entry(30, ALICE)]) == [[31], [30]]


def test_a_page_without_joined_threads_has_exactly_the_items_of_its_entries() -> None:
    page = [entry(3, ALICE), entry(2, BOB, 1), entry(1, ALICE)]
    items = entries_html(page)
    assert join_threads(page, items) == items


@pytest.mark.parametrize("seed", mostly_nightly(range(30), 5))
def test_joining_keeps_ids_order_and_the_bytes_of_every_entry(seed: int) -> None:
    """Read from below, the top items have the ids of the page in ascending order, each once."""
    chance = random.Random(seed)
    page, older = list[HydratedPost](), [0]
    for post_id in range(1, 40):
        parent = chance.choice([None, older[-1] or None, older[-1] or None, chance.choice(older) or None])
        boosted = chance.choice(older) if parent is None and chance.random() < 0.3 else 0
        page.insert(0, entry(post_id, chance.choice((ALICE, ALICE, BOB)), parent, boosted or None))
        older.append(post_id)
    items, parts = entries_html(page), join_threads(page, entries_html(page))
    assert [id for item in shown(page)[::-1] for id in item] == list(range(1, 40))
    assert set(items) <= set(parts), "entries come from the cache as they are"
    authors = {each.post.id: each.post.author_id for each in page}
    parents = {each.post.id: each.post.in_reply_to for each in page}
    for item in shown(page):
        assert all(parents[id] == before for before, id in pairwise(item))
        assert len({authors[PostId(id)] for id in item}) == 1
