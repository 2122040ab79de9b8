"""The disk of the pictures, or of temporary files, fills: each request is answered, and no file is called damaged."""

import io
import os
import secrets
from collections.abc import Iterator

import httpx
import pytest
from PIL import Image

from tests.support.disk_faults import SmallDisk, mounted_disk
from tests.support.redis_server import RedisServer
from tests.support.sites import running_site
from tests.support.visitor import JSON_HEADERS, HttpVisitor
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """Start an empty server: a site remembers its folder of pictures."""
    running = RedisServer().start()
    yield running
    running.kill()


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with mounted_disk(8) as disk:
        yield disk


def noise(side: int = 700) -> bytes:
    """Return a PNG that no encoder makes small."""
    file = io.BytesIO()
    Image.frombytes("RGB", (side, side), os.urandom(3 * side * side)).save(file, "PNG", compress_level=0)
    return file.getvalue()


def newcomer(url: str) -> HttpVisitor:
    return HttpVisitor(url, f"p{secrets.token_hex(5)}").sign_up()


def upload(person: HttpVisitor, path: str = "/media/", content: bytes | None = None) -> httpx.Response:
    token = person.http.cookies["csrftoken"]
    files = {"file": ("noise.png", noise() if content is None else content, "image/png")}
    return person.http.post(path, files=files, headers={**JSON_HEADERS, "X-CSRFToken": token})


@pytest.mark.parametrize("path", ["/media/", "/accounts/settings/avatar/", "/accounts/import/"])
def test_a_file_for_a_full_disk_is_refused_with_503(server: RedisServer, disk: SmallDisk, path: str) -> None:
    with running_site(server.url, MEDIA_ROOT=str(disk.directory)) as site:
        person = newcomer(site.url)
        person.publishes("first")
        disk.fill(4096)
        for _ in range(2):
            answer = upload(person, path)
            assert answer.status_code == 503, answer.text
            assert "cannot store files" in answer.json()["message"]
        assert "storage_unavailable" in site.log
        disk.empty()
        assert upload(person, path).status_code < 400


def test_a_picture_whose_encoding_finds_no_room_is_encoded_later(server: RedisServer, disk: SmallDisk) -> None:
    content = noise()
    with running_site(server.url, MEDIA_ROOT=str(disk.directory)) as site:
        person = newcomer(site.url)
        person.publishes("first")
        disk.fill(len(content) + 96 * 1024)
        answer = upload(person, content=content)
        assert answer.status_code == 202, answer.text
        wait_until(lambda: "storage_unavailable" in site.log or "encoder cannot write" in site.log, timeout_s=30)
        disk.empty()
        address = f"/media/{answer.json()['id']}/"
        wait_until(lambda: person.http.get(address, headers=JSON_HEADERS).status_code == 200, timeout_s=30)


def test_an_upload_is_answered_if_the_temporary_folder_is_full(server: RedisServer, disk: SmallDisk) -> None:
    with running_site(server.url, TMPDIR=str(disk.directory)) as site:
        person = newcomer(site.url)
        person.publishes("first")
        for left in (4096, 200 * 1024):
            disk.fill(left)
            answer = upload(person)
            assert (answer.status_code, answer.json()["error"]) == (503, "storage_unavailable"), answer.text
            large = person.post("/posts/", text="x" * 110_000)  # a body that the server writes to a file, too
            assert large.status_code in (413, 422, 503), large.text
            person.publishes("posts go on")
            disk.empty()
        assert upload(person).status_code < 400
        assert "Traceback" not in "".join(line for line in site.log.splitlines() if "storage_unavailable" not in line)
