"""Messages that a reconnecting page has missed."""

import asyncio
import os
import random
import signal
import time
from functools import partial

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import id_at
from socialsite.recipes.presence import SENTINEL_MEMBER, members_key, processes_key
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.daphnes import DaphneProcess
from tests.support.random_activity import LivePage, LiveScreen, RandomActivitySite, Read, collapse_boosts
from tests.support.sockets import SocketClient, open_socket, sign_in_cookie
from tests.support.waiting import eventually
from tests.support.world import Person
from timelines.posts.post import FOLLOWERS


async def test_missed_entries_are_replayed_oldest_first_before_live_entries(daphne, world) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    known_post = await bob.publishes("held already")
    missed = [await bob.publishes(f"missed {n}") for n in range(5)]
    await world.deliver_all()
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        last = await reader.subscribe("home", after=known_post.id)
        assert last == {"type": "subscribed", "timeline": "home", "last": str(missed[-1].id)}
        # The known entry lies in the rewound minute; the client drops it.
        assert reader.entry_ids("home") == [known_post.id, *(post.id for post in missed)]
        live = await bob.publishes("live")
        await world.deliver_all()
        await reader.receive_entry(live.id)


async def test_without_a_cursor_only_new_entries_are_sent(daphne, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        assert (await reader.subscribe("public"))["last"] == "0"
        post = await bob.publishes("first")
        await reader.receive_entry(post.id)
    async with open_socket(daphne) as reader:
        assert (await reader.subscribe("public"))["last"] == str(post.id)
        assert reader.entry_ids("public") == []


@pytest.mark.parametrize(("missed", "is_gap"), [(100, False), (101, True)])
async def test_a_hundred_missed_entries_are_replayed_and_more_are_a_gap(daphne, world, missed, is_gap) -> None:
    bob = await world.person("bob")
    known_post = await bob.publishes("held already")
    posts = [await bob.publishes(f"missed {n}") for n in range(missed)]
    async with open_socket(daphne) as reader:
        assert (await reader.subscribe("public", after=known_post.id))["last"] == str(posts[-1].id)
        gap = {"type": "gap", "timeline": "public", "after": str(known_post.id), "newest": str(posts[-1].id)}
        assert (gap in reader.got) is is_gap
        assert reader.entry_ids("public") == ([] if is_gap else [known_post.id, *(post.id for post in posts)])


async def test_a_cursor_from_the_future_does_not_silence_the_timeline(daphne, world, services) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        last = int((await reader.subscribe("public", after=2**53 - 1))["last"])
        assert last <= id_at(services.clock.now_ms() + 1000)
        post = await bob.publishes("now")
        await reader.receive_entry(post.id)


async def test_a_second_subscription_replays_again(daphne, world, services) -> None:
    bob = await world.person("bob")
    await _until_registered(daphne, services, bob)
    post = await bob.publishes("one")
    async with open_socket(daphne) as reader:
        await reader.subscribe("public", after=0)
        await reader.subscribe("public", after=0)
        assert reader.told_ids("public") == [post.id, post.id]
        live = await bob.publishes("two")
        await reader.receive_entry(live.id)
        assert await reader.collect_for(0.3) == []


@pytest.mark.usefixtures("returning_connections")
async def test_a_killed_pubsub_connection_loses_nothing(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader, open_socket(daphne) as anonymous:
        await reader.subscribe("home")
        await anonymous.subscribe("public")
        node = services.store.node(processes_key())
        post_ids: list[int] = []
        for round_number in range(5):
            await eventually(partial(node.execute, "CLIENT", "KILL", "TYPE", "pubsub"))  # after the reconnect
            posts = [await bob.publishes(f"missed {round_number} {n}") for n in range(3)]
            post_ids += [post.id for post in posts]
            await world.deliver_all()
            await _until_seen(reader, "home", post_ids)
            await _until_seen(anonymous, "public", post_ids)


async def test_a_lost_presence_set_is_detected_and_its_entries_are_sent(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        for process in await services.store.node(processes_key()).execute("ZRANGE", processes_key(), 0, -1):
            key = members_key(process.decode())
            await services.store.node(key).execute("DEL", key)
        post = await bob.publishes("nobody was online")
        await world.deliver_all()
        await reader.receive_entry(post.id, timeout_s=10)


async def test_an_emptied_store_does_not_end_live_updates(daphne, world, services) -> None:
    async with open_socket(daphne) as reader:
        await reader.subscribe("public")
        await services.store.node(processes_key()).execute("FLUSHALL")
        bob = await world.person("bob")
        post = await bob.publishes("after the flood")
        await reader.receive_entry(post.id)


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_stopped_process_catches_up(daphne, world, services) -> None:
    """Its presence set expires meanwhile, so no entry is sent to it; its pub/sub connection stays open."""
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        first = await bob.publishes("before")
        await world.deliver_all()
        await reader.receive_entry(first.id)
        os.kill(daphne.pid, signal.SIGSTOP)
        try:
            for process in await services.store.node(processes_key()).execute("ZRANGE", processes_key(), 0, -1):
                key = members_key(process.decode())
                await services.store.node(key).execute("PEXPIRE", key, 1)
            await asyncio.sleep(16)
            missed = [await bob.publishes(f"missed {n}") for n in range(3)]
            own = await alice.publishes("heard by a fixed channel, and newer than what was missed")
            await world.deliver_all()
        finally:
            os.kill(daphne.pid, signal.SIGCONT)
        post_ids = [first.id, *(post.id for post in missed), own.id]
        await _until_seen(reader, "home", post_ids)


async def _until_registered(daphne: DaphneProcess, services: Services, reader: Person) -> None:
    """Let daphne notice that its presence set was emptied, and wait for the new one: then daphne replays no more."""

    async def is_registered() -> bool:
        node = services.store.node(processes_key())
        found = [members_key(process.decode()) for process in await node.execute("ZRANGE", processes_key(), 0, -1)]
        sets = [await services.store.node(key).execute("SMEMBERS", key) for key in found]
        return any({SENTINEL_MEMBER.encode(), b"%d" % reader.id} <= set(members) for members in sets)

    async with open_socket(daphne, await sign_in_cookie(reader)) as socket:
        await socket.subscribe("home")
        await eventually(is_registered)


async def _until_seen(reader: SocketClient, timeline: str, wanted: list[int]) -> None:
    async with asyncio.timeout(20):
        while not set(wanted) <= set(reader.entry_ids(timeline)):
            await reader.receive()


ROUNDS = int(os.environ.get("SOCKET_ROUNDS", "4"))

LIVE = 25

"""Actions while a socket stays open."""

HOURS_MS = 10 * 3_600_000


@pytest.fixture
async def town(store: Store) -> RandomActivitySite:
    seed = int(os.environ.get("SOCKET_SEED", "0")) or random.randrange(1 << 32)
    print(f"SOCKET_SEED={seed}")
    clock = FixedClock(int(time.time() * 1000) - HOURS_MS)
    return await RandomActivitySite.build(Services(store, clock, ServiceConfig()), clock, random.Random(seed))


@pytest.fixture
def screen(town: RandomActivitySite) -> LiveScreen:
    """Every timeline that Alice can open."""
    alice, reads = town.alice, town.services.reading

    def page(name: str, read: Read, *of: object, **by: object) -> LivePage:
        return LivePage(name, lambda limit: read(*of, **by, limit=limit))

    return LiveScreen(
        [
            page("home", reads.home, alice.id),
            page("public", reads.public, viewer_id=alice.id),
            page("profile:bob", reads.profile, town.authors[0].id, viewer_id=alice.id),
            page(f"list:{town.kept.id}", town.services.lists.read_timeline, town.kept.id, viewer_id=alice.id),
            page("tag:tea", reads.tag, "tea", viewer_id=alice.id),
        ]
    )


async def test_an_old_page_and_the_sockets_messages_equal_a_fresh_page(
    daphne: DaphneProcess, town: RandomActivitySite, screen: LiveScreen
) -> None:
    cookie = await sign_in_cookie(town.alice)
    for _ in range(ROUNDS):
        stop = asyncio.Event()
        life = asyncio.create_task(town.run_until(stop))
        async with open_socket(daphne, cookie) as reader:
            await screen.opens(reader)
            await screen.listens(reader, town.chance.uniform(0.05, 0.4))
            if town.chance.random() < 0.3:
                await town.break_live_connection()
                await screen.listens(reader, 0.2)
        await asyncio.sleep(town.chance.uniform(0, 0.3))  # entries appear and disappear while no socket is open
        stop.set()
        await life
    await town.world.deliver_all()
    async with open_socket(daphne, cookie) as reader:
        await screen.opens(reader)
        await screen.listens(reader, 1.0)
        await agreed(reader, screen)
        for _ in range(LIVE):  # the socket stays open from here
            await town.act_randomly()
        posts = [await town.boost_by_all() for _ in range(4)]
        await town.deliver_and_advance_clock()
        await agreed(reader, screen)
        for number, post in enumerate(posts[:2]):
            await town.remove_boost(number, post)
        await agreed(reader, screen)
    for number, post in enumerate(posts[2:]):
        await town.remove_boost(number, post)
    async with open_socket(daphne, cookie) as reader:
        await screen.opens(reader)
        await agreed(reader, screen)
        await town.break_live_connection()
        await town.act_randomly()
        await town.world.deliver_all()
        await agreed(reader, screen, within_s=30)
    print(", ".join(f"{page.name}: {len(page.shown)}" for page in screen.pages))


async def agreed(reader: SocketClient, screen: LiveScreen, within_s: float = 20) -> None:
    """Wait until the pages are correct; `within_s`: a process takes a while to detect a loss."""
    until = asyncio.get_running_loop().time() + within_s
    wrong = screen.pages
    while wrong and asyncio.get_running_loop().time() < until:
        await screen.listens(reader, 0.5)
        wrong = [page for page in screen.pages if not await page.is_fresh()]
    for page in wrong:
        assert collapse_boosts(page.shown) == collapse_boosts(await page.read()), page.name


async def test_a_watcher_gets_deletions_and_nothing_about_hidden_posts(
    daphne: DaphneProcess, town: RandomActivitySite
) -> None:
    bob, stranger = town.authors[0], town.authors[2]
    gone, remaining = await bob.publishes("gone"), await bob.publishes("stands")
    hidden = await stranger.publishes("for followers", audience=FOLLOWERS)
    await bob.deletes(gone)
    async with open_socket(daphne) as reader:
        ids = [gone.id, remaining.id, hidden.id, hidden.id + 1]
        await reader.send({"type": "watch", "ids": [str(id) for id in ids]})
        messages = await reader.collect_for(1.0)
        assert messages  # twice if the message of the deletion itself arrives as well
        assert all(message == {"type": "deleted", "id": str(gone.id)} for message in messages)
