"""The life of a picture: quotas, checks, deletion and audit."""

import asyncio
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from msgspec import structs

from socialsite.admin.dashboard import read_dashboard
from socialsite.admin.presenters.dashboard import dashboard_json, disk_page
from socialsite.checks import _check_media_folder
from socialsite.container import Services
from socialsite.errors import Unavailable
from socialsite.service_config import ServiceConfig
from socialsite.settings_parsers import build_media_storage
from socialsite.startup import open_services
from tests.support.jobs import perform_all
from tests.support.pictures import animation, encode_all, picture, uploaded
from tests.support.waiting import eventually
from tests.support.world import Person, World
from timelines.audit import Audit
from timelines.drafts.draft import Draft
from timelines.errors import MediaInvalid, MediaQuotaReached, PostInvalid
from timelines.jobs import EditPost
from timelines.jobs import encode_job as encode_post_job
from timelines.media import processing
from timelines.media import service as media_service
from timelines.media.deletion import RETRY_CHECK_MS
from timelines.media.media import MEDIA_PER_POST, MEDIA_PER_THREAD, UNATTACHED_MS, Media, media_file, upload_file
from timelines.media.processing import EncodePicture, EncoderKilled, decode_job, encode_job, parse_result
from timelines.media.storage import FOLDER_ID_FILE, INCOMING, MediaFiles
from timelines.posts.post import PostDetails, encode_post
from timelines.publishing.edits import next_version
from timelines.publishing.forms import THREAD_POSTS_CAP, EditForm

DAY_LATER = UNATTACHED_MS + 1


async def upload(services: Services, owner: Person, **options) -> Media:
    row = await services.media.upload(owner_id=owner.id, content=uploaded(picture()), **options)
    await encode_all(services)
    return await services.media.find_own(owner.id, row.id)


async def publish(services: Services, author: Person, *rows: Media, **options):
    media = await services.media.find_attachments(author.id, [row.id for row in rows])
    return await services.publishing.publish(
        author_id=author.id, text="a picture", details=PostDetails(media=media),
        now_ms=services.clock.now_ms(), **options,
    )  # fmt: skip


async def check_later(services: Services, ms: int = DAY_LATER) -> int:
    """Run the checks that are due after this time."""
    later = Services(services.store, services.clock, services.config).media_deletion
    now_ms = services.clock.now_ms() + ms
    later.clock = type("Later", (), {"now_ms": staticmethod(lambda: now_ms)})()
    return await later.check_due()


async def test_an_upload_that_nothing_uses_is_deleted_after_a_day(services, alice: Person):
    await upload(services, alice)
    assert await check_later(services, UNATTACHED_MS // 2) == 0
    assert len(await MediaFiles().list_names()) == 2
    assert await check_later(services) == 1
    assert await MediaFiles().list_names() == []
    assert await services.repositories.media_rows.read_totals(alice.id) == (0, 0)


async def test_a_picture_of_a_post_stays_and_is_deleted_with_it(services, alice: Person):
    post = await publish(services, alice, await upload(services, alice))
    assert await check_later(services) == 0
    assert len(await MediaFiles().list_names()) == 2
    await alice.deletes(post)
    assert await services.media_deletion.check_due() == 1
    assert await MediaFiles().list_names() == []


async def test_a_draft_of_a_thread_keeps_the_pictures_of_all_its_posts(services, alice: Person):
    assert MEDIA_PER_THREAD == THREAD_POSTS_CAP * MEDIA_PER_POST
    rows = [await upload(services, alice) for _ in range(6)]
    ids = [str(row.id) for row in rows]
    fields = [
        ("text", "one"),
        *(("media_ids", id) for id in ids[:4]),
        ("more", "two"),
        ("more_media", " ".join(ids[4:])),
    ]
    draft = await services.drafts.save(alice.id, Draft(0, tuple(fields)))
    assert await check_later(services) == 0
    assert [row.id for row in await services.media.find_all_own(alice.id, draft.media_ids)] == [row.id for row in rows]
    assert len(await MediaFiles().list_names()) == 12


async def test_stored_sizes_equal_the_sizes_of_the_files(services, alice: Person, bob: Person):
    for owner in (alice, alice, bob):
        await upload(services, owner)
    size = sum(default_storage.size(name) for name in await MediaFiles().list_names())
    rows = services.repositories.media_rows
    assert (await rows.read_totals(alice.id))[1] == size
    assert (await rows.read_totals(alice.id))[0] + (await rows.read_totals(bob.id))[0] == size
    await services.media_deletion.measure()
    total, use = await rows.read_site_use()
    assert total == size
    assert use.files == len(await MediaFiles().list_names()) + 1  # with the id of the folder
    assert use.size_bytes >= size


async def test_a_full_account_and_a_full_site_take_no_picture(redis_url):
    config = replace(ServiceConfig(), media_account_quota=3_000, media_site_quota=5_000)
    async with open_services(redis_url, config) as services:
        alice, bob, carol = await World(services).people("alice", "bob", "carol")
        while True:
            try:
                await upload(services, alice)
            except MediaQuotaReached:
                break
        assert (await services.repositories.media_rows.read_totals(alice.id))[0] <= 3_000
        await services.media.check_upload(bob.id, None)
        for _ in range(2):
            await upload(services, bob)
        with pytest.raises(MediaQuotaReached):
            await services.media.check_upload(carol.id, None)


async def test_a_deleted_account_leaves_no_picture(services, world: World, alice: Person):
    await publish(services, alice, await upload(services, alice))
    avatar = await upload(services, alice, kind="avatar")
    await services.accounts.set_picture(account_id=alice.id, kind="avatar", name=avatar.name)
    await upload(services, alice)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert await MediaFiles().list_names() == []
    assert await services.repositories.media_rows.read_site_use() == (0, None)


async def test_an_avatar_in_use_stays(services, alice: Person):
    avatar = await upload(services, alice, kind="avatar")
    assert (avatar.width, avatar.height, avatar.extension) == (400, 400, "webp")
    await services.accounts.set_picture(account_id=alice.id, kind="avatar", name=avatar.name)
    assert await check_later(services) == 0
    await services.accounts.set_picture(account_id=alice.id, kind="avatar", name="")
    await services.media.release_name(avatar.name)
    assert await services.media_deletion.check_due() == 1
    assert await MediaFiles().list_names() == []


async def test_a_deletion_that_fails_is_repeated(services, alice: Person, monkeypatch):
    post = await publish(services, alice, await upload(services, alice))
    await alice.deletes(post)
    with monkeypatch.context() as patch:
        patch.setattr(default_storage, "delete", raise_disk_error)
        assert await services.media_deletion.check_due() == 0
    assert len(await MediaFiles().list_names()) == 2
    assert await services.media_deletion.check_due() == 1
    assert await MediaFiles().list_names() == []


async def test_a_check_before_the_deletion_of_the_post_is_repeated(services, alice: Person):
    post = await publish(services, alice, await upload(services, alice))
    await services.media.release([post])
    assert (
        await services.media_deletion.check_due() == 0
    )  # a worker checks while the request has not deleted the post yet
    assert await services.repositories.posts.delete(post.id, alice.id)
    assert await services.media_deletion.check_due() == 1
    assert await MediaFiles().list_names() == []


def raise_disk_error(name: str) -> None:
    raise OSError("the disk is read-only")


async def test_a_repeated_request_publishes_its_pictures_once(services, alice: Person):
    row = await upload(services, alice)
    media = await services.media.find_attachments(alice.id, [row.id])
    details, now_ms = PostDetails(media=media), services.clock.now_ms()
    first, again = [
        await services.publishing.publish(
            author_id=alice.id, text="once", details=details, idempotency_key="key", now_ms=now_ms
        )
        for _ in range(2)
    ]
    assert first == again
    assert (await services.media.find_own(alice.id, row.id)).post == first.id


async def test_two_posts_cannot_have_one_picture(services, alice: Person, bob: Person):
    row = await upload(services, alice)
    media = await services.media.find_attachments(alice.id, [row.id])
    await publish(services, alice, row)
    for author in (alice, bob):
        with pytest.raises(PostInvalid):
            await services.publishing.publish(
                author_id=author.id, text="twice", details=PostDetails(media=media), now_ms=services.clock.now_ms()
            )
    with pytest.raises(PostInvalid):
        await services.media.find_attachments(bob.id, [row.id])


async def test_a_killed_encoder_is_started_again_and_a_crashed_one_refuses(services, world: World):
    with pytest.raises(EncoderKilled):
        parse_result(-9, b"", "name")
    assert parse_result(-11, b"", "name").refusal == "unreadable"
    assert parse_result(0, b"not JSON", "name").refusal == "unreadable"
    assert parse_result(0, b'{"extension": "../../x"}', "name").refusal == "unreadable"
    alice = await world.person("alice")
    row = await services.media.upload(owner_id=alice.id, content=uploaded(b"\xff\xd8\xff not a picture"))
    assert await encode_all(services) == 1
    with pytest.raises(MediaInvalid):
        await services.media.find_own(alice.id, row.id)
    assert await MediaFiles().list_names() == []
    assert (await services.repositories.media_rows.read_totals(alice.id))[0] == 0
    assert await check_later(services) == 1


@pytest.mark.parametrize("moment", ["files", "child"])
async def test_a_cancelled_job_leaves_no_child_process_and_no_file(services, alice: Person, moment: str):
    row = await services.media.upload(owner_id=alice.id, content=uploaded(animation(60, (600, 400)), "a.gif"))
    incoming = Path(settings.MEDIA_ROOT) / INCOMING
    (upload,) = incoming.iterdir()
    job = asyncio.create_task(services.media_processing.handle(encode_job(EncodePicture(row.name))))
    await eventually(lambda: running_encoders() if moment == "child" else len(list(incoming.iterdir())) == 3)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert running_encoders() == []
    assert list(incoming.iterdir()) == [upload]
    assert await encode_all(services) == 1


async def test_a_picture_that_takes_long_is_encoded_after_the_pictures_of_others(services, world: World, monkeypatch):
    monkeypatch.setattr(processing, "QUICK_CPU_S", 1)  # on a fast machine this picture takes less than 3 s
    alice, bob = [await world.person(name) for name in ("alice", "bob")]
    content = uploaded(animation(500, (547, 547), "WEBP"), "slow.webp")
    slow = await services.media.upload(owner_id=alice.id, content=content)
    quick = await services.media.upload(owner_id=bob.id, content=uploaded(picture()))
    rows, slow_queue = services.repositories.media_rows, services.slow_pictures_queue
    assert await perform_all(services.media_queue, services.media_processing.handle_quickly) == 2
    assert ((await rows.find(slow.id)).state, (await rows.find(quick.id)).state) == ("processing", "ready")
    assert [decode_job(payload).name for payload in await slow_queue.read_payloads(2)] == [slow.name]
    assert await perform_all(slow_queue, services.background_queues["slowpictures"].handle) == 1
    assert (await rows.find(slow.id)).state == "ready"


@pytest.mark.parametrize("name", ["media", "slowpictures"])
async def test_a_picture_whose_job_failed_for_good_is_refused_at_once(services, alice: Person, name: str):
    row = await services.media.upload(owner_id=alice.id, content=uploaded(picture()))
    services.background_queues[name].make_worker()
    queue = services.background_queues[name].queue
    await queue.create_group()
    await queue.add(encode_job(EncodePicture(row.name)))
    await queue.add(b"not a job")
    for job in await queue.fetch("abad1dea", 10, 10):
        await queue.move_to_dead_letters(job, "the encoder was killed five times")
    with pytest.raises(MediaInvalid):
        await services.media.find_own(alice.id, row.id)
    assert await MediaFiles().list_names() == []


async def test_a_picture_that_waits_for_a_processor_is_not_slow(services, alice: Person):
    row = await services.media.upload(owner_id=alice.id, content=uploaded(animation(60, (600, 400)), "a.gif"))
    performing = asyncio.create_task(perform_all(services.media_queue, services.media_processing.handle_quickly))
    await eventually(running_encoders)
    (encoder,) = map(int, running_encoders())
    os.kill(encoder, signal.SIGSTOP)
    await asyncio.sleep(11)  # more than three times QUICK_CPU_S
    os.kill(encoder, signal.SIGCONT)
    assert await performing == 1
    assert (await services.repositories.media_rows.find(row.id)).state == "ready"


async def test_an_avatar_that_is_not_ready_in_time_is_deleted(services, alice: Person, monkeypatch):
    """Each further try would wait for the pictures of the tries before."""
    monkeypatch.setattr(media_service, "PROFILE_PICTURE_TIMEOUT_S", 0.0)
    with pytest.raises(MediaInvalid):
        await services.media.set_profile_picture(account_id=alice.id, kind="avatar", content=uploaded(picture()))
    rows = services.repositories.media_rows
    assert (await rows.read_totals(alice.id), await MediaFiles().list_names()) == ((0, 0), [])
    assert await perform_all(services.media_queue, services.media_processing.handle_quickly) == 1
    assert (await rows.ids_of_account(alice.id, 9), await MediaFiles().list_names()) == ([], [])


def running_encoders() -> list[str]:
    """Return the ids of the child processes of this process that encode."""
    command = ["pgrep", "-P", str(os.getpid()), "-f", "timelines.media.encoder"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


async def test_a_job_of_a_deleted_picture_leaves_no_file(services, alice: Person):
    row = await services.media.upload(owner_id=alice.id, content=uploaded(animation(3), "a.gif"))
    await services.media.delete(owner_id=alice.id, media_id=row.id)
    assert await encode_all(services) == 1
    await services.media_processing.handle(encode_job(EncodePicture(row.name)))
    assert await MediaFiles().list_names() == []


async def test_the_audit_finds_and_repairs_rows_that_contradict_the_files(services, alice: Person):
    row, lost = await upload(services, alice), await upload(services, alice)
    await publish(services, alice, row, lost)
    default_storage.delete(media_file(lost.name, "full", lost.extension))
    orphan = f"7-{'ab' * 16}"
    default_storage.save(media_file(orphan, "full", "jpg"), uploaded(b"x"))
    default_storage.save(upload_file(orphan), uploaded(b"x"))
    rows = services.repositories.media_rows
    await rows.count(alice.id, row.id, 1)
    unused = await upload(services, alice)
    await rows.complete_check(unused.name)

    async def audit(*, repair: bool = False):
        report = await Audit(services.audit_context, second_check_after_s=0).run(repair=repair)
        kinds = report.damage + report.leftovers
        return {kind: count for kind, count in kinds.items() if "picture" in kind}

    kinds = {"picture_without_file": 1, "file_without_picture": 1, "picture_miscounted": 1, "picture_unused": 1}
    assert await audit() == kinds
    assert await audit(repair=True) == kinds
    assert await services.media_deletion.check_due() == 1
    assert await audit() == {"picture_without_file": 1}
    assert not default_storage.exists(upload_file(orphan))


async def test_a_private_folder_takes_no_picture_and_fails_the_check(services, alice: Person, settings, tmp_path):
    await upload(services, alice)
    assert await _check_media_folder(services.store) == []
    settings.STORAGES = {**settings.STORAGES, "default": build_media_storage(tmp_path, "", "")}
    (error,) = await _check_media_folder(services.store)
    assert error.id == "socialsite.E008"
    with pytest.raises(Unavailable):
        await upload(services, alice)
    site_folder_id = await services.repositories.media_rows.find_folder_id()
    (tmp_path / FOLDER_ID_FILE).write_text(site_folder_id)
    assert await _check_media_folder(services.store) == []
    await upload(services, alice)


async def test_the_dashboard_shows_what_du_shows(services, alice: Person):
    row = await upload(services, alice)
    await services.media_deletion.measure()
    shown = dashboard_json(await read_dashboard(services))["disk"]
    du = subprocess.run(["du", "-s", "-B1", settings.MEDIA_ROOT], capture_output=True, text=True, check=True)
    assert shown["counted_bytes"] == row.size_bytes
    assert shown["folder"].size_bytes == int(du.stdout.split()[0])
    assert disk_page((1, None)) == {"counted": "1\xa0byte"}


async def edited(services: Services, author: Person, post, *rows: Media):
    return await services.edits.edit(
        EditForm("edited", post.extra, media_ids=tuple(row.id for row in rows)),
        account_id=author.id, post_id=post.id, now_ms=services.clock.now_ms(),
    )  # fmt: skip


async def test_the_pictures_of_every_version_stay_and_are_deleted_with_the_post(services, alice: Person):
    first, second = await upload(services, alice), await upload(services, alice)
    post = await edited(services, alice, await publish(services, alice, first), second)
    post = await edited(services, alice, post)
    assert await check_later(services) == 0
    assert len(await MediaFiles().list_names()) == 4
    report = await Audit(services.audit_context, second_check_after_s=0).run()
    assert report.damage + report.leftovers == {}
    await alice.deletes(post)
    assert await services.media_deletion.check_due() == 2
    assert await MediaFiles().list_names() == []


async def test_a_picture_of_an_edit_that_was_never_written_is_deleted(services, alice: Person):
    post = await publish(services, alice, await upload(services, alice))
    row = await upload(services, alice)
    await services.media.attach(structs.replace(post, details=PostDetails(media=(row.attachment,))))
    assert await check_later(services) == 0  # the edit may be under way
    assert await check_later(services, DAY_LATER + RETRY_CHECK_MS) == 1
    assert len(await MediaFiles().list_names()) == 2


async def test_an_edit_that_is_written_after_the_check_of_its_picture_keeps_it(services, alice: Person):
    post = await publish(services, alice, await upload(services, alice))
    row = await upload(services, alice)
    await services.media.attach(structs.replace(post, details=PostDetails(media=(row.attachment,))))
    assert await check_later(services) == 0
    await edited(services, alice, post, row)
    assert await check_later(services, DAY_LATER + RETRY_CHECK_MS) == 0
    assert len(await MediaFiles().list_names()) == 4


async def test_a_worker_finishes_an_edit_with_a_new_picture(services, world: World, alice: Person):
    """The web process died after it had stored the job."""
    post = await publish(services, alice)
    await world.deliver_all()
    row = await upload(services, alice)
    version = next_version(post, "edited", PostDetails(media=(row.attachment,)), services.clock.now_ms())
    assert version is not None
    job = EditPost(msgspec.Raw(encode_post(post)), msgspec.Raw(encode_post(version)))
    await services.outbox.add(encode_post_job(job), sender=alice.id)
    await world.deliver_all()
    assert (await services.edits.find_own(alice.id, post.id)).extra.media == (row.attachment,)
    assert await check_later(services, 3 * DAY_LATER) == 0
    with pytest.raises(PostInvalid):
        await publish(services, alice, row)


async def test_a_deleted_picture_does_not_return_with_a_late_edit(services, alice: Person):
    post = await publish(services, alice)
    row = await upload(services, alice)
    version = next_version(post, "edited", PostDetails(media=(row.attachment,)), services.clock.now_ms())
    assert version is not None
    await services.media.delete(owner_id=alice.id, media_id=row.id)
    job = encode_post_job(EditPost(msgspec.Raw(encode_post(post)), msgspec.Raw(encode_post(version))))
    await services.fan_out.handle(job)
    assert (await services.edits.find_own(alice.id, post.id)) == post


async def test_temporary_files_of_killed_processes_are_deleted(services, alice: Person):
    await services.media.upload(owner_id=alice.id, content=uploaded(picture()))
    incoming = services.media.files.folder / "incoming"
    (incoming / "tmpold").write_bytes(b"half")
    (incoming / "tmpnew").write_bytes(b"half")
    os.utime(incoming / "tmpold", times=(0, 0))
    await services.media_deletion.measure()
    assert len(list(incoming.iterdir())) == 2
    assert not (incoming / "tmpold").exists()
