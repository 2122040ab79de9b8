"""Actions of a listener: at its start, at each renewal, after a loss, and after closing."""

import asyncio

import pytest

from socialsite.clock import FixedClock
from socialsite.recipes.presence import (
    PRESENCE_TTL_S,
    PROCESS_TTL_S,
    SENTINEL_MEMBER,
    Presence,
    fixed_channel,
    members_key,
    process_channel,
    processes_key,
)
from socialsite.store import Store
from tests.support.nodes import run_command
from tests.support.pubsub_process import DISABLED_INTERVAL_S, NOW_MS, StartListener, WebProcess
from tests.support.waiting import eventually


async def listed(store: Store, process: WebProcess) -> set[bytes]:
    members: list[bytes] = await run_command(store, "SMEMBERS", members_key(process.hub.process_id))
    return set(members)


async def told(presence: Presence, process: WebProcess, text: bytes) -> None:
    await presence.publish({process_channel(process.hub.process_id): text})
    await process.wait_for_message(text)


async def test_an_open_listener_is_registered_before_its_first_renewal(
    start: StartListener, presence: Presence, store: Store
) -> None:
    process = await start(DISABLED_INTERVAL_S)
    assert await presence.live_processes() == [process.hub.process_id]
    gone_at_ms = await run_command(store, "ZSCORE", processes_key(), process.hub.process_id)
    assert int(float(gone_at_ms)) == NOW_MS + PROCESS_TTL_S * 1000 == NOW_MS + 30_000


async def test_no_loss_is_reported_without_a_loss(start: StartListener, presence: Presence) -> None:
    process = await start(0.05)
    await process.hub.add_member("7")
    await asyncio.sleep(0.3)
    await told(presence, process, b"word")
    assert (process.losses, process.gaps) == (0, 0)


async def test_the_next_renewal_removes_members_that_left(
    start: StartListener, store: Store, clock: FixedClock
) -> None:
    slow, quick = await start(DISABLED_INTERVAL_S), await start(0.05)
    for process in (slow, quick):
        for member in ("7", "8"):
            await process.hub.add_member(member)
        process.hub.remove_member("7")
    await eventually(lambda: not quick.hub._sockets_by_member.keys() & {"7"})
    await asyncio.sleep(0.2)
    assert await listed(store, quick) == {SENTINEL_MEMBER.encode(), b"8"}
    assert await listed(store, slow) == {SENTINEL_MEMBER.encode(), b"7", b"8"}


async def test_a_renewal_extends_the_ttl_of_the_set(start: StartListener, store: Store) -> None:
    key = members_key((await start(0.05)).hub.process_id)
    await run_command(store, "EXPIRE", key, 5)

    async def is_renewed() -> bool:
        return int(await run_command(store, "TTL", key)) > 5

    await eventually(is_renewed)


async def test_adding_a_member_to_a_lost_set_reports_the_loss_immediately(start: StartListener, store: Store) -> None:
    process = await start(DISABLED_INTERVAL_S)
    await process.hub.add_member("7")
    assert process.losses == 0
    await run_command(store, "DEL", members_key(process.hub.process_id))
    await process.hub.add_member("8")
    assert process.losses == 1
    await eventually(lambda: process.gaps == 1)
    assert await listed(store, process) == {SENTINEL_MEMBER.encode(), b"7", b"8"}


async def test_a_resync_runs_once_and_leaves_out_members_that_left(start: StartListener, store: Store) -> None:
    process = await start(DISABLED_INTERVAL_S)
    for member in ("7", "8"):
        await process.hub.add_member(member)
    process.hub.remove_member("7")
    await run_command(store, "DEL", members_key(process.hub.process_id))
    process.hub.resync()
    await eventually(lambda: process.gaps == 1)
    assert await listed(store, process) == {SENTINEL_MEMBER.encode(), b"8"}
    await asyncio.sleep(0.3)
    assert (process.losses, process.gaps) == (1, 1)


@pytest.mark.parametrize(("stood_s", "losses"), [(PRESENCE_TTL_S - 5, 0), (PRESENCE_TTL_S + 0.1, 1)])
async def test_the_next_message_resyncs_a_process_that_was_paused_longer_than_its_ttl(
    start: StartListener, presence: Presence, stood_s: float, losses: int
) -> None:
    process = await start(DISABLED_INTERVAL_S)
    process.hub._renewed_at -= stood_s
    await presence.publish({process_channel(process.hub.process_id): b"one"})
    await process.wait_for_message(b"one")
    assert process.losses == losses
    await eventually(lambda: process.gaps == losses)
    await told(presence, process, b"two")
    assert process.losses == losses


async def test_a_message_during_a_resync_reports_no_second_loss(start: StartListener) -> None:
    process = await start(DISABLED_INTERVAL_S)
    process.hub._renewed_at -= PRESENCE_TTL_S + 1
    assert process.hub._has_presence_expired()
    process.hub.resync()
    assert not process.hub._has_presence_expired()
    await eventually(lambda: process.gaps == 1)
    assert not process.hub._has_presence_expired()


async def test_a_renewal_keeps_a_process_registered(start: StartListener) -> None:
    process = await start(0.05)
    process.hub._renewed_at -= PRESENCE_TTL_S + 1
    await eventually(lambda: not process.hub._has_presence_expired())
    assert process.losses == 0


async def test_a_closed_listener_receives_nothing_and_may_be_opened_again(
    start: StartListener, presence: Presence, store: Store
) -> None:
    process = await start(DISABLED_INTERVAL_S)
    assert len(store.on_topology_change) == 1
    await process.hub.close()
    assert not store.on_topology_change
    assert await presence.live_processes() == []
    assert await listed(store, process) == set()
    await presence.publish({fixed_channel(0): b"unheard"})
    await process.hub.open()
    await told(presence, process, b"heard")
    assert process.heard == [b"heard"]


async def test_a_renewal_in_progress_does_not_register_a_closed_listener_again(
    start: StartListener, presence: Presence, store: Store
) -> None:
    process = await start(0.05)
    await process.hub.close()
    await asyncio.sleep(0.3)
    assert await presence.live_processes() == []
    assert await listed(store, process) == set()


async def test_moved_channels_are_subscribed_only_at_their_new_node(
    start: StartListener, presence: Presence, store: Store
) -> None:
    """The topology changes; here one channel fewer is needed, so the others are subscribed again."""
    process = await start(DISABLED_INTERVAL_S)
    before = len(process.hub._subscriptions)
    store.notify_topology_change()
    assert process.losses == 0
    process.hub._channels.remove(fixed_channel(15))
    store.notify_topology_change()
    await eventually(lambda: process.gaps == 1)
    await presence.publish({fixed_channel(number): b"word %d" % number for number in range(16)})
    await process.wait_for_message(b"word 14")
    await asyncio.sleep(0.2)
    assert sorted(process.heard) == sorted(b"word %d" % number for number in range(15))
    assert (process.losses, process.gaps, len(process.hub._subscriptions)) == (1, 1, before)
