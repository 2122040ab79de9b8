"""Pictures over HTTP: uploads, their state, and who may see their files."""

import asyncio

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.pictures import encode_all, picture
from tests.support.sockets import DaphneProcess

JSON = {"Accept": "application/json"}


@pytest.fixture
def upload(site: Services):
    """Upload a picture, and encode it meanwhile."""

    async def post(browser: HttpBrowser, content: bytes, **fields: str):
        headers = JSON | {"X-CSRFToken": browser.csrf_token}
        files = {"file": ("../../etc/x.jpg", content, "image/jpeg")}
        request = asyncio.create_task(browser.http.post("/media/", data=fields, files=files, headers=headers))
        while not request.done():
            await encode_all(site)
            await asyncio.sleep(0.02)
        return request.result()

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
    assert file.headers["content-security-policy"] == "sandbox; default-src 'none'"
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


async def test_daphne_gives_a_large_upload_as_a_file(daphne: DaphneProcess):
    """The web process never has the body in memory, and reads none of it for a visitor."""
    content = picture((1000, 700)) + b"\0" * 12_000_000
    async with HttpBrowser(base_url=daphne.origin) as browser:
        refused = await browser.http.post("/media/", files={"file": ("x.jpg", content)}, headers=JSON)
        assert refused.status_code in (401, 413)
        await browser.sign_up("dora")
        before_kb = daphne.resident_kb()
        for _ in range(3):
            headers = JSON | {"X-CSRFToken": browser.csrf_token}
            answer = await browser.http.post("/media/", files={"file": ("x.jpg", content)}, headers=headers)
            assert answer.status_code == 202, answer.text
        assert daphne.resident_kb() - before_kb < 8_000
        state = await browser.get_json(f"/media/{answer.json()['id']}/")
        assert state.status_code == 206
