"""Return values of the Lua scripts of counts and trends, as documented in their first lines."""

import time

import pytest

from socialsite.ids import AccountId, PostId
from socialsite.recipes.distinct_ranking import COUNT, TOP
from socialsite.store import Key, Store
from tests.support.scripting import run_command, run_script
from timelines import keys
from timelines.graph.zset_page import TIES_AFTER
from timelines.hashtags.trends_repository import HOURS, Trends
from timelines.posts.counts import JOIN_SET, LEAVE_SET

HOUR_MS = 3_600_000
POST = keys.post(PostId(4096))


async def test_trends_count_an_account_once_and_are_trimmed_to_their_caps(store: Store) -> None:
    uses, hour = Key("series", tag="trends", name="uses"), Key("series", tag="trends", name="ranked:3600:0")

    async def note(account_id: int, at_ms: int, *tags: str, cap: int = 2) -> int:
        args = (at_ms, at_ms - 100, 4, 60_000, 4_000_000_000, cap, account_id, *tags)
        return int(await run_script(store, COUNT, [uses, hour], *args))

    assert await note(1, 1_000, "tea", "cake", "tea") == 2
    assert await note(1, 1_100, "tea") == 0  # 100 ms later the use still counts
    assert await note(2, 1_101, "tea") == 1
    assert await note(1, 1_102, "tea") == 1
    assert await run_command(store, "ZRANGE", hour, 0, -1, "WITHSCORES") == [b"cake", b"1", b"tea", b"3"]
    assert 0 < await run_command(store, "PTTL", uses) <= 60_000
    assert await note(3, 1_103, "fog", "ice") == 2
    assert await run_command(store, "ZCARD", uses) == 4
    assert await run_command(store, "ZCARD", hour) == 4
    assert await note(4, 1_104, "sun") == 1
    assert await run_command(store, "ZRANGE", hour, 0, -1) == [b"sun", b"tea"]
    assert await run_command(store, "ZRANGE", uses, 0, -1) == [b"1:tea", b"3:fog", b"3:ice", b"4:sun"]
    assert abs(time.time() + await run_command(store, "TTL", hour) - 4_000_000_000) < 5
    assert await run_script(store, TOP, [hour], 5, 2, 1) == [b"tea", b"3", b"3"]
    assert await run_script(store, TOP, [hour], 5, 1, 1) == [b"tea", b"3", b"3", b"sun", b"1", b"1"]
    assert await run_script(store, TOP, [hour], 1, 1, 1) == [b"tea", b"3", b"3"]


@pytest.mark.parametrize("left", ["replies", "boosts", "likes"])
async def test_counts_exist_while_any_of_the_three_sets_exists(store: Store, left: str) -> None:
    post_id, sets = PostId(4096), ("replies", "boosts", "likes")
    three = [getattr(keys, name)(post_id) for name in sets]
    counts = keys.post_counts(post_id)
    for number, key in enumerate(three):
        place = [key, counts, *three]
        assert await run_script(store, JOIN_SET, place, 7, 100) == [1, b"100"]
        assert await run_script(store, JOIN_SET, place, 7, 200) == [0, b"100"]
        expected = " ".join("1" if position <= number else "0" for position in range(3))
        assert await run_command(store, "GET", counts) == expected.encode()
    for name, key in zip(sets, three, strict=True):
        place = [key, counts, *three]
        assert await run_script(store, LEAVE_SET, place, 7, 99) == b"100"
        if name != left:
            assert await run_script(store, LEAVE_SET, place, 7, 100) == b"100"
            assert await run_script(store, LEAVE_SET, place, 7) is None
            sizes = [await run_command(store, "ZCARD", each) for each in three]
            assert await run_command(store, "GET", counts) == " ".join(map(str, sizes)).encode()
    expected = " ".join("1" if name == left else "0" for name in sets)
    assert await run_command(store, "GET", counts) == expected.encode()
    last_set = three[sets.index(left)]
    assert await run_script(store, LEAVE_SET, [last_set, counts, *three], 7) == b"100"
    assert await run_command(store, "EXISTS", counts) == 0


@pytest.mark.parametrize(
    ("state", "joined"), [(None, -1), ("pending", -1), ("superseded", -1), ("deleted:7", -1), ("body", 1)]
)
async def test_only_an_existing_post_accepts_reactions(store: Store, state: str | None, joined: int) -> None:
    likes, counts = keys.likes(PostId(4096)), keys.post_counts(PostId(4096))
    if state is not None:
        await run_command(store, "SET", POST, state)
    place = [likes, counts, keys.replies(PostId(4096)), keys.boosts(PostId(4096)), likes, POST]
    assert await run_script(store, JOIN_SET, place, 7, 100) == [joined, b"100"]
    assert await run_command(store, "ZCARD", likes) == max(joined, 0)
    assert await run_command(store, "GET", counts) == (b"0 0 1" if joined == 1 else None)


async def test_trends_include_only_the_hours_of_one_day(store: Store) -> None:
    trends, now_ms = Trends(store), await store.now_ms() // HOUR_MS * HOUR_MS
    assert await trends.count_uses(AccountId(1), [], now_ms) == 0
    for tag, hours in (("first", HOURS - 1), ("gone", HOURS), ("now", 0)):
        for number in (1, 2):
            await trends.count_uses(AccountId(number), [tag], now_ms - hours * HOUR_MS)
    assert await trends.top(now_ms, 9) == [("now", 2), ("first", 2)]


async def test_uses_four_hours_ago_weigh_half(store: Store) -> None:
    trends, now_ms = Trends(store), await store.now_ms() // HOUR_MS * HOUR_MS
    for tag, accounts, hours in (("more", 9, 4), ("now", 4, 0), ("fewer", 7, 4)):
        for number in range(accounts):
            await trends.count_uses(AccountId(number), [tag], now_ms - hours * HOUR_MS)
    assert await trends.top(now_ms, 9) == [("more", 9), ("now", 4), ("fewer", 7)]
    assert await trends.top(now_ms, 2) == [("more", 9), ("now", 4)]


async def test_members_with_equal_scores_are_paged_in_both_directions(store: Store) -> None:
    key = keys.bookmarks(AccountId(1))
    await run_command(store, "ZADD", key, *(part for member in "12345678" for part in (7, member)), 6, "0", 8, "9")
    for member, up, down in (("4", "567", "123"), ("0", "123", ""), ("9", "", "678"), ("7", "8", "456")):
        assert b"".join(await run_script(store, TIES_AFTER, [key], "up", 7, member, 3)).decode() == up
        assert b"".join(await run_script(store, TIES_AFTER, [key], "down", 7, member, 3)).decode() == down
    await run_command(store, "ZREM", key, "4")
    assert await run_script(store, TIES_AFTER, [key], "up", 7, "4", 2) == [b"5", b"6"]
