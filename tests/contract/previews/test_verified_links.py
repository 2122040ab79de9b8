"""Links of a profile are verified by the pages that link back, with a real HTTPS server as another site."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from accounts.profile_texts import ProfileField, decode_fields, encode_fields
from socialsite.container import Services
from socialsite.outgoing.requests import OutgoingClient
from tests.support.notifications import ThreePeople
from tests.support.push_device import push_service
from tests.support.remote_server import RemoteServer, redirect_to, respond, use_client
from tests.support.world import World
from timelines.api.entities.account import account_entity
from timelines.previews.preview import find_link
from timelines.previews.verified_links import CHECK_INTERVAL_MS, is_verifiable

SITE = "https://social.example.org"
BACK = f'<p>Me: <a class="x" rel="nofollow me" href="{SITE}/@alice">here</a>'


@dataclass
class LinkScene:
    services: Services
    site: RemoteServer
    three: ThreePeople

    async def save(self, *values: str) -> None:
        await self.services.accounts.edit_profile(
            account_id=self.three[0].id,
            fields=encode_fields(ProfileField(f"Field {number}", value) for number, value in enumerate(values)),
        )

    async def deliver(self) -> list[str]:
        """Run the jobs, and return the paths that were fetched."""
        before, queue = len(self.site.requests), self.services.preview_queue
        await queue.create_group()
        while jobs := await queue.fetch("abad1dea", 100, 1):
            for job in jobs:
                await self.services.previews.handle(job.payload)
                await queue.finish(job)
        return [request.path for request in self.site.requests[before:]]

    async def age(self) -> None:
        """Let the last checks be older than CHECK_INTERVAL_MS."""
        account = await self.services.accounts.get(self.three[0].id)
        aged = [
            structs.replace(each, checked_ms=each.checked_ms - CHECK_INTERVAL_MS)
            for each in decode_fields(account.fields)
        ]
        assert await self.services.repositories.accounts.replace_text(
            self.three[0].id, "fields", encode_fields(aged), account.fields
        )

    async def verified(self) -> list[bool]:
        account = await self.services.accounts.get(self.three[0].id)
        return [bool(each.verified_ms) for each in decode_fields(account.fields)]


@pytest.fixture
async def scene(
    world: World, services: Services, three: ThreePeople, settings: Any, tmp_path: Path
) -> AsyncIterator[LinkScene]:
    settings.SITE_URL = SITE
    find_link.cache_clear()
    async with push_service(tmp_path) as (site, client):
        use_client(services, client)
        site.answers["/"] = respond(BACK)
        yield LinkScene(services, site, three)
    find_link.cache_clear()


async def test_a_link_whose_page_links_back_is_verified(scene: LinkScene) -> None:
    await scene.save("she/her", f"{scene.site.origin}/")
    version = (await scene.services.accounts.get(scene.three[0].id)).version
    assert await scene.deliver() == ["/"]
    account = await scene.services.accounts.get(scene.three[0].id)
    assert await scene.verified() == [False, True]
    assert account.version > version, "cached pages would stay"
    summaries = await scene.services.account_summaries.find({scene.three[0].id: account.author})
    shown = account_entity(summaries[scene.three[0].id], SITE)["fields"]
    assert [bool(each["verified_at"]) for each in shown] == [False, True]
    assert 'rel="me nofollow noopener"' in shown[1]["value"]


async def test_a_change_of_the_value_clears_the_mark_and_other_edits_keep_it(scene: LinkScene) -> None:
    """hachyderm/community#95: removing another field lost the mark."""
    link = f"{scene.site.origin}/"
    await scene.save("other", link)
    await scene.deliver()
    await scene.save(link)
    await scene.services.accounts.edit_profile(account_id=scene.three[0].id, bio="new")
    assert (await scene.verified(), await scene.deliver()) == ([True], [])
    await scene.save(f"{scene.site.origin}/elsewhere")
    assert await scene.verified() == [False]
    await scene.deliver()
    assert await scene.verified() == [False]


async def test_a_page_is_fetched_once_an_hour_however_often_the_profile_is_saved(scene: LinkScene) -> None:
    scene.site.answers["/"] = respond("not yet")
    link = f"{scene.site.origin}/"
    for _ in range(3):
        await scene.save(link, link)
    assert await scene.deliver() == ["/"]
    scene.site.answers["/"] = respond(BACK)
    await scene.save(link, link)
    assert await scene.deliver() == []
    await scene.age()
    await scene.services.accounts.edit_profile(account_id=scene.three[0].id, bio="any edit checks again")
    assert await scene.deliver() == ["/"]
    assert await scene.verified() == [True, True]


@pytest.mark.parametrize(
    ("page", "is_verified"),
    [
        (f'<LINK REL="me" HREF="{SITE}/@Alice/">', True),  # mastodon#9195 and #20807: slash and case
        (f"</body></html><a rel=me href={SITE}/@alice>late</a>", True),  # behind the end (hachyderm/community#95)
        (f'<a rel="me" href="https://other.example.org/@a">1</a>{BACK}', True),  # mastodon#21562: not the first
        ("<i></i>" * 20_000 + BACK, True),
        (f'<a href="{SITE}/@alice">no rel</a>', False),
        (f'<a rel="home" href="{SITE}/@alice">other rel</a>', False),
        (f'<a rel="me" href="{SITE}/@alice2">somebody else</a>', False),
        (f'<a rel="me" href="http://evil.example.org/?{SITE}/@alice">in a query</a>', False),
        (f"<!-- {BACK} -->", False),
        (f"<script>'{BACK}'</script><textarea>{BACK}</textarea>", False),
        (BACK.replace("@alice", "@bob"), False),
    ],
)
async def test_only_a_link_back_with_rel_me_verifies(scene: LinkScene, page: str, is_verified: bool) -> None:
    scene.site.answers["/"] = respond(page)
    await scene.save(f"{scene.site.origin}/")
    assert await scene.deliver() == ["/"]
    assert await scene.verified() == [is_verified]


async def test_answers_that_are_no_page_verify_nothing(scene: LinkScene) -> None:
    scene.site.answers |= {
        "/image": respond(BACK, "image/gif"),
        "/error": respond(BACK, status="500 Internal Server Error"),
        "/private": redirect_to("http://169.254.169.254/latest/"),
        "/large": respond("x" * 2_200_000 + BACK),
    }
    await scene.save(*(f"{scene.site.origin}/{path}" for path in ("image", "error", "private", "large")))
    assert sorted(await scene.deliver()) == ["/error", "/image", "/large", "/private"]
    assert await scene.verified() == [False] * 4


async def test_a_link_to_a_private_address_is_refused_before_a_connection(scene: LinkScene) -> None:
    use_client(scene.services, OutgoingClient())
    await scene.save(f"{scene.site.origin}/")
    assert await scene.deliver() == []
    assert await scene.verified() == [False]


async def test_an_edit_while_the_page_is_fetched_wins(scene: LinkScene) -> None:
    link = f"{scene.site.origin}/"

    async def edit_meanwhile(write: Any) -> None:
        await scene.save("something else")
        await write(respond(BACK))

    scene.site.answers["/"] = edit_meanwhile
    await scene.save(link)
    assert await scene.deliver() == ["/"]
    assert await scene.verified() == [False]


async def test_a_site_without_previews_checks_no_links(scene: LinkScene) -> None:
    off = Services(scene.services.store, scene.services.clock, replace(scene.services.config, link_previews=False))
    await off.accounts.edit_profile(
        account_id=scene.three[0].id, fields=encode_fields([ProfileField("a", f"{scene.site.origin}/")])
    )
    assert (await off.preview_queue.read_depth()).is_empty


async def test_the_links_of_an_account_are_limited_and_a_deleted_account_is_not_checked(
    scene: LinkScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timelines.previews.verified_links.PREVIEWS_PER_DAY", 1)
    await scene.save(f"{scene.site.origin}/")
    await scene.save(f"{scene.site.origin}/2")
    await scene.services.accounts.delete(account_id=scene.three[0].id)
    assert await scene.deliver() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://example.org/~me", True),
        ("HTTPS://Example.org", True),
        ("http://example.org", False),
        ("example.org", False),
        ("see https://example.org", False),
        ("https://example.org https://example.com", False),
        ("https://user@example.org/", False),
        ("https://exa\u200bmple.org/", False),
        (f"{SITE}/@bob/", False),
    ],
)
@pytest.mark.usefixtures("scene")
async def test_only_one_whole_link_with_https_to_another_site_is_checked(value: str, expected: bool) -> None:
    assert is_verifiable(value) is expected
