"""Pictures over HTTP: uploads, their state, and who may see their files."""

import asyncio
from functools import partial
from http import HTTPStatus

import pytest

from socialsite.container import Services
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.support.daphnes import DaphneProcess
from tests.support.pictures import encode_all, encode_meanwhile, picture
from tests.support.world import World
from timelines.media.media import name_of_file
from timelines.media.storage import list_files

JSON = {"Accept": "application/json"}


@pytest.fixture
def upload(site: Services):
    """Upload a picture, and encode it meanwhile."""

    async def post(browser: HttpBrowser, content: bytes, **fields: str):
        headers = JSON | {"X-CSRFToken": browser.csrf_token}
        files = {"file": ("../../etc/x.jpg", content, "image/jpeg")}
        answer = await encode_meanwhile(site, browser.http.post("/media/", data=fields, files=files, headers=headers))
        while answer.status_code in (HTTPStatus.ACCEPTED, HTTPStatus.PARTIAL_CONTENT):  # on a busy machine
            await encode_all(site)
            answer = await browser.get_json(f"/media/{answer.json()['id']}/")
        return answer

    return post


async def test_an_upload_is_ready_after_its_encoding(alice, upload):
    answer = await upload(alice, picture((640, 480)), description="A gradient", focus="0.5,-0.25")
    assert answer.status_code == 200, answer.text
    media = answer.json()
    assert media["type"] == "image"
    assert media["description"] == "A gradient"
    assert media["meta"]["original"] == {"width": 640, "height": 480, "size": "640x480", "aspect": 640 / 480}
    assert media["meta"]["focus"] == {"x": 0.5, "y": -0.25}
    assert len(media["blurhash"]) > 10
    file = await alice.get(media["url"])
    assert file.status_code == 200
    assert file.headers["content-type"] == "image/jpeg"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["content-security-policy"] == "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    assert file.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert file.content[:3] == b"\xff\xd8\xff"


async def test_only_its_owner_sees_an_unattached_picture(alice, bob, visitor, upload):
    media = (await upload(alice, picture())).json()
    for browser in (bob, visitor):
        assert (await browser.get(media["url"])).status_code == 404
        assert (await browser.get(media["preview_url"])).status_code == 404
    assert (await bob.get_json(f"/media/{media['id']}/")).status_code == 404
    assert (await alice.get(media["preview_url"])).status_code == 200


async def test_a_large_upload_is_read_from_a_file(alice, upload):
    content = picture((3000, 2000), quality=100, subsampling=0) + b"\0" * 200_000
    answer = await upload(alice, content)
    assert answer.status_code == 200, answer.text
    assert answer.json()["meta"]["original"]["width"] == 3000


async def test_an_app_may_send_a_thumbnail_which_is_ignored(daphne: DaphneProcess, site: Services, world: World):
    await world.person("erin")
    async with ApiClient(token=await create_token(site, "erin"), base_url=daphne.origin) as app:
        content = picture((1000, 700)) + b"\0" * 300_000
        files = {"file": ("x.jpg", content), "thumbnail": ("y.jpg", picture())}
        answer = await app.http.post("/api/v1/media", files=files)
        assert answer.status_code == 202, answer.text
        thumbnail = {"thumbnail": ("y.jpg", content)}
        url = f"/api/v1/media/{answer.json()['id']}"
        described = await app.http.put(url, files=thumbnail, data={"description": "Tea"})
        assert described.json()["description"] == "Tea", described.text


async def test_daphne_gives_a_large_upload_as_a_file(daphne: DaphneProcess):
    """The web process never has the body in memory, and reads none of it for a visitor."""
    content = picture((1000, 700)) + b"\0" * 12_000_000
    async with HttpBrowser(base_url=daphne.origin) as browser:
        refused = await browser.http.post("/media/", files={"file": ("x.jpg", content)}, headers=JSON)
        assert refused.status_code in (401, 413)
        await browser.sign_up("dora")
        before_kb = daphne.resident_kb()
        headers = JSON | {"X-CSRFToken": browser.csrf_token}
        post = partial(browser.http.post, "/media/", files={"file": ("x.jpg", content)}, headers=headers)
        for answer in await asyncio.gather(post(), post(), post()):  # each waits for an encoding
            assert answer.status_code == 202, answer.text
        assert daphne.resident_kb() - before_kb < 8_000
        assert (await browser.get_json(f"/media/{answer.json()['id']}/")).status_code == 206


async def test_daphne_accepts_a_large_upload_of_an_app(daphne: DaphneProcess, services: Services, world: World):
    await world.person("erin")
    token = await create_token(services, "erin")
    files = {"file": ("x.jpg", picture() + b"\0" * 3_000_000, "image/jpeg")}
    async with ApiClient(token=token, base_url=daphne.origin) as app, ApiClient(base_url=daphne.origin) as visitor:
        assert (await app.http.post("/api/v2/media", files=files)).status_code == 202
        assert (await visitor.http.post("/api/v2/media", files=files)).status_code in (401, 413)


async def test_a_picture_has_the_rights_of_its_post(alice, bob, visitor, upload, site):
    media = (await upload(alice, picture(), description="Tea")).json()
    post = await alice.publish("with a picture", media_ids=media["id"])
    assert post["media_attachments"][0]["description"] == "Tea"
    for browser in (bob, visitor):
        file = await browser.get(media["url"])
        assert file.status_code == 200
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "vary" not in file.headers
        assert file.headers["access-control-allow-origin"] == "*"
    feed = (await visitor.get("/@alice/feed.atom")).text
    assert f'<link href="http://testserver{media["url"]}" rel="enclosure" type="image/jpeg"/>' in feed
    hidden = (await upload(alice, picture())).json()
    await alice.publish("for followers", media_ids=hidden["id"], audience="followers")
    for browser in (bob, visitor):
        assert (await browser.get(hidden["url"])).status_code == 404
    assert (await bob.post_json("/@alice/follow/")).status_code == 200
    file = await bob.get(hidden["url"])
    assert file.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert "access-control-allow-origin" not in file.headers
    await alice.post_json("/@bob/block/")
    assert (await bob.get(hidden["url"])).status_code == 404
    assert (await bob.get(media["url"])).status_code == 404


async def test_a_picture_is_in_one_post_only(alice, bob, upload):
    media = (await upload(alice, picture())).json()
    await alice.publish("first", media_ids=media["id"])
    for browser, text in ((alice, "again"), (bob, "not mine")):
        answer = await browser.post_json("/posts/", text=text, media_ids=media["id"])
        assert answer.status_code == 422
        assert list(answer.json()["fields"]) == ["media_ids"]
    assert (await alice.post_json(f"/media/{media['id']}/", description="too late")).status_code == 404
    assert (await alice.post_json(f"/media/{media['id']}/delete/")).status_code == 404


async def test_a_deleted_post_deletes_its_pictures(alice, upload, site):
    media = (await upload(alice, picture())).json()
    post = await alice.publish("soon gone", media_ids=media["id"])
    await alice.post_json(f"/posts/{post['id']}/delete/")
    assert (await alice.get(media["url"])).status_code in (200, 404)
    assert await site.media_deletion.check_due() == 1
    assert (await alice.get(media["url"])).status_code == 404
    assert stored_files() == []
    assert await site.repositories.media_rows.read_totals(1) == (0, 0)


async def test_a_form_without_a_script_uploads_its_pictures(alice, site):
    fields = {"text": "by form", "csrfmiddlewaretoken": alice.csrf_token, "description": ["One", ""]}
    files = [("file", ("a.png", picture(format="PNG"), "image/png")), ("file", ("b.jpg", picture(), "image/jpeg"))]
    files.append(("file", ("", b"", "application/octet-stream")))  # a field without a file
    answer = await encode_meanwhile(site, alice.http.post("/posts/", data=fields, files=files))
    assert answer.status_code == 303
    (post,) = (await alice.get_json("/@alice/")).json()["posts"]
    assert [each["description"] for each in post["media_attachments"]] == ["One", None]


async def test_a_refused_form_keeps_its_pictures(alice, site):
    fields = {"text": "x" * 501, "csrfmiddlewaretoken": alice.csrf_token}
    files = [("file", ("a.png", picture(format="PNG"), "image/png"))]
    answer = await encode_meanwhile(site, alice.http.post("/posts/", data=fields, files=files))
    assert answer.status_code == 422
    assert 'name="media_ids" value="' in answer.text


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC"), (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "JPEG"), (b"no", "JPEG")],
)
async def test_a_refused_format_is_reported_immediately(alice, upload, site, content, word):
    answer = await upload(alice, content)
    assert answer.status_code == 422
    assert answer.json()["error"] == "media_refused"
    assert word in answer.json()["fields"]["file"]
    assert stored_files() == []


async def test_nginx_sends_the_file_if_it_is_configured(alice, upload, settings):
    media = (await upload(alice, picture())).json()
    settings.MEDIA_ACCEL_PATH = "/_media/"
    file = await alice.get(media["url"])
    secret = media["name"].partition("-")[2]
    assert file.headers["x-accel-redirect"] == f"/_media/{secret[:2]}/{secret[2:4]}/{media['name']}.full.jpg"
    assert file.content == b""


def stored_files() -> list[str]:
    return [name for name in list_files() if name_of_file(name) is not None]


async def test_a_redrafted_post_keeps_its_pictures(alice, upload, site):
    media = (await upload(alice, picture())).json()
    post = await alice.publish("a typpo", media_ids=media["id"])
    fields = {"media_ids": media["id"], "redraft_of": post["id"]}
    assert (await alice.publish("a typo", **fields))["media_attachments"][0]["id"] == media["id"]
    assert await site.media_deletion.check_due() == 0
    assert (await alice.get(media["url"])).status_code == 200
