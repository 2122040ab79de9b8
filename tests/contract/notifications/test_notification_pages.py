"""Pages of notifications: full pages, the read marker, caps, and receivers of live messages."""

import asyncio

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.notifications import ThreePeople, count_unread, mark_all_read, notification_texts
from tests.support.reactions import PersonReactions
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.keys import NOTIFICATIONS_CAP
from timelines.live_updates.process_messages import Notified
from timelines.notifications.kinds import MENTION
from timelines.notifications.notification import Selection
from timelines.notifications.repository import unread_command


async def test_the_read_marker_only_moves_forward_and_stays_below_new_notifications(
    alice: Person, bob: Person, carol: Person, services: Services
) -> None:
    notifications = services.notifications
    await bob.follows(alice)
    assert await mark_all_read(alice) == 0
    await carol.follows(alice)
    assert await count_unread(alice) == 1
    assert await notifications.mark_read(alice.id, PostId(1)) == 1
    page = await notifications.page(alice.id)
    assert [each.is_read for each in page.entries] == [False, True]
    assert await notifications.mark_read(alice.id, page.entries[0].id) == 0


async def test_pages_are_full_until_the_last_page(
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, services: Services
) -> None:
    posts = [await alice.publishes(f"word {number}") for number in range(12)]
    for post in posts:
        await acts.likes(bob, post)
        await acts.likes(carol, post)
        await acts.unlikes(carol, post)
    seen: list[int] = []
    before: int | None = None
    for size in (5, 5, 2):
        page = await services.notifications.page(alice.id, before=before, limit=5)
        assert len(page.entries) == size
        seen += [each.id for each in page.entries]
        before = page.next_before
    assert before is None
    assert seen == sorted(set(seen), reverse=True)
    newer = await services.notifications.page(alice.id, after=seen[4], limit=3)
    assert [each.id for each in newer.entries] == seen[1:4]
    assert newer.previous_after == seen[1]
    mentions = await services.notifications.page(alice.id, selection=Selection({MENTION}))
    assert mentions.entries == ()
    assert mentions.next_before is None


async def test_the_newest_thousand_notifications_are_kept(alice: Person, bob: Person, services: Services) -> None:
    key = keys.notifications(alice.id)
    fill = {f"like:{bob.id}:{number}": number for number in range(1, NOTIFICATIONS_CAP + 1)}
    await services.store.execute_all([("ZADD", key, score, member) for member, score in fill.items()])
    await bob.follows(alice)
    (size,) = await services.store.execute_all([("ZCARD", key)])
    assert size == NOTIFICATIONS_CAP
    assert await count_unread(alice) == 1
    assert await notification_texts(alice) == ["follow by bob"]


async def test_unread_notifications_are_counted_up_to_ninety_nine(
    alice: Person, bob: Person, acts: PersonReactions, services: Services
) -> None:
    posts = [await alice.publishes(f"word {number}") for number in range(105)]
    for post in posts:
        await acts.likes(bob, post)
    assert await count_unread(alice) == 100
    reply = (await services.store.execute_all([unread_command(alice.id)]))[0]
    assert (await services.notifications.badge(alice.id, reply)).text == "99+"


async def test_a_deleted_accounts_notifications_are_deleted(
    alice: Person, bob: Person, world: World, services: Services
) -> None:
    await bob.follows(alice)
    await mark_all_read(alice)
    await services.repositories.notifications.set_preferences(alice.id, {"like": "none"})
    await services.accounts.delete(account_id=alice.id)
    await bob.publishes("goodbye @alice")
    await world.deliver_all()
    gone = [build(alice.id) for build in (keys.notifications, keys.last_read_notification, keys.preferences)]
    assert await services.store.execute_all([("EXISTS", key) for key in gone]) == [0, 0, 0]


async def test_only_processes_with_the_reader_online_receive_a_message(three: ThreePeople, services: Services) -> None:
    alice, bob, carol = three
    heard: asyncio.Queue[object] = asyncio.Queue()
    hear = heard.put

    async def rest() -> None:
        return

    hub = services.live.listen(on_message=hear, on_lost=lambda: None, on_gap=rest)
    await hub.open()
    try:
        await hub.add_member(str(alice.id))
        await bob.follows(carol)
        await bob.follows(alice)
        (newest,) = (await services.notifications.page(alice.id)).entries
        async with asyncio.timeout(20):
            assert await heard.get() == Notified(((AccountId(alice.id), newest.id),))
        assert heard.empty()
    finally:
        await hub.close()


async def test_a_short_page_is_full_after_many_hidden_notifications(
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, world: World
) -> None:
    await acts.likes(carol, await alice.publishes("hello"))
    for number in range(30):
        await bob.publishes(f"@alice {number}")
    await world.deliver_all()
    await alice.mutes(bob)
    assert await notification_texts(alice, limit=1) == ["like by carol"]


async def test_a_thousand_hidden_notifications_cost_few_reads(
    alice: Person, bob: Person, carol: Person, services: Services, deployment: Deployment
) -> None:
    await carol.follows(alice)
    key = keys.notifications(alice.id)
    newest = int((await services.notifications.page(alice.id)).entries[0].id)
    fill = {f"like:{bob.id}:{number}": newest + number for number in range(1, NOTIFICATIONS_CAP)}
    await services.store.execute_all([("ZADD", key, score, member) for member, score in fill.items()])
    await alice.mutes(bob)
    with deployment.holding(key) as client:
        client.config_resetstat()
        assert await count_unread(alice) == 1
        assert (
            client.info("commandstats")["cmdstat_evalsha"]["calls"] <= 12
        )  # three rounds of three, and buffers that are written meanwhile
        client.config_resetstat()
        (entry,) = (await services.notifications.page(alice.id, limit=10)).entries
        assert (entry.kind.name, client.info("commandstats")["cmdstat_zrevrangebyscore"]["calls"]) <= ("follow", 5)
