"""Previews of links: what is fetched and stored, and where the preview is shown."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from msgspec import structs

from socialsite.clock import DAY_MS
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.outgoing.requests import OutgoingClient
from socialsite.recipes.job import Job
from tests.support.api import ApiSite
from tests.support.notifications import ThreePeople
from tests.support.pictures import picture
from tests.support.remote_server import RemoteServer, redirect_to, remote_server, respond, use_client
from tests.support.world import Person, World
from timelines import keys
from timelines.api.presenters import status_json
from timelines.errors import PostNotFound
from timelines.media.media import PREVIEW_PICTURE_TTL_MS, UNATTACHED_MS
from timelines.media.processing import decode_job
from timelines.pages.presenters import entry_html, post_json
from timelines.posts.post import Post
from timelines.previews import repository, service
from timelines.previews.preview import digest_of
from timelines.previews.service import RENEW_AFTER_MS

PAGE = """<html><head><title>Plain &amp; title</title>
<meta property="og:title" content="A &quot;title&quot;"><meta name="description" content='What it
is about'></head></html>"""


@dataclass
class PreviewScene:
    world: World
    services: Services
    site: RemoteServer

    async def deliver(self) -> int:
        """Run the workers, and return the number of pages that were fetched."""
        fetched = len(self.site.requests)
        await self.world.deliver_all()
        queue = self.services.preview_queue
        await queue.create_group()
        while jobs := await queue.fetch("abad1dea", 100, 1):
            for job in jobs:
                await self.services.previews.handle(job.payload)
                await queue.finish(job)
        return len(self.site.requests) - fetched

    @asynccontextmanager
    async def encodes(self) -> AsyncIterator[None]:
        """Encode pictures during the block."""
        encoder = self.services.background_queues["media"].make_worker()
        running = asyncio.create_task(encoder.run())
        try:
            yield
        finally:
            encoder.stop()
            await running

    async def card(self, post: Post, viewer: Person | None = None, services: Services | None = None) -> str | None:
        entry = await (services or self.services).pipeline.find_visible(viewer and viewer.id, post.id)
        assert entry is not None
        return None if entry.shown.preview is None else entry.shown.preview.title


@pytest.fixture
async def scene(world: World, services: Services) -> AsyncIterator[PreviewScene]:
    async with remote_server() as site:
        use_client(services, OutgoingClient(exempt=site.exempt))
        site.answers["/"] = respond(PAGE)
        yield PreviewScene(world, services, site)


async def test_a_post_shows_the_title_and_the_text_of_its_link(scene: PreviewScene, three: ThreePeople) -> None:
    alice, bob, carol = three
    post = await alice.publishes(f"read {scene.site.origin}/ and https://other.example/")
    assert await scene.card(post) is None
    assert await scene.deliver() == 1
    entry = await scene.services.pipeline.find_visible(bob.id, post.id)
    assert entry is not None
    assert entry.preview is not None
    assert (entry.preview.title, entry.preview.description) == ('A "title"', "What it is about")
    assert entry.preview.host == f"127.0.0.1:{scene.site.port}"
    assert post_json(entry)["card"]["title"] == 'A "title"'
    html = entry_html(entry, "en")
    assert '<bdi class="card-title">A &quot;title&quot;</bdi>' in html
    assert f'href="{scene.site.origin}/" rel="nofollow ugc noopener"' in html
    assert "unpreview" not in html
    await scene.services.reactions.boost(account_id=carol.id, post_id=post.id, now_ms=scene.services.clock.now_ms())
    assert await scene.card(post, alice) == 'A "title"'


async def test_a_link_is_fetched_once_for_all_posts_also_if_it_fails(scene: PreviewScene, three: ThreePeople) -> None:
    alice, bob, _ = three
    broken = f"{scene.site.origin}/broken"
    scene.site.answers["/broken"] = respond("x", status="500 Internal Server Error")
    for person in (alice, bob, alice):
        await person.publishes(f"{scene.site.origin}/")
        await person.publishes(f"{broken} once more")
        await scene.deliver()
    assert [request.path for request in scene.site.requests] == ["/", "/broken"]


async def test_an_account_has_a_limited_number_of_new_previews_a_day(
    scene: PreviewScene, three: ThreePeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PREVIEWS_PER_DAY", 2)
    scene.site.answers |= {f"/{number}": respond(PAGE) for number in range(3)}
    alice, bob, _ = three
    posts = [await alice.publishes(f"see {scene.site.origin}/{number}") for number in range(3)]
    assert await scene.deliver() == 2
    assert [bool(await scene.card(post)) for post in posts].count(True) == 2
    other = await bob.publishes(f"see {scene.site.origin}/2")
    await scene.deliver()
    assert await scene.card(other)


async def test_a_preview_stays_if_the_page_cannot_be_fetched_again(scene: PreviewScene, three: ThreePeople) -> None:
    alice, bob, _ = three
    url = f"{scene.site.origin}/"
    post = await alice.publishes(url)
    await scene.deliver()
    stored = scene.services.repositories.previews
    preview = await stored.find(url)
    assert preview is not None
    await stored.save(structs.replace(preview, fetched_ms=preview.fetched_ms - RENEW_AFTER_MS))
    scene.site.answers["/"] = respond("", status="500 Internal Server Error")
    await bob.publishes(f"again {url}")
    assert await scene.deliver() == 1
    assert await scene.card(post) == 'A "title"'
    await bob.publishes(f"once more {url}")
    assert await scene.deliver() == 0


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/image", respond(b"GIF89a", "image/gif")),
        ("/private", redirect_to("http://169.254.169.254/latest/meta-data/")),
        ("/empty", respond("")),
        ("/hidden", respond("<title>\u202e\x07\u200b</title>")),
        ("/large", respond("<p>" + "x" * 2_200_000 + "<title>late</title>")),
    ],
)
async def test_a_page_without_a_usable_title_has_no_preview(
    scene: PreviewScene, three: ThreePeople, path: str, answer: bytes
) -> None:
    scene.site.answers[path] = answer
    post = await three[0].publishes(scene.site.origin + path)
    assert await scene.deliver() == 1
    assert await scene.card(post) is None
    assert await scene.services.repositories.previews.find(scene.site.origin + path) is not None


async def test_the_author_removes_a_preview_and_an_edit_keeps_it_removed(
    scene: PreviewScene, alice: Person, bob: Person
) -> None:
    url = f"{scene.site.origin}/"
    post = await alice.publishes(f"read {url}")
    other = await bob.publishes(f"I read {url}, too")
    await scene.deliver()
    with pytest.raises(PostNotFound):
        await scene.services.previews.remove(bob.id, post.id)
    with pytest.raises(PostNotFound):
        await scene.services.previews.remove(alice.id, PostId(7))
    entry = await scene.services.pipeline.find_visible(alice.id, post.id)
    assert entry is not None
    assert f"/posts/{post.id}/unpreview/" in entry_html(entry, "en")
    await scene.services.previews.remove(alice.id, post.id)
    assert await scene.card(post, alice) is None
    await alice.edits(post, f"please read {url}")
    await scene.deliver()
    assert await scene.card(post) is None
    assert await scene.card(other) == 'A "title"'
    await alice.deletes(post)
    key = keys.hidden_preview(post.id)
    assert not await scene.services.store.node(key).execute("EXISTS", key)


async def test_an_edit_replaces_the_preview(scene: PreviewScene, alice: Person) -> None:
    scene.site.answers["/new"] = respond("<title>New</title>")
    post = await alice.publishes(f"{scene.site.origin}/")
    await scene.deliver()
    assert await scene.card(post) == 'A "title"'
    edited = await alice.edits(post, f"{scene.site.origin}/new")
    await scene.deliver()
    assert await scene.card(post) == "New"
    await alice.edits(edited, "no link")
    assert await scene.card(post) is None


async def test_an_edit_renews_the_title_of_a_link_after_a_day_and_after_its_preview_has_expired(
    scene: PreviewScene, alice: Person
) -> None:
    url, stored = f"{scene.site.origin}/", scene.services.repositories.previews
    post = await alice.publishes(url)
    await scene.deliver()
    preview = await stored.find(url)
    assert preview is not None
    ttl_ms = await scene.services.store.node(keys.preview(digest_of(url))).execute("PTTL", keys.preview(digest_of(url)))
    assert 29 * DAY_MS < ttl_ms <= 30 * DAY_MS
    post = await alice.edits(post, f"read {url}")
    assert await scene.deliver() == 0, "the title is new"
    scene.site.answers["/"] = respond("<title>Tomorrow</title>")
    await stored.save(structs.replace(preview, fetched_ms=preview.fetched_ms - RENEW_AFTER_MS))
    post = await alice.edits(post, f"please read {url}")
    assert await scene.deliver() == 1
    assert await scene.card(post) == "Tomorrow"
    scene.site.answers["/"] = respond("<title>Next month</title>")
    await scene.services.store.node(keys.preview(digest_of(url))).execute("DEL", keys.preview(digest_of(url)))
    assert await scene.card(post) is None
    await alice.edits(post, f"read {url} again")
    assert await scene.deliver() == 1
    assert await scene.card(post) == "Next month"


async def test_a_preview_that_has_expired_is_fetched_again_when_its_post_is_read(
    scene: PreviewScene, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, url, dead = scene.services, f"{scene.site.origin}/", f"{scene.site.origin}/dead"
    post, removed = await alice.publishes(url), await alice.publishes(f"{scene.site.origin}/removed")
    scene.site.answers["/dead"] = respond("", status="404 Not Found")
    failed = await alice.publishes(dead)
    await scene.deliver()
    await services.previews.remove(alice.id, removed.id)
    for link in (url, dead, f"{scene.site.origin}/removed"):
        await services.store.node(keys.preview(digest_of(link))).execute("DEL", keys.preview(digest_of(link)))
    assert await scene.card(post) is None
    await services.previews.request_renewals()
    assert await scene.deliver() == 0, "the worker fetches the link of a new post without a reader"
    monkeypatch.setattr(repository, "EXPIRED_AGE_MS", 0)
    for _ in range(3):
        for each in (post, failed, removed):
            assert await scene.card(each) is None
        await services.previews.request_renewals()
    assert await scene.deliver() == 2, "one request for each link that is shown"
    assert await scene.card(post) == 'A "title"'
    key = keys.preview(digest_of(dead))
    assert await services.store.node(key).execute("PTTL", key) > DAY_MS / 2
    assert await scene.card(failed) is None
    await services.previews.request_renewals()
    assert await scene.deliver() == 0


async def test_previews_cost_no_round_trip_once_the_posts_are_known(scene: PreviewScene, alice: Person) -> None:
    linking = await alice.publishes(f"{scene.site.origin}/")
    await alice.publishes("no link")
    await scene.deliver()
    reads: list[int] = []
    services = Services(scene.services.store, scene.services.clock, scene.services.config)
    without = Services(services.store, services.clock, replace(services.config, link_previews=False))
    for each in (services, without):
        for _ in range(2):
            assert (await each.reading.public(viewer_id=None)).entries[0] is not None
    for each in (services, without):
        state_reads = 0
        store_read = each.store.read

        async def counting(*parts: object, read: object = store_read) -> object:
            nonlocal state_reads
            state_reads += 1
            return await read(*parts)  # type: ignore[operator]

        each.store.read = counting  # type: ignore[method-assign,assignment]
        await each.reading.public(viewer_id=None)
        reads.append(state_reads)
        del each.store.read  # type: ignore[method-assign]
    assert reads[0] == reads[1]
    assert await scene.card(linking, None, services) == 'A "title"'


async def test_the_picture_of_a_link_is_stored_and_deleted_by_the_site(scene: PreviewScene, alice: Person) -> None:
    services, media, origin = scene.services, scene.services.media, scene.site.origin
    scene.site.answers["/page"] = respond('<title>Page</title><meta property="og:image" content="/picture">')
    scene.site.answers["/picture"] = respond(picture((300, 200)), "image/jpeg")
    post = await alice.publishes(f"{origin}/page")
    async with scene.encodes():
        assert await scene.deliver() == 2
    entry = await services.pipeline.find_visible(None, post.id)
    assert entry is not None
    assert entry.preview is not None
    attachment = entry.preview.picture
    assert attachment is not None
    url = f"/media/{attachment.id}-{attachment.secret}/small.{attachment.extension}"
    assert f'<img src="{url}" alt=""' in entry_html(entry, "en")
    card = bytes(await status_json(ApiSite(services, "https://own.example"), entry))
    assert f'"image":"https://own.example{url.replace("small", "full")}"'.encode() in card
    name = f"{attachment.id}-{attachment.secret}"
    assert (await media.find_file(None, name, "small", attachment.extension)).is_public
    assert (await services.repositories.media_rows.read_totals(alice.id))[0] == 0
    assert (await services.repositories.media_rows.read_totals(AccountId(0)))[0] > 0
    row = await services.repositories.media_rows.find(attachment.id)
    assert row is not None
    assert await services.repositories.media_rows.find_check(name) >= row.created_ms + UNATTACHED_MS
    assert not await services.media_deletion.check(name)  # the check after a day keeps it
    assert await services.repositories.media_rows.find_check(name) == row.created_ms + PREVIEW_PICTURE_TTL_MS
    await media.discard_preview(attachment.id, name)
    assert await services.media_deletion.check_due() == 1
    assert (await services.repositories.media_rows.read_totals(AccountId(0)))[0] == 0


@pytest.mark.parametrize("content_type", ["image/jpg", "application/octet-stream", "binary/octet-stream"])
async def test_the_picture_of_a_link_may_have_a_space_in_its_name_and_the_type_of_any_file(
    scene: PreviewScene, three: ThreePeople, content_type: str
) -> None:
    """dachcom-digital/pimcore-seo#35, cloudflare/vinext#3066; reqable/reqable-app#2779"""
    scene.site.answers["/page"] = respond('<title>Page</title><meta property="og:image" content=" /my picture.jpg">')
    scene.site.answers["/my%20picture.jpg"] = respond(picture((300, 200)), content_type)
    post = await three[0].publishes(f"{scene.site.origin}/page")
    async with scene.encodes():
        assert await scene.deliver() == 2
    preview = await scene.services.repositories.previews.find(f"{scene.site.origin}/page")
    assert preview is not None
    assert preview.picture is not None
    assert await scene.card(post) == "Page"


async def test_the_picture_of_a_link_takes_the_turn_of_its_author(scene: PreviewScene, three: ThreePeople) -> None:
    """The pictures of one author's links do not delay those of others."""
    alice, bob, _ = three
    scene.site.answers["/picture"] = respond(picture((300, 200)), "image/jpeg")
    for number, author in enumerate((alice, alice, bob)):
        page = f'<title>{number}</title><meta property="og:image" content="/picture">'
        scene.site.answers[f"/{number}"] = respond(page)
        await author.publishes(f"{scene.site.origin}/{number}")
    await scene.world.deliver_all()
    fetching = [
        asyncio.create_task(scene.services.previews.handle(payload))
        for payload in await scene.services.preview_queue.read_payloads(9)
    ]
    queue, jobs = scene.services.media_queue, list[Job]()
    await queue.create_group()
    async with asyncio.timeout(10):
        while len(jobs) < 2:  # one of each author
            jobs += await queue.fetch("abad1dea", 9, 100)
    assert {decode_job(job.payload).sender for job in jobs} == {alice.id, bob.id}
    for task in fetching:
        task.cancel()
    await asyncio.wait(fetching)


async def test_the_picture_of_a_link_passes_the_guard(scene: PreviewScene, three: ThreePeople) -> None:
    addresses = ("http://127.0.0.1:1/a.png", "file:///etc/passwd", "http://[::1", "/page", "/large")
    for number, address in enumerate(addresses):
        scene.site.answers[f"/{number}"] = respond(f'<title>Page</title><meta property="og:image" content="{address}">')
        scene.site.answers["/large"] = respond(b"\xff\xd8\xff" + bytes(5_000_000), "image/jpeg")
        post = await three[0].publishes(f"{scene.site.origin}/{number}")
        await scene.deliver()
        entry = await scene.services.pipeline.find_visible(None, post.id)
        assert entry is not None
        assert entry.preview is not None
        assert (entry.preview.title, entry.preview.picture) == ("Page", None)


async def test_a_site_without_previews_fetches_and_shows_nothing(scene: PreviewScene, alice: Person) -> None:
    post = await alice.publishes(f"{scene.site.origin}/")
    off = Services(scene.services.store, scene.services.clock, replace(scene.services.config, link_previews=False))
    await off.previews.request(post)
    assert (await off.preview_queue.read_depth()).is_empty
    await scene.deliver()
    assert await scene.card(post) == 'A "title"'
    assert await scene.card(post, None, off) is None


async def test_a_long_head_and_a_compressed_page_have_a_preview(scene: PreviewScene, three: ThreePeople) -> None:
    page = f"<head><script>{'x' * 700_000}</script><title>Video</title><meta property=og:title content=Video>"
    scene.site.answers["/long"] = respond(page)
    scene.site.answers["/gzip"] = respond(gzip.compress(page.encode()), "text/html", "Content-Encoding: gzip")
    scene.site.answers["/deflate"] = respond(zlib.compress(page.encode()), "text/html", "Content-Encoding: deflate")
    for path in ("/long", "/gzip", "/deflate"):
        post = await three[0].publishes(scene.site.origin + path)
        await scene.deliver()
        assert await scene.card(post) == "Video", path
