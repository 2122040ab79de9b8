"""Before something is acknowledged each server that had a part in it is asked whether its file has it.

What the look is for is shown by kills amid slow fsyncs (tests/faults/test_slow_disk.py).
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
def test_a_server_is_behind_while_it_cannot_write_what_it_holds(state: AofState, is_behind: bool) -> None:
    assert state.has_unwritten_data is is_behind


async def test_who_answers_is_noted_by_whoever_began_it_and_by_nobody_else(store: Store) -> None:
    with track_nodes() as nodes:
        with track_nodes() as inner:
            await asyncio.gather(*(store.gather([write]) for write in WRITES[:25]))
        await store.gather(WRITES[25:])
    await store.gather(WRITES)
    assert inner.keys() == {store.node(write[1]) for write in WRITES[:25]}
    assert nodes.keys() == {store.node(write[1]) for write in WRITES[25:]}


async def test_each_server_is_looked_at_once(store: Store) -> None:
    with track_nodes() as nodes:
        await store.gather(WRITES)
    before = await looks(store)
    await wait_for_aof(nodes)
    assert await looks(store) == [count + 2 for count in before]  # one of them is our own


async def looks(store: Store) -> list[int]:
    """How often each server was asked for INFO."""
    replies = await asyncio.gather(*(node.execute("INFO", "commandstats") for node in store.topology("posts").nodes))
    told = (parse_info(reply).get("cmdstat_info", "calls=0,") for reply in replies)
    return [int(each.partition("calls=")[2].partition(",")[0]) for each in told]
