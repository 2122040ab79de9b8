"""Return values of the repositories' Lua scripts, as documented in their first lines."""

import pytest

from socialsite.ids import AccountId, PostId
from socialsite.store import Script, Store
from socialsite.store.key_families import list_keys_of_post
from tests.support.nodes import run_command, run_script
from timelines import keys
from timelines.audit.wrong_types import QUARANTINE
from timelines.filters.repository import REPLACE
from timelines.graph.edges import ADD_EDGES, REMOVE_EDGES
from timelines.hashtags.followed import FOLLOW, FOLLOWED_HASHTAGS_CAP, FollowedHashtags
from timelines.ids import ListId
from timelines.lists.repository import EDIT_LIST, ERASE_LIST
from timelines.markers.repository import MOVE
from timelines.notifications.repository import ADD, READ, UNREAD
from timelines.post_archive.service import TO_MARKER
from timelines.posts import repository
from timelines.posts.post import FOLLOWERS, Post, encode_post
from timelines.reactions.repository import SWAP_SCORE
from timelines.search.names import ADD_HASHTAGS_SCRIPT, SET_NAMES_SCRIPT

POST = keys.post(PostId(4096))
STATES = {
    "nothing": None, "claimed": "pending", "given up": "superseded", "deleted": "deleted:7", "there": "body",
}  # fmt: skip


@pytest.mark.parametrize(
    ("state", "written", "superseded"),
    [("nothing", 1, 1), ("claimed", 1, 1), ("given up", -1, 1), ("deleted", 0, -1), ("there", 2, 0)],
)
async def test_only_an_absent_or_reserved_post_is_written_or_abandoned(
    store: Store, state: str, written: int, superseded: int
) -> None:
    value = STATES[state]
    for script, expected, left in (
        (repository.WRITE_POST_SCRIPT, written, "new"),
        (repository.SUPERSEDE_POST_SCRIPT, superseded, "superseded"),
    ):
        await run_command(store, *(("SET", POST, value) if value else ("DEL", POST)))
        assert await run_script(store, script, [POST], "new") == expected
        changes = state in ("nothing", "claimed")
        assert await run_command(store, "GET", POST) == (left if changes else str(value)).encode()


REPLY = encode_post(Post(PostId(4096), AccountId(7), "", in_reply_to=PostId(5)))
BOOST = encode_post(Post(PostId(4096), AccountId(7), "", boost_of=PostId(6)))
FOR_FOLLOWERS = encode_post(Post(PostId(4096), AccountId(7), "", audience=FOLLOWERS))
REPLY_FOR_FOLLOWERS = encode_post(Post(PostId(4096), AccountId(7), "", in_reply_to=PostId(5), audience=FOLLOWERS))


@pytest.mark.parametrize(
    ("held", "answer", "left", "over_a_claim"),
    [
        (None, 0, None, b"deleted:7"),
        (b"pending", 0, b"pending", b"deleted:7"),
        (b"superseded", 0, b"superseded", b"superseded"),
        (b"deleted:7", 0, b"deleted:7", b"deleted:7"),
        (b"1732100000000", 2, b"deleted:7:::f", b"deleted:7:::f"),
        (b"no post", 1, b"deleted:7", b"deleted:7"),
        (REPLY, 1, b"deleted:7:5", b"deleted:7:5"),
        (BOOST, 1, b"deleted:7::6", b"deleted:7::6"),
        (FOR_FOLLOWERS, 1, b"deleted:7:::f", b"deleted:7:::f"),
        (REPLY_FOR_FOLLOWERS, 1, b"deleted:7:5::f", b"deleted:7:5::f"),
    ],
)
async def test_a_tombstone_replaces_a_post_or_a_reservation(
    store: Store, held: bytes | None, answer: int, left: bytes | None, over_a_claim: bytes
) -> None:
    id = PostId(4096)
    changed = keys.boosts, keys.post_counts, keys.replies, keys.boosts_to_delete, keys.post_versions
    place = [POST, *(build(id) for build in changed), *list_keys_of_post(id)]
    for argument, expected in ((["claimed"], over_a_claim), ([], left)):
        await run_command(store, *(("SET", POST, held) if held else ("DEL", POST)))
        assert await run_script(store, repository.DELETE_POST_SCRIPT, place, 7, *argument) == answer
        assert await run_command(store, "GET", POST) == expected


@pytest.mark.parametrize("script", [TO_MARKER, repository.UNARCHIVE_POST_SCRIPT])
async def test_a_body_is_replaced_only_if_it_has_the_expected_value(store: Store, script: Script) -> None:
    assert await run_script(store, script, [POST], "expected", "new") == 0
    await run_command(store, "SET", POST, "expected")
    assert await run_script(store, script, [POST], "expected", "new") == 1
    assert await run_script(store, script, [POST], "expected", "newer") == 0
    assert await run_command(store, "GET", POST) == b"new"


async def test_an_edit_replaces_only_the_version_that_was_read(store: Store) -> None:
    builders = keys.post, keys.post_versions, keys.poll_votes, keys.poll_tally
    place = [build(PostId(4096)) for build in builders]

    async def edit(former: str, value: str, number: int, is_new_round: int = 0) -> object:
        return await run_script(store, repository.EDIT_POST_SCRIPT, place, former, value, number, is_new_round)

    for state, expected in {
        **dict.fromkeys([None, "pending", "superseded", "deleted:7"], 0),
        "77": -2,
        "other": -1,
    }.items():
        await run_command(store, *(("SET", POST, state) if state else ("DEL", POST)))
        assert await edit("first", "second", 0) == expected
    await run_command(store, "SET", POST, "first")
    await run_command(store, "ZADD", place[2], 1, 7)
    await run_command(store, "HSET", place[3], "0", 1)
    assert [await edit("first", "second", 0), await edit("first", "second", 0)] == [1, 2]
    assert await run_command(store, "EXISTS", place[2], place[3]) == 2
    assert await edit("second", "third", 1) == 1
    assert await run_command(store, "LRANGE", place[1], 0, -1) == [b"first", b"second"]
    await run_command(store, "SET", POST, "second")  # as after a restore: the versions are newer than the post
    assert await edit("second", "other", 1, 1) == 1
    assert await run_command(store, "EXISTS", place[2], place[3]) == 0
    assert await run_command(store, "LRANGE", place[1], 0, -1) == [b"first", b"second"]


async def test_a_replacement_returns_the_current_value(store: Store) -> None:
    boosters, claim = keys.boosts(PostId(4096)), keys.idempotency_record(AccountId(1), "00ff")
    assert await run_script(store, SWAP_SCORE, [boosters], 7, 100, 200) is None
    await run_command(store, "ZADD", boosters, 100, 7)
    assert await run_script(store, SWAP_SCORE, [boosters], 7, 99, 200) == b"100"
    assert await run_script(store, SWAP_SCORE, [boosters], 7, 100, 200) == b"200"
    assert await run_script(store, SWAP_SCORE, [boosters], 7, 100, 300) == b"200"
    assert await run_script(store, repository.REPLACE_VALUE_SCRIPT, [claim], "old", "new", 50) == b"new"
    assert await run_script(store, repository.REPLACE_VALUE_SCRIPT, [claim], "old", "newer", 50) == b"new"
    assert 0 < await run_command(store, "TTL", claim) <= 50


async def test_a_followed_tag_is_counted_once_and_up_to_the_cap(store: Store) -> None:
    place = [keys.followed_hashtags(AccountId(1))]
    assert await run_script(store, FOLLOW, place, "tea", 1, 2) == 1
    assert await run_script(store, FOLLOW, place, "tea", 2, 2) == 0
    assert await run_script(store, FOLLOW, place, "cake", 3, 2) == 1
    assert await run_script(store, FOLLOW, place, "rain", 4, 2) == -1
    assert await run_script(store, FOLLOW, place, "cake", 5, 2) == 0
    assert await run_command(store, "ZRANGE", place[0], 0, -1, "WITHSCORES") == [b"tea", b"1", b"cake", b"3"]


async def test_only_an_existing_filter_is_replaced(store: Store) -> None:
    place = [keys.keyword_filters(AccountId(1))]
    assert await run_script(store, REPLACE, place, 1, "new") == 0
    await run_command(store, "HSET", place[0], 1, "old")
    assert await run_script(store, REPLACE, place, 1, "new") == 1
    assert await run_command(store, "HGETALL", place[0]) == [b"1", b"new"]


async def test_a_key_of_another_type_is_quarantined_and_a_right_key_stays(store: Store) -> None:
    here, there = keys.keyword_filters(AccountId(1)), keys.blocks(AccountId(1))
    assert await run_script(store, QUARANTINE, [here, there], "hash", 5_000) == 0
    await run_command(store, "HSET", here, 1, "fits")
    assert await run_script(store, QUARANTINE, [here, there], "hash", 5_000) == 0
    assert await run_command(store, "EXISTS", here, there) == 1
    assert await run_script(store, QUARANTINE, [here, there], "zset", 5_000) == 1
    assert await run_command(store, "EXISTS", here) == 0
    assert 0 < await run_command(store, "PTTL", there) <= 5_000


async def test_an_erased_list_keeps_its_owner_for_a_while(store: Store) -> None:
    place = [keys.account_list(ListId(3))]
    await run_command(store, "HSET", place[0], "title", "x")
    assert await run_script(store, ERASE_LIST, place, 5_000) == 0
    assert await run_command(store, "EXISTS", place[0]) == 0
    await run_command(store, "HSET", place[0], "owner", 9, "title", "x", "created_ms", 5)
    assert await run_script(store, EDIT_LIST, place, 8, "title", "stolen") == 0
    assert await run_script(store, EDIT_LIST, place, 9, "title", "y") == 1
    assert await run_script(store, ERASE_LIST, place, 5_000) == 1
    assert await run_script(store, ERASE_LIST, place, 900_000) == 1
    assert await run_command(store, "HGETALL", place[0]) == [b"owner", b"9", b"deleted", b"1"]
    assert 0 < await run_command(store, "PTTL", place[0]) <= 5_000
    assert await run_script(store, EDIT_LIST, place, 9, "title", "revived") == 0
    assert await run_script(store, EDIT_LIST, place, 9, "deleted", 1) == 1


async def test_hashtags_are_stored_up_to_a_cap_and_new_hashtags_are_counted(store: Store) -> None:
    place = [keys.search_hashtags(0)]
    assert await run_script(store, ADD_HASHTAGS_SCRIPT, place, 3, "tea", "cake") == 2
    assert await run_script(store, ADD_HASHTAGS_SCRIPT, place, 3, "tea", "rain", "fog") == 1
    assert await run_command(store, "ZRANGE", place[0], 0, -1, "WITHSCORES") == [
        b"cake",
        b"0",
        b"rain",
        b"0",
        b"tea",
        b"0",
    ]


async def test_edges_are_added_and_removed_on_both_sides_and_counted_on_one(store: Store) -> None:
    out, into = keys.following("p3", 1), keys.followers("p3", 5)
    third_side = keys.followers("p3", 6)
    assert await run_script(store, ADD_EDGES, [out, into, out, third_side], 100, 5, 1, 100, 6, 1) == 2
    assert await run_script(store, ADD_EDGES, [out, into], 900, 5, 1) == 0
    assert await run_command(store, "ZRANGE", out, 0, -1, "WITHSCORES") == [b"5", b"100", b"6", b"100"]
    assert await run_command(store, "ZRANGE", into, 0, -1, "WITHSCORES") == [b"1", b"100"]
    assert await run_script(store, REMOVE_EDGES, [out, into], 0, 5, 1) == 1
    assert await run_script(store, REMOVE_EDGES, [out, into], 0, 5, 1) == 0
    assert [await run_command(store, "ZCARD", key) for key in (out, into, third_side)] == [1, 0, 1]


async def test_new_notifications_get_ids_above_the_newest_and_the_read_marker(store: Store) -> None:
    place = [keys.notifications(AccountId(1)), keys.last_read_notification(AccountId(1))]
    assert await run_script(store, UNREAD, place, "+inf", 9) == [b"0"]
    assert await run_script(store, READ, place, 50) == b"0"
    assert await run_script(store, ADD, place, "a", 100, 0, 3) == b"100"
    assert await run_script(store, ADD, place, "a", 200, 0, 3) is None
    assert await run_script(store, ADD, place, "a", 200, 100, 3) is None
    assert await run_script(store, ADD, place, "a", 200, 101, 3) == b"200"
    assert await run_script(store, ADD, place, "b", 150, 0, 3) == b"201"
    assert await run_script(store, UNREAD, place, "+inf", 9) == [b"201", b"b", b"201", b"a", b"200"]
    assert await run_script(store, UNREAD, place, "(201", 9) == [b"201", b"a", b"200"]
    assert await run_script(store, UNREAD, place, "+inf", 1) == [b"201", b"b", b"201"]
    assert await run_script(store, READ, place, 200) == b"200"
    assert await run_script(store, READ, place, 100) == b"200"
    assert await run_script(store, UNREAD, place, "+inf", 9) == [b"201", b"b", b"201"]
    assert await run_script(store, READ, place, 999) == b"201"
    assert await run_script(store, UNREAD, place, "+inf", 9) == [b"201"]
    await run_command(store, "DEL", place[0])
    assert await run_script(store, ADD, place, "c", 5, 0, 3) == b"202"
    for member in ("d", "e", "f"):
        await run_script(store, ADD, place, member, 5, 0, 3)
    notifications = await run_command(store, "ZRANGE", place[0], 0, -1, "WITHSCORES")
    assert notifications == [b"d", b"203", b"e", b"204", b"f", b"205"]


async def test_a_marker_moves_forward_and_back_only_on_request(store: Store) -> None:
    place = [keys.markers(AccountId(1))]
    assert await run_script(store, MOVE, place, "home", 50, "", 3) == b"50"
    assert await run_script(store, MOVE, place, "home", 40, "", 3) == b"50"
    assert await run_script(store, MOVE, place, "home", 50, "", 3) == b"50"
    assert await run_script(store, MOVE, place, "home", 40, "back", 3) == b"40"
    for name, at in (("list:1", 20), ("list:2", 10), ("list:3", 30)):
        assert await run_script(store, MOVE, place, name, at, "", 3) == str(at).encode()
    assert sorted(await run_command(store, "HKEYS", place[0])) == [b"home", b"list:1", b"list:3"]
    assert await run_script(store, MOVE, place, "list:1", 60, "", 3) == b"60"
    assert await run_command(store, "HLEN", place[0]) == 3


async def test_an_account_is_stored_only_under_its_current_prefixes(store: Store) -> None:
    place = [keys.search_name_prefixes(0), keys.search_prefixes_of_account(0)]
    assert await run_script(store, SET_NAMES_SCRIPT, place, 7, "ali", "smith") == 1
    assert await run_script(store, SET_NAMES_SCRIPT, place, 7, "ali", "smith") == 0
    assert await run_script(store, SET_NAMES_SCRIPT, place, 8, "ali") == 1
    assert await run_script(store, SET_NAMES_SCRIPT, place, 7, "ali", "jones") == 1
    prefixes = await run_command(store, "ZRANGE", place[0], 0, -1, "WITHSCORES")
    assert prefixes == [b"ali\x007", b"0", b"ali\x008", b"0", b"jones\x007", b"0"]
    assert await run_script(store, SET_NAMES_SCRIPT, place, 7) == 1
    assert await run_script(store, SET_NAMES_SCRIPT, place, 7) == 0
    assert await run_command(store, "ZRANGE", place[0], 0, -1) == [b"ali\x008"]
    assert await run_command(store, "HKEYS", place[1]) == [b"8"]


async def test_followed_hashtags_are_read_up_to_the_cap(store: Store) -> None:
    key = keys.followed_hashtags(AccountId(1))
    rows = [part for number in range(FOLLOWED_HASHTAGS_CAP + 2) for part in (number, f"t{number}")]
    await run_command(store, "ZADD", key, *rows)
    hashtags = await FollowedHashtags(store).all(AccountId(1))
    assert hashtags == [f"t{number}" for number in range(FOLLOWED_HASHTAGS_CAP + 1, 1, -1)]
