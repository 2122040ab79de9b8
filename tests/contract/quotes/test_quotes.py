"""Quotes: the author consents, may revoke, and no reader sees a quoted post that the reader may not see."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec import structs

from accounts.domain import QuotePolicy
from socialsite.container import Services
from socialsite.ids import PostId
from tests.support.notifications import ThreePeople
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World, ids_on
from timelines import keys
from timelines.errors import PostInvalid, PostNotFound
from timelines.pages.page import Quote
from timelines.posts.post import FOLLOWERS, UNLISTED, Post, PostDetails
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


@dataclass(frozen=True)
class Quotes:
    """Publishes quotes, and reads how a viewer sees them."""

    services: Services

    async def by(self, author: Person, quoted: Post, text: str = "look", **options: str | int) -> Post:
        audience, key = options.get("audience"), options.get("key")
        return await author.publishes(
            text,
            details=PostDetails(quote_of=quoted.id),
            audience=audience if isinstance(audience, int) else None,
            key=str(key) if key else None,
        )

    async def seen_by(self, viewer: Person | None, post: Post, context: ViewContext = ViewContext.THREAD) -> Quote:
        """Return the quote as the viewer sees it: alone, and together with others, which must be the same."""
        seat = ViewerContext(None if viewer is None else viewer.id, context)
        (entry,) = await self.services.pipeline.read_posts([post.id], seat)
        (together, _other) = await self.services.pipeline.read_post_for_viewers(
            post.id, None, [seat, ViewerContext(None, ViewContext.POST)]
        )
        assert together == entry
        quote = entry.shown.quote
        assert quote is not None
        assert (quote.post is not None) == (quote.state in ("accepted", "muted_account", "blocked_account"))
        return quote

    async def state(self, viewer: Person | None, post: Post, context: ViewContext = ViewContext.THREAD) -> str:
        return (await self.seen_by(viewer, post, context)).state

    async def allow(self, author: Person, policy: QuotePolicy) -> None:
        await self.services.accounts.change_preferences(
            account_id=author.id, change=lambda old: structs.replace(old, quote_policy=policy)
        )

    async def listed(self, viewer: Person | None, quoted: Post) -> list[PostId]:
        viewer_id = None if viewer is None else viewer.id
        return ids_on(await self.services.quotes.list_quotes(quoted.id, viewer_id=viewer_id))

    async def stored(self, quoted: Post) -> list[tuple[int, int]]:
        key = keys.quotes(quoted.id)
        flat = await self.services.store.node(key).execute("ZRANGE", key, 0, -1, "WITHSCORES")
        return [(int(id), int(float(score))) for id, score in zip(flat[::2], flat[1::2], strict=True)]


@pytest.fixture
def quotes(services: Services) -> Quotes:
    return Quotes(services)


async def test_a_quote_shows_the_quoted_post_to_everybody(three: ThreePeople, quotes: Quotes) -> None:
    alice, bob, carol = three
    post = await alice.publishes("original")
    quote = await quotes.by(bob, post)
    assert quote.extra.quoted_author_id == alice.id
    for viewer in (alice, bob, carol, None):
        shown = (await quotes.seen_by(viewer, quote)).post
        assert shown is not None
        assert (shown.post.text, shown.author.handle) == ("original", "alice")
    assert await quotes.listed(None, post) == [quote.id]
    assert await quotes.services.quotes.count(post.id) == 1


async def test_a_quote_of_a_boost_quotes_the_original(
    alice: Person, bob: Person, carol: Person, quotes: Quotes, acts: PersonReactions
) -> None:
    post = await alice.publishes("original")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id is not None
    quote = await carol.publishes("look", details=PostDetails(quote_of=boost_id))
    assert (quote.extra.quote_of, quote.extra.quoted_author_id) == (post.id, alice.id)


@pytest.mark.parametrize("policy", ["public", "followers", "nobody"])
@pytest.mark.parametrize("is_own", [False, True], ids=["preference", "post"])
async def test_only_the_accounts_that_the_author_chose_may_quote(
    alice: Person, bob: Person, carol: Person, quotes: Quotes, policy: QuotePolicy, is_own: bool
) -> None:
    await bob.follows(alice)
    if is_own:
        post = await alice.publishes("original", details=PostDetails(quote_policy=policy))
    else:
        post = await alice.publishes("original")
        await quotes.allow(alice, policy)
    for person in (alice, bob, carol):
        may = person is alice or policy == "public" or (policy == "followers" and person is bob)
        entry = await quotes.services.reading.post(post.id, viewer_id=person.id)
        assert (await quotes.services.quotes.find_approval(entry, person.id)) == (policy, may)
        if may:
            assert await quotes.state(None, await quotes.by(person, post)) == "accepted"
            continue
        with pytest.raises(PostInvalid) as refused:
            await quotes.by(person, post)
        assert list(refused.value.fields) == ["quoted_status_id"]
    assert len(await quotes.listed(None, post)) == {"public": 3, "followers": 2, "nobody": 1}[policy]


async def test_the_policy_of_a_post_wins_over_the_preference(alice: Person, bob: Person, quotes: Quotes) -> None:
    await quotes.allow(alice, "nobody")
    await quotes.by(bob, await alice.publishes("open", details=PostDetails(quote_policy="public")))
    closed = await alice.publishes("closed")
    with pytest.raises(PostInvalid):
        await quotes.by(bob, closed)


async def test_an_edit_changes_the_policy_of_a_post(alice: Person, bob: Person, quotes: Quotes) -> None:
    post = await alice.publishes("open")
    earlier = await quotes.by(bob, post)
    await alice.edits(post, "open", details=PostDetails(quote_policy="nobody"))
    with pytest.raises(PostInvalid):
        await quotes.by(bob, post)
    assert await quotes.state(None, earlier) == "accepted"


@pytest.mark.parametrize("private", [False, True], ids=["for followers", "private account"])
async def test_only_the_author_quotes_a_post_for_followers(three: ThreePeople, quotes: Quotes, private: bool) -> None:
    alice, bob, carol = three
    await bob.follows(alice)
    post = await alice.publishes("secret", audience=None if private else FOLLOWERS)
    if private:
        await alice.locks()
    for person in (bob, carol):
        with pytest.raises(PostInvalid):
            await quotes.by(person, post)
    quote = await quotes.by(alice, post, audience=0)
    if private:
        await alice.locks(private=False)
        await alice.locks()
        assert await quotes.state(bob, quote) == "accepted"
    else:
        assert [await quotes.state(each, quote) for each in (bob, carol, None)] == [
            "accepted", "unauthorized", "unauthorized",
        ]  # fmt: skip


async def test_a_block_refuses_new_quotes_and_hides_earlier_ones(three: ThreePeople, quotes: Quotes) -> None:
    alice, bob, carol = three
    post = await alice.publishes("original")
    quote = await quotes.by(carol, post)
    await alice.blocks(bob)
    with pytest.raises(PostInvalid):
        await quotes.by(bob, post)
    assert await quotes.state(bob, quote) == "unauthorized"
    assert await quotes.state(alice, await quotes.by(carol, await bob.publishes("other"))) == "blocked_account"
    await bob.blocks(alice)
    assert await quotes.state(alice, await quotes.by(carol, await bob.publishes("third"))) == "unauthorized"
    assert await quotes.state(None, quote) == "accepted"


async def test_a_hidden_quoted_post_leaves_a_gap(alice: Person, bob: Person, carol: Person, quotes: Quotes) -> None:
    post = await alice.publishes("original tea")
    quote = await quotes.by(bob, post)
    await carol.mutes(alice)
    assert await quotes.state(carol, quote) == "muted_account"
    for context in (ViewContext.POST, ViewContext.PROFILE, ViewContext.BOOKMARKS, ViewContext.PUBLIC):
        assert (await quotes.seen_by(carol, quote, context)).shown is None
    await carol.unmutes(alice)
    assert await quotes.state(carol, quote) == "accepted"
    for action in ("warn", "hide"):
        added = await quotes.services.filters.add(account_id=carol.id, phrase="tea", action=action, until_ms=None)
        for context in (ViewContext.THREAD, ViewContext.POST):
            seen = await quotes.seen_by(carol, quote, context)
            assert (seen.state, seen.shown) == ("accepted", None)
        await quotes.services.filters.delete(account_id=carol.id, number=added.id)
    await quotes.services.accounts.suspend(account_id=alice.id)
    assert await quotes.state(carol, quote) == "unauthorized"
    await quotes.services.accounts.reinstate(account_id=alice.id)
    await alice.locks()
    assert [await quotes.state(each, quote) for each in (alice, bob, None)] == [
        "accepted", "unauthorized", "unauthorized",
    ]  # fmt: skip
    await alice.locks(private=False)
    await alice.deletes(post)
    assert [await quotes.state(each, quote) for each in (alice, bob, carol, None)] == ["deleted"] * 4
    assert await quotes.stored(post) == []


async def test_the_page_of_a_muted_author_shows_quotes_of_the_authors_own_posts(
    alice: Person, carol: Person, quotes: Quotes
) -> None:
    quote = await quotes.by(alice, await alice.publishes("original"))
    await carol.mutes(alice)
    assert await quotes.state(carol, quote, ViewContext.PROFILE) == "accepted"


async def test_a_revoked_quote_stays_revoked(alice: Person, bob: Person, carol: Person, quotes: Quotes) -> None:
    post = await alice.publishes("original")
    quote, kept = await quotes.by(bob, post), await quotes.by(carol, post)
    service = quotes.services.quotes
    for _ in range(2):
        entry = await service.revoke(account_id=alice.id, post_id=quote.id)
        assert entry is not None
        assert entry.quote == Quote("revoked")
    assert [await quotes.state(each, quote) for each in (alice, bob, None)] == ["revoked"] * 3
    assert await quotes.state(None, kept) == "accepted"
    assert await quotes.listed(None, post) == [kept.id]
    assert await service.count(post.id) == 1
    await World(quotes.services).deliver_all()
    await quotes.services.repositories.quotes.add(post.id, quote.id)  # as a late repetition would
    edited = await bob.edits(quote, "edited", details=quote.extra)
    assert await quotes.state(None, edited) == "revoked"
    for person in (bob, carol):
        with pytest.raises(PostNotFound):
            await service.revoke(account_id=person.id, post_id=quote.id)
    with pytest.raises(PostNotFound):
        await service.revoke(account_id=alice.id, post_id=post.id)


async def test_a_quoted_author_who_may_not_see_the_quote_can_revoke_it(three: ThreePeople, quotes: Quotes) -> None:
    alice, bob, _ = three
    post = await alice.publishes("original")
    quote = await quotes.by(bob, post)
    await bob.blocks(alice)
    assert await quotes.services.quotes.revoke(account_id=alice.id, post_id=quote.id) is None
    assert await quotes.state(None, quote) == "revoked"


async def test_edits_keep_the_quote_and_show_the_newest_version_of_the_quoted_post(
    alice: Person, bob: Person, carol: Person, quotes: Quotes
) -> None:
    post = await alice.publishes("original")
    quote = await quotes.by(bob, post)
    await quotes.seen_by(carol, quote)
    await alice.edits(post, "newer")
    shown = (await quotes.seen_by(carol, quote)).post
    assert shown is not None
    assert shown.post.text == "newer"
    edited = await bob.edits(quote, "look again")
    assert await quotes.state(carol, edited) == "accepted"


async def test_quotes_do_not_nest(alice: Person, bob: Person, carol: Person, quotes: Quotes) -> None:
    first = await alice.publishes("first")
    second = await quotes.by(bob, first)
    third = await quotes.by(carol, second)
    services = quotes.services
    for _ in range(2):  # with and without cached facts
        seat = ViewerContext(None, ViewContext.THREAD)
        entries = await services.pipeline.read_posts([third.id, second.id], seat)
        shown = [entry.quote and entry.quote.post for entry in entries]
        assert [each and (each.post.id, each.quote) for each in shown] == [(second.id, None), (first.id, None)]


async def test_a_boost_of_a_quote_shows_the_quoted_post_in_every_home(
    alice: Person, bob: Person, carol: Person, quotes: Quotes, acts: PersonReactions
) -> None:
    quote = await quotes.by(bob, await alice.publishes("original"))
    dora = await World(quotes.services).person("dora")
    await dora.follows(carol)
    await acts.boosts(carol, quote)
    await World(quotes.services).deliver_all()
    (entry,) = (await dora.home()).entries
    assert entry.shown.quote is not None
    assert entry.shown.quote.state == "accepted"
    await dora.mutes(alice)
    (entry,) = (await dora.home()).entries
    assert entry.shown.quote is not None
    assert (entry.shown.quote.state, entry.shown.quote.shown) == ("muted_account", None)


async def test_the_list_of_quotes_obeys_the_visibility_of_each_quote(three: ThreePeople, quotes: Quotes) -> None:
    alice, bob, carol = three
    post = await alice.publishes("original", audience=UNLISTED)
    hidden = await quotes.by(bob, post, audience=FOLLOWERS)
    shown = await quotes.by(carol, post)
    assert await quotes.listed(None, post) == [shown.id]
    assert await quotes.listed(bob, post) == [shown.id, hidden.id]
    await alice.blocks(carol)
    assert await quotes.listed(alice, post) == []


async def test_a_repeated_request_publishes_one_quote_also_after_the_consent_ended(
    alice: Person, bob: Person, quotes: Quotes
) -> None:
    post = await alice.publishes("original")
    first = await quotes.by(bob, post, key="once")
    await quotes.allow(alice, "nobody")
    assert await quotes.by(bob, post, key="once") == first
    assert [id for id, _ in await quotes.stored(post)] == [first.id]


async def test_a_refused_quote_leaves_nothing_and_its_key_can_be_used_again(three: ThreePeople, quotes: Quotes) -> None:
    alice, bob, _ = three
    post = await alice.publishes("original", details=PostDetails(quote_policy="nobody"))
    with pytest.raises(PostInvalid):
        await quotes.by(bob, post, key="again")
    assert await quotes.stored(post) == []
    await alice.edits(post, "original", details=PostDetails(quote_policy="public"))
    assert await quotes.state(None, await quotes.by(bob, post, key="again")) == "accepted"


async def test_a_deleted_quote_leaves_the_list(alice: Person, bob: Person, quotes: Quotes) -> None:
    post = await alice.publishes("original")
    quote = await quotes.by(bob, post)
    await bob.deletes(quote)
    assert await quotes.stored(post) == []
    with pytest.raises(PostInvalid):
        await quotes.by(bob, quote)


async def test_the_purge_of_an_account_removes_its_quotes(alice: Person, bob: Person, quotes: Quotes) -> None:
    post = await alice.publishes("original")
    await quotes.by(bob, post)
    await quotes.services.accounts.delete(account_id=bob.id)
    await World(quotes.services).deliver_all()
    assert await quotes.stored(post) == []


async def test_an_unknown_quote_is_not_shown(alice: Person, bob: Person, quotes: Quotes, services: Services) -> None:
    """A post that names a quoted post without a stored consent shows nothing of it."""
    post = await alice.publishes("original", audience=FOLLOWERS)
    forged = Post(services.ids.next_id(), bob.id, "x", details=PostDetails(quote_of=post.id, quoted_author_id=alice.id))
    await services.repositories.posts.write(forged)
    assert await quotes.seen_by(alice, forged) == Quote("unauthorized")


async def test_deletions_and_quotes_at_the_same_time_leave_no_key(alice: Person, bob: Person, quotes: Quotes) -> None:
    for _ in range(10):
        post = await alice.publishes("original")
        quote, _deleted = await asyncio.gather(quotes.by(bob, post), alice.deletes(post), return_exceptions=True)
        assert await quotes.stored(post) == []
        if isinstance(quote, Post):
            assert await quotes.state(None, quote) == "deleted"
        else:
            assert isinstance(quote, PostInvalid)


async def test_the_quoted_author_is_notified_once(alice: Person, bob: Person, quotes: Quotes) -> None:
    post = await alice.publishes("original")
    quote = await quotes.by(bob, post, "@alice look")
    await quotes.by(alice, post)
    await World(quotes.services).deliver_all()
    await quotes.services.notifications.notify(quote)
    page = await quotes.services.notifications.page(alice.id)
    assert [(each.kind.name, each.author.handle, each.entry and each.entry.id) for each in page.entries] == [
        ("quote", "bob", quote.id)
    ]
    await bob.deletes(quote)
    assert (await quotes.services.notifications.page(alice.id)).entries == ()
