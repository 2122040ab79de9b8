"""A muted thread gives no notifications. Its mute is private, bounded, and undone by the same menu."""

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.world import World
from tests.web.api.conftest import open_api  # noqa: F401  # a fixture
from timelines import keys
from timelines.errors import PostNotFound
from timelines.keys import MUTED_THREADS_CAP
from timelines.posts.post import FOLLOWERS

MUTE, UNMUTE = "Mute this conversation", "Unmute this conversation"


async def kinds(browser: HttpBrowser) -> list[str]:
    found = (await browser.get_json("/notifications/")).json()["notifications"]
    return sorted(each["kind"] for each in found)


async def test_a_muted_thread_gives_no_notifications(
    site: Services, world: World, alice: HttpBrowser, bob: HttpBrowser
) -> None:
    root = (await alice.post_json("/posts/", text="hello")).json()["id"]
    carol = await world.person("carol")
    reply = (await bob.post_json("/posts/", text="hi", in_reply_to=root)).json()["id"]
    await bob.post_json(f"/posts/{root}/like/")
    await bob.post_json("/posts/", text="@alice elsewhere")
    await world.deliver_all()
    assert await kinds(alice) == ["like", "mention", "reply"]
    page = await alice.get(f"/@alice/{root}/")
    assert f'formaction="/posts/{root}/mute/">{MUTE}' in page.text
    assert f'formaction="/posts/{reply}/mute/">{MUTE}' in page.text, "the reply answers alice"
    answer = await alice.post(f"/posts/{reply}/mute/")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/@bob/{reply}/")
    await site.publishing.publish(
        author_id=carol.id, text="@alice me too", in_reply_to=int(reply), now_ms=site.clock.now_ms()
    )
    await site.reactions.boost(account_id=carol.id, post_id=int(root), now_ms=site.clock.now_ms())
    await world.deliver_all()
    assert await kinds(alice) == ["mention"]
    assert (await alice.get_json("/notifications/unread/")).json() == {"unread": 1}
    assert f'formaction="/posts/{root}/unmute/">{UNMUTE}' in (await alice.get(f"/@alice/{root}/")).text
    assert UNMUTE not in (await bob.get(f"/@alice/{root}/")).text, "the mute of alice is private"
    await alice.post(f"/posts/{root}/unmute/")
    assert await kinds(alice) == ["boost", "like", "mention", "mention", "reply"]


async def test_the_thread_of_a_mention_can_be_muted_and_a_foreign_one_has_no_such_entry(
    site: Services, world: World, alice: HttpBrowser
) -> None:
    dave = await world.person("dave")
    mention, other = await dave.publishes("@alice hi"), await dave.publishes("nothing of alice")
    await world.deliver_all()
    assert MUTE in (await alice.get("/notifications/")).text
    assert MUTE in (await alice.get(f"/@dave/{mention.id}/")).text
    assert MUTE not in (await alice.get(f"/@dave/{other.id}/")).text


async def test_only_visible_threads_are_muted_and_the_newest_are_kept(site: Services, world: World) -> None:
    erin, frank = await world.people("erin", "frank")
    secret = await frank.publishes("secret", audience=FOLLOWERS)
    service, posts = site.muted_threads, [await frank.publishes(f"post {number}") for number in range(3)]
    key = keys.muted_threads(erin.id)
    earlier = [part for id in range(1, MUTED_THREADS_CAP - 1) for part in (id - MUTED_THREADS_CAP, id)]
    await site.store.component("timelines")[key].execute("ZADD", key, *earlier)
    with pytest.raises(PostNotFound):
        await service.mute(account_id=erin.id, post_id=secret.id, now_ms=1)
    for number, post in enumerate(posts):
        entry = await service.mute(account_id=erin.id, post_id=post.id, now_ms=number)
        assert entry.viewer is not None
        assert entry.viewer.muted
    muted = await site.store.component("timelines")[key].execute("ZRANGE", key, 0, -1)
    assert len(muted) == MUTED_THREADS_CAP
    assert muted[0] == b"2"
    assert muted[-3:] == [b"%d" % post.id for post in posts]
    unmuted = await service.unmute(account_id=erin.id, post_id=posts[2].id)
    assert unmuted.viewer is not None
    assert not unmuted.viewer.muted


async def test_apps_read_and_change_whether_a_thread_is_muted(site: Services, world: World, open_api) -> None:  # noqa: F811
    api = await open_api("grace")
    status = (await api.post("/api/v1/statuses", status="hello")).json()
    assert status["muted"] is False
    url = f"/api/v1/statuses/{status['id']}"
    assert (await api.post(f"{url}/mute")).json()["muted"] is True
    assert (await api.get(url)).json()["muted"] is True
    (shown,) = (await api.get("/api/v1/timelines/public")).json()
    assert shown["muted"] is True
    assert (await api.post(f"{url}/unmute")).json()["muted"] is False
    assert (await (await open_api("grace", "read")).post(f"{url}/mute")).status_code == 403
