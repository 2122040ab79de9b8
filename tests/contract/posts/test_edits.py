"""Edits: every page shows the newest version, everything that is derived follows, and the former versions are kept."""

import asyncio

import msgspec
import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import EditConflict, EditsCapReached, PostInvalid, PostNotFound
from timelines.jobs import EditPost, decode_job, encode_job
from timelines.posts.post import FOLLOWERS, Poll, Post, PostDetails, decode_post, encode_post
from timelines.posts.repository import PostRepository
from timelines.publishing import edits
from timelines.publishing.edits import next_version
from timelines.publishing.forms import EditForm
from timelines.publishing.poll_form import PollForm
from timelines.search.query import parse_query
from timelines.search.repository import SearchTerms, partition_of_post


@pytest.fixture
async def alice(world: World) -> Person:
    return await world.person("alice")


async def texts(world: World, post: Post, viewer: Person | None = None) -> list[str]:
    """Return the texts that home, profile, post page and a warm second process show."""
    services, me = world.services, None if viewer is None else viewer.id
    pages = [await services.reading.profile(post.author_id, viewer_id=me)]
    if viewer is not None:
        pages.append(await services.reading.home(viewer.id))
    entries = [entry.shown for page in pages for entry in page.entries if entry.shown.post.id == post.id]
    return [each.post.text for each in (*entries, await services.reading.post(post.id, viewer_id=me))]


async def tagged(world: World, tag: str) -> list[PostId]:
    page = await world.services.reading.tag(tag, viewer_id=None)
    return [entry.post.id for entry in page.entries]


async def matches(world: World, words: str) -> list[PostId]:
    page = await world.services.search.search_posts(parse_query(words), viewer_id=None)
    return [entry.post.id for entry in page.entries]


async def test_an_acknowledged_edit_is_on_every_page_of_every_process(world: World, bob: Person, alice: Person) -> None:
    await bob.follows(alice)
    post = await alice.publishes("one teh")
    await world.deliver_all()
    other = World(Services(world.services.store, world.services.clock, world.services.config))
    for process in (world, other):  # both processes cache the post
        assert set(await texts(process, post, bob)) == {"one teh"}
    await alice.edits(post, "one the")
    for process in (world, other, world):
        assert set(await texts(process, post, bob)) == {"one the"}
    await alice.edits(post, "one the, again")
    assert set(await texts(other, post, bob)) == {"one the, again"}


async def test_a_boost_shows_the_new_version(world: World, bob: Person, alice: Person) -> None:
    post = await alice.publishes("before")
    await world.services.reactions.boost(account_id=bob.id, post_id=post.id, now_ms=world.services.clock.now_ms())
    assert [entry.shown.post.text for entry in (await bob.home()).entries] == ["before"]
    await alice.edits(post, "after")
    (entry,) = (await bob.home()).entries
    assert (entry.shown.post.text, entry.counts.boosts) == ("after", 1)


async def test_the_versions_are_kept_in_order_and_end_with_the_post(world: World, alice: Person) -> None:
    post = await alice.publishes("first")
    await alice.edits(post, "second", details=PostDetails(spoiler_text="warning"))
    newest = await alice.edits(post, "third")
    versions = await world.services.edits.versions(post.id)
    assert [(each.text, each.extra.spoiler_text, each.extra.version) for each in versions] == [
        ("first", "", 0), ("second", "warning", 1), ("third", "", 2),
    ]  # fmt: skip
    assert versions[-1] == newest
    assert post.created_ms <= (newest.extra.edited_ms or 0) <= world.services.clock.now_ms()
    assert (newest.id, newest.author_id, newest.audience) == (post.id, post.author_id, post.audience)


async def test_a_repeated_edit_adds_no_version(world: World, alice: Person) -> None:
    post = await alice.publishes("first")
    once = await alice.edits(post, "second")
    assert await alice.edits(post, "second") == once
    assert len(await world.services.edits.versions(post.id)) == 2
    unchanged = await alice.publishes("same")
    assert await alice.edits(unchanged, " same ") == unchanged


async def test_only_the_author_edits_and_never_a_boost(world: World, bob: Person, alice: Person) -> None:
    post = await alice.publishes("mine")
    with pytest.raises(PostNotFound):
        await bob.edits(post, "yours")
    await world.services.reactions.boost(account_id=bob.id, post_id=post.id, now_ms=world.services.clock.now_ms())
    (boost,) = (await world.services.reading.profile(bob.id, viewer_id=None)).entries
    with pytest.raises(PostNotFound):
        await bob.edits(boost.post, "yours")
    await alice.deletes(post)
    with pytest.raises(PostNotFound):
        await alice.edits(post, "again")
    assert await world.services.store.execute_all([("EXISTS", keys.post_versions(post.id))]) == [0]


async def test_a_reply_is_not_edited_after_the_parents_author_blocks_its_author(bob: Person, alice: Person) -> None:
    parent = await alice.publishes("hello")
    reply = await bob.publishes("hi", in_reply_to=parent)
    await bob.edits(reply, "hi alice")
    await alice.blocks(bob)
    with pytest.raises(PostInvalid):
        await bob.edits(reply, "insult")
    await alice.unblocks(bob)
    await alice.deletes(parent)
    assert (await bob.edits(reply, "the parent is deleted")).text == "the parent is deleted"


async def test_hashtags_and_search_follow_the_newest_version(world: World, alice: Person) -> None:
    post = await alice.publishes("old #tea and #cake")
    await world.deliver_all()
    await alice.edits(post, "new #tea and #pie")
    assert [await tagged(world, tag) for tag in ("tea", "cake", "pie")] == [[post.id], [], [post.id]]
    await world.deliver_all()
    assert [await tagged(world, tag) for tag in ("tea", "cake", "pie")] == [[post.id], [], [post.id]]
    assert [await matches(world, word) for word in ("old", "new", "cake", "#pie")] == [[], [post.id], [], [post.id]]
    assert not await posting_exists(world, "cake", post)
    assert await posting_exists(world, "pie", post)
    await alice.deletes(post)
    assert not await posting_exists(world, "pie", post)
    assert await tagged(world, "pie") == []


async def posting_exists(world: World, word: str, post: Post) -> bool:
    """Return whether the search index itself has the post under a word."""
    number = partition_of_post(post.id)
    index = world.services.search_indexer.index
    (result,) = await index.find(SearchTerms((word,), None, 0), [(number, post.id)], 10)
    return post.id in result.ids


async def test_a_late_job_of_the_publication_does_not_bring_back_old_hashtags(world: World, alice: Person) -> None:
    post = await alice.publishes("first #cake")
    jobs = await world.services.outbox.fetch("abad1dea", 10, 1)
    await alice.edits(post, "second #pie")
    for job in jobs:
        await world.services.fan_out.handle(job.payload)
    assert [await tagged(world, tag) for tag in ("cake", "pie")] == [[], [post.id]]
    assert not await posting_exists(world, "first", post)


async def test_an_edit_during_the_job_of_the_publication_leaves_no_old_hashtag(world: World, alice: Person) -> None:
    """The edit happens at any turn of the loop between the commands of the job."""
    for turns in range(0, 60, 4):
        post = await alice.publishes(f"first{turns} #cake")
        (job,) = await world.services.outbox.fetch("abad1dea", 10, 1)
        working = asyncio.ensure_future(world.services.fan_out.handle(job.payload))
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.gather(working, alice.edits(post, f"second{turns} #pie"))
        assert post.id not in await tagged(world, "cake")
        assert not await posting_exists(world, f"first{turns}", post)
        assert post.id in await tagged(world, "pie")
        await world.deliver_all()


async def test_newly_mentioned_accounts_are_notified_once_and_the_others_not_again(world: World, alice: Person) -> None:
    bob, carol, dave = await world.people("bob", "carol", "dave")
    post = await alice.publishes("@bob")
    await world.deliver_all()
    await alice.edits(post, "@bob @carol")
    await alice.edits(post, "@bob @carol @dave")
    await world.deliver_all()
    await alice.edits(post, "@dave")
    await alice.edits(post, "@bob @dave")
    await world.deliver_all()
    for reader in (bob, carol, dave):
        page = await world.services.notifications.page(reader.id)
        assert [(each.kind.name, each.entry and each.entry.post.text) for each in page.entries] == [
            ("mention", "@bob @dave")
        ]


async def test_a_removed_mention_sends_no_notification(world: World, bob: Person, alice: Person) -> None:
    post = await alice.publishes("hello")
    await alice.edits(post, "hello @bob")
    await alice.edits(post, "hello")
    await world.deliver_all()
    assert (await world.services.notifications.page(bob.id)).entries == ()


async def test_a_worker_finishes_an_edit_whose_web_process_died(world: World, alice: Person) -> None:
    """The job has the whole version: it is enough that the job was stored."""
    post = await alice.publishes("first #cake")
    await world.deliver_all()
    edited = next_version(post, "second #pie", None, world.services.clock.now_ms())
    assert edited is not None
    job = encode_job(EditPost(msgspec.Raw(encode_post(post)), msgspec.Raw(encode_post(edited))))
    await world.services.outbox.add(job, sender=alice.id)
    await world.deliver_all()
    for _ in range(2):  # a repetition changes nothing
        assert await texts(world, post) == ["second #pie"] * 2
        assert [await tagged(world, tag) for tag in ("cake", "pie")] == [[], [post.id]]
        assert len(await world.services.edits.versions(post.id)) == 2
        await world.services.fan_out.handle(job)
    await alice.edits(post, "third")
    await world.services.fan_out.handle(job)  # a late repetition restores no old version
    assert (await texts(world, post), await tagged(world, "pie")) == (["third"] * 2, [])


async def test_of_two_edits_of_one_version_the_second_does_not_overwrite_the_first(world: World, alice: Person) -> None:
    post = await alice.publishes("first")
    service, now_ms = world.services.edits, world.services.clock.now_ms()

    async def edit(text: str) -> Post:
        return await service.edit(
            EditForm(text, PostDetails(), version=0), account_id=alice.id, post_id=post.id, now_ms=now_ms
        )

    results = await asyncio.gather(edit("left"), edit("right"), return_exceptions=True)
    (winner,) = [each for each in results if isinstance(each, Post)]
    assert [type(each) for each in results if not isinstance(each, Post)] == [EditConflict]
    await world.deliver_all()
    assert [each.text for each in await service.versions(post.id)] == ["first", winner.text]


async def test_concurrent_edits_without_a_version_are_all_kept(world: World, alice: Person) -> None:
    post = await alice.publishes("0")
    await asyncio.gather(*(alice.edits(post, str(number)) for number in (1, 2, 3)))
    await world.deliver_all()
    versions = await world.services.edits.versions(post.id)
    assert sorted(each.text for each in versions) == ["0", "1", "2", "3"]
    assert [each.extra.version for each in versions] == [0, 1, 2, 3]


async def test_a_post_is_edited_only_as_often_as_the_cap_allows(
    world: World, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "VERSIONS_CAP", 2)
    post = await alice.publishes("0")
    for text in ("1", "2"):
        await alice.edits(post, text)
    with pytest.raises(EditsCapReached):
        await alice.edits(post, "3")
    assert (await alice.edits(post, "2")).text == "2"


async def test_an_edit_keeps_the_audience_of_a_post_for_followers(world: World, bob: Person, alice: Person) -> None:
    post = await alice.publishes("secret #tea", audience=FOLLOWERS)
    edited = await alice.edits(post, "still secret #tea #cake")
    await world.deliver_all()
    assert edited.audience == FOLLOWERS
    assert await tagged(world, "cake") == []
    with pytest.raises(PostNotFound):
        await world.services.reading.post(post.id, viewer_id=bob.id)


def test_a_poll_with_other_options_begins_its_next_round() -> None:
    poll = Poll(("tea", "cake"), False, 1)
    post = Post(PostId(1 << 20), AccountId(7), "which?", details=PostDetails(poll=poll))
    same = next_version(post, "which one?", PostDetails(poll=poll), 1)
    other = next_version(post, "which?", PostDetails(poll=Poll(("tea", "pie"), False, 1)), 1)
    assert same is not None
    assert other is not None
    assert same.extra.poll == poll
    assert other.extra.poll == Poll(("tea", "pie"), False, 1, round=1)


async def test_a_changed_option_deletes_the_votes_and_another_text_keeps_them(world: World, alice: Person) -> None:
    bob = await world.person("bob")
    services, now_ms = world.services, world.services.clock.now_ms()
    poll = PollForm(("tea", "cake"))
    post = await services.publishing.publish(author_id=alice.id, text="which?", poll=poll, now_ms=now_ms)
    await services.polls.vote(account_id=bob.id, post_id=post.id, choices=[0])

    async def edit(text: str, options: tuple[str, ...]) -> int:
        details = (await services.edits.find_own(alice.id, post.id)).extra
        await services.edits.edit(
            EditForm(text, details, poll=PollForm(options)), account_id=alice.id, post_id=post.id, now_ms=now_ms
        )
        entry = await services.reading.post(post.id, viewer_id=alice.id)
        assert entry.poll is not None
        return entry.poll.voters

    assert await edit("which one?", (" tea", "cake")) == 1
    assert await edit("which one?", ("tea", "pie")) == 0
    await services.polls.vote(account_id=bob.id, post_id=post.id, choices=[1])
    assert await edit("which?", ("tea", "pie")) == 1


async def test_an_edited_post_is_read_in_full_and_is_not_cached(store: Store) -> None:
    posts = PostRepository(store)
    post = Post(PostId(1 << 20), AccountId(7), "words")
    await posts.write(post)
    (cached,) = await store.read(posts.read_many([post.id]))
    assert cached == {post.id: post}
    edited = next_version(post, "other words", None, 1)
    assert edited is not None
    await posts.edit(post.id, encode_post(post), encode_post(edited))
    for _ in range(3):
        (found,) = await store.read(posts.read_many([post.id]))
        assert await posts.load_existing(found) == {post.id: edited}
    assert [command[0] for command in posts.read_many([post.id]).commands] == ["GET"]
    assert decode_post(encode_post(edited)) == edited


def test_the_job_of_an_edit_keeps_the_bytes_of_both_versions() -> None:
    post = Post(PostId(1 << 20), AccountId(7), "words")
    edited = next_version(post, "other words", None, 1)
    assert edited is not None
    job = decode_job(encode_job(EditPost(msgspec.Raw(encode_post(post)), msgspec.Raw(encode_post(edited)))))
    assert isinstance(job, EditPost)
    assert (bytes(job.former), bytes(job.value)) == (encode_post(post), encode_post(edited))
