"""The files of pictures that a backup needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError

from socialsite.container import Services
from tests.contract.media.test_media import publish, upload
from tests.contract.media.test_s3 import bucket
from tests.support.backups import write_backup
from tests.support.management import run_command, run_with_services
from tests.support.pictures import uploaded
from tests.support.redis_server import RedisServer
from tests.support.world import World
from timelines.audit import Audit
from timelines.media.backup import check_needed_files, list_needed_files
from timelines.media.media import media_file
from timelines.media.storage import list_files

assert bucket  # a fixture


@pytest.fixture
def other_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


async def build(services: Services) -> None:
    alice = await World(services).person("alice")
    await publish(services, alice, await upload(services, alice), await upload(services, alice))
    avatar = await upload(services, alice, kind="avatar")
    await services.accounts.set_picture(account_id=alice.id, kind="avatar", name=avatar.name)


def test_the_commands_list_and_require_the_pictures_of_a_backup(
    redis_url: str, other_server: RedisServer, settings, tmp_path: Path
) -> None:
    backup = tmp_path / "b"
    settings.REDIS_URL = redis_url
    run_with_services(build)
    assert f"It needs 6 files of pictures (0.0 MB): {backup}.pictures" in run_command("backup", backup)
    lines = Path(f"{backup}.pictures").read_text().splitlines()
    stored = [f"{default_storage.size(name)}\t{name}" for name in list_files()]
    assert sorted(lines) == sorted(stored)
    assert len(stored) == 6
    newer = media_file(f"7-{'ab' * 16}", "full", "jpg")
    default_storage.save(newer, uploaded(b"of a picture that the backup does not contain"))
    settings.REDIS_URL = other_server.url
    assert "All 6 files of pictures are there." in run_command("restore", backup, "--dry-run")
    lost, cut = [line.partition("\t")[2] for line in lines[:1] + lines[2:3]]
    default_storage.delete(lost)
    (Path(settings.MEDIA_ROOT) / cut).write_bytes(b"half")
    with pytest.raises(CommandError, match="4 files of pictures are missing"):
        run_command("restore", backup)
    with other_server.client() as client:
        assert client.keys("posts:*") == []
    assert run_command("restore", backup, "--without-pictures").endswith("clean.\n")
    assert default_storage.exists(newer), "a restore deletes no file"
    with pytest.raises(CommandError, match="1 damaged"):
        run_command("audit")


async def test_a_backup_of_a_site_with_a_bucket_lists_its_pictures(
    bucket, services: Services, tmp_path_factory
) -> None:
    tmp_path = tmp_path_factory.mktemp("backups")
    await build(services)
    await write_backup(services, tmp_path / "b")
    path, needed = await list_needed_files(tmp_path / "b", services.media_files)
    assert (needed.files, needed.missing) == (6, [])
    lost = path.read_text().splitlines()[0].partition("\t")[2]
    default_storage.delete(lost)
    assert lost in (await check_needed_files(tmp_path / "b", services.media_files)).missing
    orphan = media_file(f"7-{'ab' * 16}", "full", "jpg")
    default_storage.save(orphan, uploaded(b"x"))
    report = await Audit(services.audit_context, second_check_after_s=0).run(repair=True)
    kinds = report.damage + report.leftovers
    assert {kind: count for kind, count in kinds.items() if "picture" in kind} == {
        "picture_without_file": 1,
        "file_without_picture": 1,
    }
    assert not default_storage.exists(orphan)
