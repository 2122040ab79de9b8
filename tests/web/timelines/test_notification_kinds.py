"""A declared kind of notification is shown and chosen everywhere, without another change."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from socialsite.asgi import application
from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.store import Key
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.support.push_device import PushDevice
from tests.support.world import Person, World
from tests.web.accounts.test_mail_pages import confirm, smtp, work
from timelines import keys
from timelines.api.streaming import EntityFrames
from timelines.live.frames import PAGE_FRAMES
from timelines.notifications.kinds import KINDS, NotificationKind
from timelines.notifications.pending import OVERDUE_MS, PendingNotification
from timelines.push.jobs import build_message

__all__ = ["smtp"]
PAGE, SETTINGS, DEVICE = "/notifications/", "/accounts/notifications/", "/accounts/notifications/device/"
DECLARATION: dict[str, Any] = {
    "name": "sample",
    "api_type": "pinned",
    "icon": "bookmark",
    "label": "Pins of your posts",
    "text": "%(name)s pinned your post",
    "text_for_several": "%(name)s and %(count)d others pinned your post",
    "link": ("/pins/", "All pins"),
    "is_urgent": True,
    "group_by": "post",
    "is_grouped_in_api": True,
    "repeats": "daily",
}


def pin_cause(_reader: int, actor_id: int, post_id: PostId) -> tuple[Key, Any]:
    return keys.pins(actor_id), post_id


@pytest.fixture
def pin() -> Iterator[NotificationKind]:
    yield NotificationKind(**DECLARATION, cause=pin_cause)
    del KINDS["sample"]


class Scene(NamedTuple):
    kind: NotificationKind
    alice: HttpBrowser
    pinners: list[Person]
    post_id: PostId


@pytest.fixture
async def scene(pin: NotificationKind, site: Services, world: World, alice: HttpBrowser) -> Scene:
    """Bob and Carol have pinned a post of Alice, in this order."""
    post_id = PostId(int((await alice.publish("hello, both of you"))["id"]))
    pinners = await world.people("bob", "carol")
    for person in pinners:
        await site.repositories.pins.add(person.id, post_id, site.clock.now_ms())
        await site.notifications.add({(await get_id(site, "alice")): pin}, person.id, post_id)
    return Scene(pin, alice, pinners, post_id)


async def get_id(site: Services, handle: str) -> Any:
    return (await site.accounts.get_by_handle(handle)).id


async def test_the_page_its_json_and_the_badge_show_a_declared_kind(site: Services, scene: Scene) -> None:
    html = (await scene.alice.get(PAGE)).text
    assert re.search(r'<bdi class="name">carol</bdi></a> and 1 others pinned your post', html)
    assert html.count('data-kind="sample"') == 1
    assert "icons.svg#bookmark" in re.sub(r"icons\.\w+\.svg", "icons.svg", html)
    assert '<a href="/pins/">All pins</a>' in html
    shown = (await scene.alice.get_json(PAGE)).json()["notifications"]
    assert [(each["kind"], each["account"]["handle"], each["post"]["id"]) for each in shown] == [
        ("sample", "carol", str(scene.post_id)),
        ("sample", "bob", str(scene.post_id)),
    ]
    assert (await scene.alice.get_json("/notifications/unread/")).json() == {"unread": 2}
    assert (await scene.alice.get_json(f"{PAGE}?tab=mentions")).json()["notifications"] == []


async def test_the_api_shows_filters_and_groups_a_declared_kind(site: Services, scene: Scene) -> None:
    async with ApiClient(application, token=await create_token(site, "alice")) as api:
        single = (await api.get("/api/v1/notifications", **{"types[]": "pinned"})).json()
        assert [(each["type"], each["status"]["id"]) for each in single] == [("pinned", str(scene.post_id))] * 2
        (group,) = (await api.get("/api/v2/notifications")).json()["notification_groups"]
        assert (group["type"], group["notifications_count"]) == ("pinned", 2)
        assert {each["group_key"] for each in single} == {group["group_key"]}
        found = (await api.get(f"/api/v2/notifications/{group['group_key']}")).json()
        assert found["notification_groups"][0]["notifications_count"] == 2
        assert (await api.get("/api/v1/notifications", **{"exclude_types[]": "pinned"})).json() == []
        device = PushDevice("https://push.example.com/app")
        fields = {"subscription": {"endpoint": device.endpoint, "keys": device.keys}, "data": {"alerts": {"pinned": 1}}}
        made = (await api.post("/api/v1/push/subscription", **fields)).json()
        assert [name for name, is_on in made["alerts"].items() if is_on] == ["pinned"]


async def test_sockets_of_pages_and_apps_get_a_declared_kind(site: Services, scene: Scene) -> None:
    entry = (await site.notifications.page(await get_id(site, "alice"))).entries[0]
    frame = msgspec.json.decode((await PAGE_FRAMES.entry("notifications", entry, "en")).text)
    assert "carol</bdi></a> pinned your post" in frame["html"]
    streamed = await EntityFrames(site, "https://example.org").entry("user:notification", entry, "en")
    assert streamed is not None
    assert msgspec.json.decode(msgspec.json.decode(streamed.text)["payload"])["type"] == "pinned"


async def test_devices_get_a_declared_kind_and_choose_it(site: Services, scene: Scene) -> None:
    device = PushDevice("https://push.example.com/abc")
    made = await scene.alice.post_json(DEVICE, endpoint=device.endpoint, **device.keys)
    assert "sample" in made.json()["device"]["kinds"]
    assert "Pins of your posts" in (await scene.alice.get(DEVICE)).text
    entry = (await site.notifications.page(await get_id(site, "alice"))).entries[0]
    (subscription,) = (await site.push.push_subscriptions.find_all(await get_id(site, "alice"))).values()
    message = msgspec.json.decode(build_message(subscription, entry, shows_text=True))
    assert (message["title"], message["notification_type"]) == ("carol pinned your post", "pinned")
    assert message["body"] == "hello, both of you"
    assert (await scene.alice.post_json(DEVICE, kinds=["sample"])).json()["device"]["kinds"] == ["sample"]


async def test_a_digest_has_a_line_for_a_declared_kind(site: Services, scene: Scene, smtp: Any) -> None:
    await confirm(site, scene.alice, smtp)
    clock = FixedClock(site.clock.now_ms() - 60_000)  # the period begins before the pins
    site.digests.clock = site.mail.clock = site.mail_sending.clock = clock
    await scene.alice.post("/accounts/mail/digest/", digest="daily")
    clock.advance(DAY_MS)
    await site.digests.send_due()
    await work(site)
    (message,) = smtp.messages
    assert "Pins of your posts: 2 (@carol, @bob)" in message.get_body(("plain",)).get_content()


async def test_preferences_decide_about_a_declared_kind(site: Services, world: World, scene: Scene) -> None:
    form = (await scene.alice.get(SETTINGS)).text
    assert "Pins of your posts" in form
    assert 'name="initial-sample" value="all"' in form
    await scene.alice.post(SETTINGS, sample="followed")
    assert (await scene.alice.get_json(SETTINGS)).json()["notifications"]["sample"] == "followed"
    dave, alice_id = await world.person("dave"), await get_id(site, "alice")
    await site.repositories.pins.add(dave.id, scene.post_id, site.clock.now_ms())
    await site.notifications.add({alice_id: scene.kind}, dave.id, scene.post_id)
    assert len((await site.notifications.page(alice_id)).entries) == 2
    assert (await scene.alice.post_json(SETTINGS, sample="some")).status_code == 400


async def test_a_declared_kind_is_shown_while_its_cause_and_its_post_exist(site: Services, scene: Scene) -> None:
    bob, _ = scene.pinners
    await site.repositories.pins.remove(bob.id, [scene.post_id])
    shown = (await scene.alice.get_json(PAGE)).json()["notifications"]
    assert [each["account"]["handle"] for each in shown] == ["carol"]
    await scene.alice.post_json(f"/posts/{scene.post_id}/delete/")
    assert (await scene.alice.get_json(PAGE)).json()["notifications"] == []


async def test_a_pending_notification_of_a_declared_kind_is_delivered(site: Services, scene: Scene) -> None:
    alice_id, (bob, _) = await get_id(site, "alice"), scene.pinners
    await site.notifications.delete(alice_id)
    for post_id in (scene.post_id, PostId(scene.post_id + 1)):  # the second is not pinned
        entry = PendingNotification(scene.kind, bob.id, alice_id, post_id)
        await site.repositories.pending_notifications.add(entry, site.clock.now_ms() - 2 * OVERDUE_MS)
    assert await site.pending_notifications.deliver_overdue() == 2
    stored = (await site.repositories.notifications.read(alice_id, 1 << 53, 9)).notifications
    assert [(each.kind, each.post_id) for each in stored] == [(scene.kind, scene.post_id)]
    with pytest.raises(ValueError, match="no cause"):
        async with site.pending_notifications.track(PendingNotification(KINDS["mention"], bob.id, alice_id)):
            pytest.fail("a worker could not deliver it")


@pytest.mark.parametrize(
    "changes",
    [{"name": "like"}, {"name": "sample:post"}, {"text_for_several": None}, {"api_type": ""}, {"group_by": None}],
)
def test_an_incomplete_declaration_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="kind"):
        NotificationKind(**{**DECLARATION, **changes})
    assert "sample" not in KINDS
    with pytest.raises(TypeError, match="label"):
        NotificationKind(**{name: value for name, value in DECLARATION.items() if name != "label"})
