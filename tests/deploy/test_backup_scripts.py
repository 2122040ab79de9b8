"""deploy/backup rotates its files, and deploy/restore-drill restores the newest one without touching the site."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import default_storage

from socialsite.container import Services
from tests.contract.media.test_media import upload
from tests.deploy.support import BASE_DIR, DEPLOY
from tests.support.management import run_with_services
from tests.support.pictures import uploaded
from tests.support.redis_server import RedisServer
from tests.support.sample_site import SampleSite
from tests.support.world import World
from timelines.media.media import media_file

DAY_S = 86_400

pytestmark = pytest.mark.slow


def run(script: str, backups: Path, redis_url: str, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "BACKUPS": str(backups),
        "REDIS_URL": redis_url,
        "REDIS_POSTS_URL": redis_url,  # a drill must not follow it
        "SECRET_KEY": settings.SECRET_KEY,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        **{name: str(value) for name, value in more.items()},
    }
    return subprocess.run([DEPLOY / script], cwd=BASE_DIR, env=environment, capture_output=True, text=True)


def backup_of_days_ago(backups: Path, days: int) -> Path:
    file = backups / f"site-old-{days}.backup"
    file.write_bytes(b"")
    os.utime(file, times=(time.time() - days * DAY_S,) * 2)
    return file


@pytest.mark.nightly
def test_backups_rotate_and_a_drill_restores_the_newest(
    redis_url: str, redis_server: RedisServer, settings, tmp_path: Path
) -> None:
    async def build(services: Services) -> None:
        site = await SampleSite.build(World(services))
        await upload(services, site.alice)

    settings.REDIS_URL = redis_url
    run_with_services(build)
    old, recent = backup_of_days_ago(tmp_path, 20), backup_of_days_ago(tmp_path, 10)
    assert run("backup", tmp_path, "redis://127.0.0.1:1").returncode != 0
    assert old.exists(), "a failed backup deletes nothing"
    result = run("backup", tmp_path, redis_server.url)
    assert result.returncode == 0, result.stderr
    assert (old.exists(), recent.exists()) == (False, True)
    recent.unlink()
    file, listing = sorted(tmp_path.iterdir())
    assert len(listing.read_text().splitlines()) == 2
    assert {each.stat().st_mode & 0o077 for each in (file, listing)} == {0}
    newer = media_file(f"7-{'ab' * 16}", "full", "jpg")
    default_storage.save(newer, uploaded(b"uploaded after the backup"))
    with redis_server.client() as client:
        before = client.dbsize()
        drill = run("restore-drill", tmp_path, redis_server.url)
        assert client.dbsize() == before
    assert drill.returncode == 0, drill.stdout + drill.stderr
    assert drill.stdout.endswith("clean.\n")
    of_pictures = run("restore-drill", tmp_path, redis_server.url, PICTURES=settings.MEDIA_ROOT)
    assert of_pictures.returncode == 0, of_pictures.stdout + of_pictures.stderr
    assert "All 2 files of pictures are there." in of_pictures.stdout
    assert default_storage.exists(newer), "a drill deletes no picture"
    file.write_bytes(file.read_bytes()[:-5])
    damaged = run("restore-drill", tmp_path, redis_server.url)
    assert damaged.returncode != 0
    assert "cannot be used" in damaged.stderr
