"""Return values of the viewer state script, as documented in its first lines."""

from socialsite.ids import AccountId
from socialsite.store import Reply, Store
from tests.support.scripting import run_command, run_script
from timelines.visibility.viewer_state import READER_STATE, RELATIONSHIP_KEY_BUILDERS

READER, NOW_MS = AccountId(1), 1_900_000_000_000
LIKED, BOOSTED, BOOKMARKS, BLOCKS, BLOCKERS, MUTES, QUIETED, EXCLUSIVE, FILTERS, THREADS = (
    build(READER) for build in RELATIONSHIP_KEY_BUILDERS
)
POSTS, ACCOUNTS = (11, 12, 13), (21, 22, 23)


async def state(store: Store) -> Reply:
    place = [build(READER) for build in RELATIONSHIP_KEY_BUILDERS]
    return await run_script(store, READER_STATE, place, len(POSTS), NOW_MS, *POSTS, *ACCOUNTS)


async def test_each_field_contains_only_the_requested_ids(store: Store) -> None:
    assert await state(store) == [[]] * 10
    for number, key in enumerate((LIKED, BOOSTED, BOOKMARKS)):
        await run_command(store, "ZADD", key, 1, POSTS[number], 1, 99)
    for number, key in enumerate((BLOCKS, BLOCKERS, QUIETED)):
        await run_command(store, "ZADD", key, 1, ACCOUNTS[number], 1, 99)
    await run_command(store, "SADD", EXCLUSIVE, 5)
    await run_command(store, "HSET", FILTERS, 6, "a filter")
    await run_command(store, "ZADD", THREADS, 1, 7)
    assert await state(store) == [
        [b"11"], [b"12"], [b"13"], [b"21"], [b"22"], [], [b"23"], [b"5"], [b"a filter"], [b"7"]
    ]  # fmt: skip


async def test_account_ids_and_post_ids_are_not_confused(store: Store) -> None:
    for key in (LIKED, BOOSTED, BOOKMARKS):
        await run_command(store, "ZADD", key, *(part for id in ACCOUNTS for part in (1, id)))
    for key in (BLOCKS, BLOCKERS, MUTES, QUIETED):
        await run_command(store, "ZADD", key, *(part for id in POSTS for part in (2 * NOW_MS, id)))
    assert await state(store) == [[]] * 10


async def test_a_mute_expires_at_its_exact_millisecond_and_other_relations_remain(store: Store) -> None:
    ends = [part for ms, id in zip((-1, 0, 1), ACCOUNTS, strict=True) for part in (NOW_MS + ms, id)]
    for key in (BLOCKS, BLOCKERS, MUTES, QUIETED):
        await run_command(store, "ZADD", key, *ends)
    everyone = [b"21", b"22", b"23"]
    assert (await state(store))[3:7] == [everyone, everyone, [b"23"], everyone]
