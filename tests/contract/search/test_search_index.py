"""The index of posts and of names."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.container import Services
from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.store import Store
from socialsite.store.key import KEY_PATTERN
from tests.support.random_tests import examples
from tests.support.search import AUTHORS, keys_of, search_index
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.posts.post import FOLLOWERS, UNLISTED, Post
from timelines.search.query import SearchQuery, parse_query
from timelines.search.repository import SEARCH_PARTITIONS, PostIndex, partition_of_post

ON_ONE_SERVER = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

WORDS = ("ant", "bee", "cow", "日本", "本語", "#ant", "Ünder_score", "ไทย", "bée", "#Ánt")

TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)

IDS = st.integers(1, MAX_ID)

QUERIES = st.lists(st.sampled_from((*WORDS, '"ant bee"', "under_score", "日", "from:one")), min_size=1, max_size=3).map(
    " ".join
)


def expected(posts: Sequence[Post], query: SearchQuery) -> list[PostId]:
    """Return the matching posts of a scan of every post."""
    author_id = AUTHORS.get(query.author or "")
    return sorted((p.id for p in posts if query.matches(p.text) and author_id in (None, p.author_id)), reverse=True)


@ON_ONE_SERVER
@given(
    texts=st.dictionaries(IDS, st.tuples(TEXTS, st.sampled_from(list(AUTHORS.values()))), max_size=40),
    few=st.integers(1, 8),
    removed=st.integers(0, 10),
    query=QUERIES,
    wanted=st.integers(1, 40),
    steps=st.integers(1, 30),
    batch=st.integers(1, 50),
    resumed=st.booleans(),
)
async def test_the_index_contains_all_results_of_a_complete_scan(
    store: Store,
    deployment: Deployment,
    texts: dict[int, tuple[str, AccountId]],
    few: int,
    removed: int,
    query: str,
    wanted: int,
    steps: int,
    batch: int,
    resumed: bool,
) -> None:
    deployment.empty()
    index, parsed_query = PostIndex(store, few=few, steps=steps), parse_query(query)
    posts = [Post(PostId(id), author_id, text) for id, (text, author_id) in texts.items()]
    for start in range(0, len(posts), batch):
        await index.add(posts[start : start + batch])
        await index.add(posts[start : start + batch])
    for post in posts[:removed]:
        await index.remove(post)
    ids = await search_index(index, parsed_query, wanted, resumed=resumed)
    assert all(newer > older for newer, older in pairwise(ids))
    texts_of = {post.id: post for post in posts[removed:]}
    assert set(ids) <= set(texts_of)
    assert [id for id in ids if parsed_query.matches(texts_of[id].text)] == expected(posts[removed:], parsed_query)


@ON_ONE_SERVER
@given(ids=st.lists(IDS, unique=True, min_size=1, max_size=60), rare=st.integers(0, 8), steps=st.integers(1, 9))
async def test_a_term_above_its_cap_keeps_its_newest_posts_and_excludes_no_older_posts(
    store: Store, deployment: Deployment, ids: list[int], rare: int, steps: int
) -> None:
    deployment.empty()
    index = PostIndex(store, cap=2, steps=steps)
    posts = [Post(PostId(id), AUTHORS["one"], "often rare" if at < rare else "often") for at, id in enumerate(ids)]
    for post in posts:
        await index.add([post])
    often = await search_index(index, parse_query("often"))
    assert often == sorted(often, reverse=True)
    by_partition = [[id for id in sorted(ids) if partition_of_post(id) == n] for n in range(SEARCH_PARTITIONS)]
    assert set(often) >= {id for part in by_partition for id in part[-2:]}
    assert set(often) <= {id for part in by_partition for id in part[-3:]}
    both = await search_index(index, parse_query("often rare"))
    whole = all(len([p for p in posts[:rare] if partition_of_post(p.id) == n]) <= 2 for n in range(SEARCH_PARTITIONS))
    if whole:
        assert set(both) >= {post.id for post in posts[:rare]}


async def test_a_removed_post_leaves_no_keys(store: Store, deployment: Deployment) -> None:
    index = PostIndex(store)
    post = Post(PostId(77), AUTHORS["one"], "some words, 日本 #tag")
    await index.add([post])
    await index.remove(post)
    await index.remove(post)
    assert not any(await store.execute_all([("EXISTS", key) for key in keys_of(post)]))


async def test_all_keys_of_a_post_share_its_partition_and_contain_no_text() -> None:
    post = Post(PostId(1 << 50), AUTHORS["one"], "some {words} 日本 #tag")
    assert {key.tag for key in keys_of(post)} == {f"s{partition_of_post(post.id)}"}
    assert all(KEY_PATTERN.fullmatch(key) and "some" not in key for key in keys_of(post))
    assert len({partition_of_post(id) for id in range(1000)}) == SEARCH_PARTITIONS


async def names(services: Services, prefix: str, viewer: Person | None = None) -> list[str]:
    viewer_id = viewer.id if viewer else None
    completions = await services.autocomplete.complete_accounts(prefix, viewer_id=viewer_id, limit=8)
    return [author.handle for author in completions]


async def test_accounts_are_found_by_handle_and_by_each_word_of_their_name(world: World, services: Services) -> None:
    alice, _bob = await world.people("alice", "bob")
    await services.accounts.edit_profile(account_id=alice.id, display_name="Ὀδυσσεύς 山田 太郎", bio="", link="")
    for prefix in ("al", "ALICE", "ὀδυσ", "山田太", "太郎"):
        assert await names(services, prefix) == ["alice"], prefix
    assert await names(services, "lice") == []
    assert await names(services, "") == await names(services, "!") == []
    await services.accounts.edit_profile(account_id=alice.id, display_name="Just Alice", bio="", link="")
    assert await names(services, "山田") == []
    assert await names(services, "just ali") == ["alice"]


async def test_names_are_found_with_and_without_their_accents(world: World, services: Services) -> None:
    jose, _josh = await world.people("jo", "josh")
    await services.accounts.edit_profile(account_id=jose.id, display_name="José Ørsted", bio="", link="")
    for prefix in ("jose", "JOSÉ", "jose\u0301", "orst", "ørst", "Øŕ"):
        assert await names(services, prefix) == ["jo"], prefix
    assert await names(services, "jós") == ["josh", "jo"], "a handle has no accents to leave out"


async def test_the_exact_handle_is_completed_first_then_followed_accounts(world: World, services: Services) -> None:
    anna, annabel, annette, me = await world.people("anna", "annabel", "annette", "me")
    assert await names(services, "ann") == ["anna", "annabel", "annette"]
    await me.follows(annette)
    assert await names(services, "ann", me) == ["annette", "anna", "annabel"]
    assert await names(services, "anna", me) == ["anna", "annabel"]
    now_ms = services.clock.now_ms()
    await services.store.node(keys.blocks(me.id)).execute("ZADD", keys.blocks(me.id), now_ms, annabel.id)
    assert await names(services, "ann", me) == ["annette", "anna"]
    assert await names(services, "ann", anna) == ["anna", "annabel", "annette"]


async def test_an_account_that_hides_is_completed_for_its_followers_only(world: World, services: Services) -> None:
    anna, fan, other = await world.people("anna", "fan", "other")
    await fan.follows(anna)
    await anna.hides()
    assert await names(services, "ann", anna) == await names(services, "anna", fan) == ["anna"]
    assert await names(services, "ann", other) == await names(services, "anna") == []


async def test_suspended_and_deleted_accounts_are_not_completed(world: World, services: Services) -> None:
    alice, alan = await world.people("alice", "alan")
    await services.accounts.suspend(account_id=alice.id)
    await services.accounts.delete(account_id=alan.id)
    assert await names(services, "al") == []
    await services.accounts.reinstate(account_id=alice.id)
    assert await names(services, "al") == ["alice"]
    assert await services.repositories.search_names.find_accounts(["@al"], 9) == [alice.id]


async def test_hashtags_are_completed_in_order_of_their_use(world: World, alice: Person, services: Services) -> None:
    for text in ("#red", "#Redis", "#redis too", "#日本"):
        last = await alice.publishes(text)
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("re", limit=5) == ["redis", "red"]
    assert await services.autocomplete.complete_hashtags("red", limit=5) == ["red", "redis"]
    assert await services.autocomplete.complete_hashtags("日", limit=5) == ["日本"]
    await alice.deletes(last)
    assert await services.autocomplete.complete_hashtags("日", limit=5) == []


async def test_hashtags_are_completed_with_and_without_their_accents(world: World, services: Services) -> None:
    alice = await world.person("alice")
    for text in ("#café", "#cafe", "#cafeteria", "#cafeteria too", "#ã", "#\u0640"):
        await alice.publishes(text)
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("caf", limit=5) == ["cafeteria", "cafe", "café"]
    assert await services.autocomplete.complete_hashtags("café", limit=5) == ["café", "cafe", "cafeteria"]
    assert await services.autocomplete.complete_hashtags("cafe", limit=5) == ["cafe", "café", "cafeteria"]
    assert await services.autocomplete.complete_hashtags("a", limit=5) == ["ã"]
    assert await services.autocomplete.complete_hashtags("\u0640", limit=5) == [], "nothing but marks"


async def test_hashtags_that_visitors_cannot_read_are_not_completed(world: World, services: Services) -> None:
    """Posts of private or suspended accounts, unlisted posts and posts for followers do not count."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for person in (alice, bob):
        await person.publishes("#seen and #seenoften")
    for _ in range(4):
        await alice.publishes("#secretplan of #seenoften")
    await bob.publishes("#secretaside", audience=UNLISTED)
    await bob.publishes("#secretwish", audience=FOLLOWERS)
    await carol.publishes("#secretspam")
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("se", limit=5) == [
        "seenoften",
        "secretplan",
        "seen",
        "secretspam",
    ]
    await alice.locks()
    await services.accounts.suspend(account_id=carol.id)
    assert await services.autocomplete.complete_hashtags("secret", limit=5) == []
    assert await services.autocomplete.complete_hashtags("se", limit=5) == ["seenoften", "seen"]
