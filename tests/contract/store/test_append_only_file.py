"""Before an acknowledgement each involved server must confirm that its append-only file is written.

tests/faults/test_slow_disk.py shows the effect with kills during slow fsyncs.
"""

import asyncio

import pytest

from socialsite.store import Key, Store
from socialsite.store.aof import AofState, track_nodes, wait_for_aof
from socialsite.store.replies import parse_info

WRITES = [("SET", Key("posts", tag=str(number), name="counts"), 1) for number in range(50)]


@pytest.mark.parametrize(
    ("state", "is_behind"),
    [
        (AofState(True, 0, 10, 5, is_fsync_pending=True, has_write_failed=False), True),
        (AofState(True, 0, 10, 5, is_fsync_pending=False, has_write_failed=True), True),
        (AofState(True, 0, 10, 5, is_fsync_pending=False, has_write_failed=False), False),
        (AofState(True, 0, 10, 0, is_fsync_pending=True, has_write_failed=True), False),
        (AofState(False, 0, 0, 5, is_fsync_pending=True, has_write_failed=True), False),
    ],
)
def test_a_server_with_failed_or_pending_writes_is_behind(state: AofState, is_behind: bool) -> None:
    assert state.has_unwritten_data is is_behind


async def test_nodes_are_tracked_only_by_the_innermost_tracker(store: Store) -> None:
    with track_nodes() as nodes:
        with track_nodes() as inner:
            await asyncio.gather(*(store.execute_all([write]) for write in WRITES[:25]))
        await store.execute_all(WRITES[25:])
    await store.execute_all(WRITES)
    assert inner.keys() == {store.node(write[1]) for write in WRITES[:25]}
    assert nodes.keys() == {store.node(write[1]) for write in WRITES[25:]}


async def test_each_server_is_checked_once(store: Store) -> None:
    with track_nodes() as nodes:
        await store.execute_all(WRITES)
    before = await looks(store)
    await wait_for_aof(nodes)
    assert await looks(store) == [count + 2 for count in before]  # one of the calls is by this test


async def looks(store: Store) -> list[int]:
    """Return the number of INFO calls of each server."""
    replies = await asyncio.gather(*(node.execute("INFO", "commandstats") for node in store.topology("posts").nodes))
    stats = (parse_info(reply).get("cmdstat_info", "calls=0,") for reply in replies)
    return [int(each.partition("calls=")[2].partition(",")[0]) for each in stats]
