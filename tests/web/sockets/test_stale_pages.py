"""An old page and the socket's messages equal a fresh page, for every timeline, after any disconnections.

A reader keeps the entries of a page, applies `entry`, `deleted` and `gap` as static/js/live.js does, and loses
its socket again and again. Hours pass on the authors' clock, so that a replay, which begins a minute before the
last id, covers only a part. `SOCKET_ROUNDS=40` runs longer; the seed is printed.
"""

import asyncio
import os
import random
import time

import pytest
import pytest_asyncio

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.screen import LivePage, LiveScreen, Read, collapse_boosts
from tests.support.sockets import DaphneProcess, SocketClient, open_socket, sign_in_cookie
from tests.support.writing_town import RandomActivitySite
from timelines.posts.post import FOLLOWERS

ROUNDS = int(os.environ.get("SOCKET_ROUNDS", "4"))
LIVE = 25
"""Actions while a socket stays open."""
HOURS_MS = 10 * 3_600_000


@pytest_asyncio.fixture
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
            page(f"list:{town.kept.id}", reads.list_timeline, town.kept.id, viewer_id=alice.id),
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
