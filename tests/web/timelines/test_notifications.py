"""Notifications over HTTP: the page, JSON, the badge of every page, and preferences."""

import re

import pytest

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser, hidden_field
from tests.support.redis_server import RedisServer
from tests.support.world import World
from tests.web.conftest import OpenBrowser
from timelines.notifications.kinds import KINDS

PAGE = "/notifications/"


@pytest.fixture
async def told(alice: HttpBrowser, bob: HttpBrowser, world: World) -> dict[str, str]:
    """Notify Alice of a reply and of a follow; return the ids of her post and of Bob's reply."""
    own = await alice.publish("hello")
    answer = await bob.publish("an answer to @alice", in_reply_to=own["id"])
    await bob.post_json("/@alice/follow/")
    await world.deliver_all()
    return {"own": own["id"], "answer": answer["id"]}


def badge_of(html: str) -> str:
    """Return the number in the navigation."""
    badge = re.search(r"<b class=\"badge\" data-badge( hidden)?>([^<]*)</b>", html)
    assert badge, "no badge"
    assert bool(badge[1]) == (badge[2] == "")
    return badge[2]


async def test_the_json_of_notifications_has_exactly_the_documented_fields(
    alice: HttpBrowser, told: dict[str, str]
) -> None:
    answer = (await alice.get_json(PAGE)).json()
    assert set(answer) == {"notifications", "next"}
    reply, follow = answer["notifications"]
    assert set(reply) == set(follow) == {"id", "kind", "account", "post", "created_at", "read"}
    assert (reply["kind"], reply["account"]["handle"], reply["post"]["id"]) == ("reply", "bob", told["answer"])
    assert (follow["kind"], follow["post"], follow["read"]) == ("follow", None, False)
    assert answer["next"] is None


async def test_notifications_are_paged_by_cursor(alice: HttpBrowser, told: dict[str, str]) -> None:
    first = (await alice.get_json(f"{PAGE}?limit=1")).json()
    second = (await alice.get_json(first["next"])).json()
    assert {first["notifications"][0]["kind"], second["notifications"][0]["kind"]} == {"reply", "follow"}
    assert second["next"] is None
    assert (await alice.get_json(f"{PAGE}?cursor=x")).status_code == 400
    mentions = (await alice.get_json(f"{PAGE}?tab=mentions")).json()["notifications"]
    assert [each["kind"] for each in mentions] == ["reply"]


async def test_every_page_has_the_badge_until_notifications_are_read(
    alice: HttpBrowser, visitor: HttpBrowser, told: dict[str, str]
) -> None:
    for path in ("/", "/public/", "/accounts/settings/", PAGE):
        page = await alice.get(path)
        assert badge_of(page.text) == "2"
    assert "data-badge" not in (await visitor.get("/public/")).text
    newest = hidden_field(page.text, "up_to")
    answer = await alice.post("/notifications/read/", up_to=newest)
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    after = (await alice.get("/")).text
    assert badge_of(after) == ""
    assert f'data-notifications="{newest}"' in after
    assert "told-new" not in (await alice.get(PAGE)).text
    assert (await alice.get_json(PAGE)).json()["notifications"][0]["read"] is True


async def test_notifications_are_read_in_part_and_repeatedly(alice: HttpBrowser, told: dict[str, str]) -> None:
    notifications = (await alice.get_json(PAGE)).json()["notifications"]
    part = await alice.post_json("/notifications/read/", up_to=notifications[1]["id"])
    assert part.json() == {"unread": 1} == (await alice.get_json("/notifications/unread/")).json()
    assert (await alice.post_json("/notifications/read/")).json() == {"unread": 0}
    assert (await alice.post_json("/notifications/read/", up_to=notifications[1]["id"])).json() == {"unread": 0}
    assert (await alice.post_json("/notifications/read/", up_to="x")).status_code == 400


async def test_adjacent_notifications_about_one_post_are_one_row(
    alice: HttpBrowser, bob: HttpBrowser, world: World, services: Services
) -> None:
    own = await alice.publish("hello, all of you")
    for handle in ("carol", "dave", "erin"):
        liker = await world.person(handle)
        await services.reactions.like(account_id=liker.id, post_id=int(own["id"]), now_ms=services.clock.now_ms())
    html = (await alice.get(PAGE)).text
    assert html.count("data-notification-id") == 1
    assert re.search(r'<bdi class="name">erin</bdi></a> and 2 others liked your post', html)
    assert f'<a href="/@alice/{own["id"]}/">hello, all of you</a>' in html
    await bob.post_json(f"/posts/{own['id']}/like/")
    german = await alice.get(PAGE, **{"Accept-Language": "de"})
    assert re.search(r'<bdi class="name">bob</bdi></a> und 3 weiteren gefällt dein Beitrag', german.text)


async def test_replies_to_one_post_are_one_row_with_the_newest_shown(
    alice: HttpBrowser, bob: HttpBrowser, world: World
) -> None:
    own, other = await alice.publish("hello, all of you"), await alice.publish("another post")
    replies = [await bob.publish(f"answer {number}", in_reply_to=own["id"]) for number in range(4)]
    await bob.publish("alone", in_reply_to=other["id"])
    await world.deliver_all()
    html = (await alice.get(PAGE)).text
    assert html.count("data-notification-id") == 2
    shown, folded = html.split("Show 2 more replies</summary>")
    assert [reply["id"] for reply in replies if f'data-post-id="{reply["id"]}"' in shown] == [
        reply["id"] for reply in replies[2:]
    ]
    assert all(f'data-post-id="{reply["id"]}"' in folded for reply in replies[:2])
    assert html.count("replied to you") == 2
    assert "other replied to you" not in html


async def test_alternating_likes_and_boosts_are_two_rows(alice: HttpBrowser, world: World, services: Services) -> None:
    own = await alice.publish("hello, all of you")
    for handle in ("carol", "dave", "erin"):
        reactor = await world.person(handle)
        for act in (services.reactions.like, services.reactions.boost):
            await act(account_id=reactor.id, post_id=int(own["id"]), now_ms=services.clock.now_ms())
    html = (await alice.get(PAGE)).text
    assert html.count("data-notification-id") == 2
    for words in ("liked", "boosted"):
        assert re.search(rf'<bdi class="name">erin</bdi></a> and 2 others {words} your post', html)


async def test_visitors_are_sent_to_log_in(visitor: HttpBrowser) -> None:
    assert (await visitor.get(PAGE)).headers["location"] == "/accounts/login/?next=%2Fnotifications%2F"
    assert (await visitor.get_json("/notifications/unread/")).status_code == 401
    assert (await visitor.post_json("/notifications/read/")).status_code == 401
    assert (await visitor.get_json("/accounts/notifications/")).status_code == 401


async def test_preferences_are_saved(alice: HttpBrowser, bob: HttpBrowser, world: World) -> None:
    page = (await alice.get("/accounts/notifications/")).text
    assert page.count('value="all" checked') == len(KINDS)
    assert page.count('value="followed"') == sum(kind.actor != "reader" for kind in KINDS.values())
    answer = await alice.post("/accounts/notifications/", follow="none", mention="followed")
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/notifications/")
    wishes = (await alice.get_json("/accounts/notifications/")).json()["notifications"]
    assert (wishes["follow"], wishes["mention"], wishes["like"]) == ("none", "followed", "all")
    assert (await alice.post_json("/accounts/notifications/", like="some")).status_code == 400
    await bob.post_json("/@alice/follow/")
    assert badge_of((await alice.get("/")).text) == ""


async def test_hostile_names_stay_text(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await bob.post("/accounts/settings/", display_name="{}<b>%(name)s%s", bio="", link="")
    await bob.post_json("/@alice/follow/")
    assert '<bdi class="name">{}&lt;b&gt;%(name)s%s</bdi></a> follows you' in (await alice.get(PAGE)).text


async def test_pages_omit_the_badge_while_timelines_are_unreachable(
    redis_url: str, server: RedisServer, open_browser: OpenBrowser
) -> None:
    urls = StoreUrls(redis_url, {"timelines": server.url})
    async with open_services(urls, ServiceConfig(rate_limits={"address": 10_000})) as opened:
        loop_services.bind(opened)
        alice = await open_browser("alice")
        assert (await alice.get("/accounts/sessions/")).text.count("data-notifications=") == 1
        server.kill()
        page = await alice.get("/accounts/sessions/")
        assert page.status_code == 200
        assert badge_of(page.text) == ""
        assert 'data-notifications=""' in page.text
