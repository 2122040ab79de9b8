"""The index finds the same posts as a scan of every post, on every topology; a post's keys share a partition."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.store import Store
from socialsite.store.key import KEY_PATTERN
from tests.support.models import examples
from tests.support.searching import AUTHORS, keys_of, search_index
from tests.support.topologies import Deployment
from timelines.posts.post import Post
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
    exists = await store.execute_all([("EXISTS", key) for key in keys_of(post)])
    assert not any(exists)


async def test_all_keys_of_a_post_share_its_partition_and_contain_no_text() -> None:
    post = Post(PostId(1 << 50), AUTHORS["one"], "some {words} 日本 #tag")
    assert {key.tag for key in keys_of(post)} == {f"s{partition_of_post(post.id)}"}
    assert all(KEY_PATTERN.fullmatch(key) and "some" not in key for key in keys_of(post))
    assert len({partition_of_post(id) for id in range(1000)}) == SEARCH_PARTITIONS
