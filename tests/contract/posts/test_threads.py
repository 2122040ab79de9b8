"""Pages of a thread contain the complete conversation in order, also with deleted and hidden posts."""

import asyncio
import random
from collections.abc import Iterable

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.posts.counts import add_member_command
from timelines.posts.post import Post
from timelines.threads.thread import MAX_ANCESTORS, MAX_DEPTH, ThreadEntry

Shown = tuple[PostId, int, bool]
"""Id, depth, and whether the post is visible."""


def shown(entries: Iterable[ThreadEntry]) -> list[Shown]:
    return [(each.id, each.depth, each.entry is not None) for each in entries]


async def whole(services: Services, post: Post, viewer: Person | None = None, limit: int = 3) -> list[Shown]:
    read: list[Shown] = []
    after = 0
    while True:
        page = await services.threads.load_page(post, viewer_id=viewer.id if viewer else None, after=after, limit=limit)
        assert len(page.replies) <= limit
        read += shown(page.replies)
        if page.next_after is None:
            return read
        assert len(page.replies) == limit, "a page is full unless the thread ends"
        after = page.next_after


class Model:
    """The expected thread: its posts and the hidden posts."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.hidden: set[PostId] = set()

    def below(self, post_id: PostId, depth: int = 1) -> list[Shown]:
        entries: list[Shown] = []
        for post in self.posts:
            if post.in_reply_to != post_id:
                continue
            under = self.below(post.id, depth + 1)
            if post.id not in self.hidden or under:
                entries += [(post.id, depth, post.id not in self.hidden), *under]
        return entries


@pytest.mark.parametrize("seed", range(12))
async def test_joined_pages_equal_the_visible_tree(world: World, services: Services, seed: int) -> None:
    chance = random.Random(seed)
    people = await world.people("alice", "bob", "carol")
    model = Model()
    first = await people[0].publishes("first")
    model.posts.append(first)
    for number in range(40):
        recent = model.posts[-3:] if chance.random() < seed / 12 else model.posts
        parent = chance.choice([post for post in recent if post.id not in model.hidden] or [first])
        post = await chance.choice(people).publishes(f"{number}", in_reply_to=parent)
        model.posts.append(post)
        if chance.random() < 0.25:
            gone = chance.choice([each for each in model.posts[1:] if each.id not in model.hidden])
            await owner_of(people, gone).deletes(gone)
            model.hidden.add(gone.id)
    assert await whole(services, first, limit=1 + seed % 7) == model.below(first.id)
    subthread = chance.choice([post for post in model.posts if post.id not in model.hidden])
    assert await whole(services, subthread) == model.below(subthread.id)
    blocked = people[2]
    await services.store.execute_all([("ZADD", keys.blocks(people[1].id), 1, blocked.id)])
    model.hidden |= {post.id for post in model.posts if post.author_id == blocked.id}
    assert await whole(services, first, people[1]) == model.below(first.id)


def owner_of(people: Iterable[Person], post: Post) -> Person:
    return next(person for person in people if person.id == post.author_id)


async def chain_of(world: World, person: Person, length: int, parent: Post | None = None) -> list[Post]:
    chain: list[Post] = []
    for number in range(length):
        parent = await person.publishes(f"link {number}", in_reply_to=parent)
        chain.append(parent)
    return chain


async def test_ancestors_begin_with_the_first_post_or_a_link_to_it(world: World, services: Services) -> None:
    alice = await world.person("alice")
    chain = await chain_of(world, alice, MAX_ANCESTORS + 3)
    page = await services.threads.load_page(chain[MAX_ANCESTORS], viewer_id=None)
    assert [each.id for each in page.ancestors] == [post.id for post in chain[:MAX_ANCESTORS]]
    assert page.earlier_ancestor is None
    page = await services.threads.load_page(chain[-1], viewer_id=None)
    assert [each.id for each in page.ancestors] == [post.id for post in chain[2:-1]]
    assert page.earlier_ancestor is not None
    assert page.earlier_ancestor.post.id == chain[2].id
    assert page.parent is not None
    assert page.parent.post.id == chain[-2].id


async def test_ancestors_include_a_deleted_post(world: World, alice: Person, services: Services) -> None:
    chain = await chain_of(world, alice, 4)
    await alice.deletes(chain[1])
    page = await services.threads.load_page(chain[3], viewer_id=None)
    assert [(each.id, each.entry is not None) for each in page.ancestors] == [
        (chain[0].id, True), (chain[1].id, False), (chain[2].id, True)
    ]  # fmt: skip
    assert await whole(services, chain[0]) == [
        (chain[1].id, 1, False), (chain[2].id, 2, True), (chain[3].id, 3, True)
    ]  # fmt: skip
    await alice.deletes(chain[3])
    await alice.deletes(chain[2])
    assert await whole(services, chain[0]) == []


async def test_a_tombstone_of_an_earlier_release_is_followed_by_the_first_post(
    world: World, alice: Person, services: Services
) -> None:
    chain = await chain_of(world, alice, 4)
    await services.store.execute_all([("SET", keys.post(chain[2].id), f"deleted:{alice.id}")])
    page = await services.threads.load_page(chain[3], viewer_id=None)
    assert [each.id for each in page.ancestors] == [chain[0].id, chain[2].id]


async def test_a_cursor_of_a_deleted_reply_is_valid(alice: Person, services: Services) -> None:
    first = await alice.publishes("first")
    replies = [await alice.publishes(f"{n}", in_reply_to=first) for n in range(3)]
    below = await alice.publishes("below", in_reply_to=replies[1])
    page = await services.threads.load_page(first, viewer_id=None, limit=2)
    assert page.next_after == replies[1].id
    await alice.deletes(replies[1])
    page = await services.threads.load_page(first, viewer_id=None, after=page.next_after)
    assert shown(page.replies) == [(below.id, 2, True), (replies[2].id, 1, True)]


async def test_a_cursor_of_another_thread_counts_among_the_direct_replies(alice: Person, services: Services) -> None:
    first, other = await alice.publishes("first"), await alice.publishes("other")
    replies = [await alice.publishes(f"{n}", in_reply_to=first) for n in range(2)]
    page = await services.threads.load_page(first, viewer_id=None, after=other.id)
    assert [each.id for each in page.replies] == [post.id for post in replies]
    page = await services.threads.load_page(first, viewer_id=None, after=replies[1].id - 1)
    assert [each.id for each in page.replies] == [replies[1].id]


async def test_a_reply_written_during_the_deletion_of_its_parent_is_found(alice: Person, services: Services) -> None:
    first = await alice.publishes("first")
    parent = await alice.publishes("parent", in_reply_to=first)
    draft = await alice.publishes("elsewhere")
    await alice.deletes(parent)
    child = Post(draft.id, alice.id, "child", parent.id, reply_to_author_id=alice.id, root_id=first.id)
    await services.repositories.posts.delete(PostId(1), alice.id)
    await services.repositories.threads.add_reply(parent.id, child.id)
    assert [id for id, _, _ in await whole(services, first)] == [parent.id, draft.id]


async def test_concurrent_deletions_and_replies_lose_no_reply(alice: Person, bob: Person, services: Services) -> None:
    for _ in range(15):
        first = await alice.publishes("first")
        parent = await alice.publishes("parent", in_reply_to=first)
        reply, _ = await asyncio.gather(
            bob.publishes("reply", in_reply_to=parent), alice.deletes(parent), return_exceptions=True
        )
        if isinstance(reply, Post):
            assert await whole(services, first) == [(parent.id, 1, False), (reply.id, 2, True)]


async def test_wide_and_deep_threads_are_read_in_bounded_pages(
    alice: Person, services: Services, deployment: Deployment
) -> None:
    first = await alice.publishes("first")
    wide = [PostId(first.id + 4096 * n) for n in range(1, 3_001)]
    await store_replies(services, alice.id, [(id, first.id) for id in wide])
    page = await services.threads.load_page(first, viewer_id=None, after=wide[1_000])
    assert [each.id for each in page.replies] == wide[1_001:1_031]
    top = await alice.publishes("top")
    deep = [PostId(top.id + (1 << 33) + n) for n in range(1_000)]
    await store_replies(services, alice.id, list(zip(deep, [top.id, *deep], strict=False)))
    read = await whole(services, top, limit=100)
    assert [id for id, _, _ in read] == deep[:MAX_DEPTH]
    page = await services.threads.load_page(top, viewer_id=None, after=deep[MAX_DEPTH - 2])
    assert page.replies[-1].continues
    last = await services.reading.post(deep[MAX_DEPTH - 1], viewer_id=None)
    page = await services.threads.load_page(last.post, viewer_id=None, limit=100)
    assert [each.id for each in page.replies] == deep[MAX_DEPTH : MAX_DEPTH + 100]


async def store_replies(services: Services, author: AccountId, links: list[tuple[PostId, PostId]]) -> None:
    """Store replies directly, which is faster than publishing them."""
    posts = [Post(id, author, "words", parent, reply_to_author_id=author) for id, parent in links]
    at = services.repositories.posts
    for start in range(0, len(posts), 500):
        batch = posts[start : start + 500]
        await asyncio.gather(*(at.write(post) for post in batch))
        joins = [add_member_command(keys.replies, post.in_reply_to or 0, post.id, post.id) for post in batch]
        await services.store.execute_all(joins)
