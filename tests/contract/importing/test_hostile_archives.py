"""Files that are no archives, or that were made to harm, fail and leave nothing."""

import json
import stat
import struct
import threading
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from socialsite.container import Services
from tests.contract.importing.test_import_archives import attachment, note, write_x
from tests.contract.importing.test_imports_by_people import mastodon, pictures
from tests.support import imports
from tests.support.pictures import picture
from tests.support.world import Person
from timelines.exporting.repository import LIKE, ImportedPost
from timelines.importing.account_archive import AccountArchive, ArchiveUnreadable, MarkedPost
from timelines.importing.lines import Tally
from timelines.importing.posts import ignore_progress
from timelines.importing.service import open_archive
from timelines.media.storage import MediaFiles


def read(content: bytes) -> tuple[list[tuple[int, bytes]], Tally]:
    tally = Tally()
    return list(open_archive(BytesIO(content), "alice").lines(tally)), tally


def with_directory_of(count: int) -> bytes:
    """Return a small file that says that it has so many members."""
    content = bytearray(mastodon(note(1)))
    at = content.rindex(b"PK\5\6")
    content[at + 12 : at + 16] = struct.pack("<I", count * 46)
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(mastodon(note(1)))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    return bytes(content)


def link() -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        info = zipfile.ZipInfo("outbox.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return content.getvalue()


def bomb() -> bytes:
    return mastodon(note(1, "x" * 40_000_000), compression=zipfile.ZIP_DEFLATED)


def deep() -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("outbox.json", '{"orderedItems": [' + "[" * 100_000)
    return content.getvalue()


HOSTILE = {
    "no zip": b"PK", "empty": b"", "a picture": picture(), "nested": mastodon()[:-1], "encrypted": encrypted(),
    "link": link(), "bomb": bomb(), "deep": deep(), "long list": with_directory_of(2_000_000),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_archive_fails_and_leaves_nothing(name: str, services: Services, alice: Person) -> None:
    assert (await imports.start_import(services, alice.id, HOSTILE[name] or b" ")).state == "failed"
    assert await MediaFiles().list_names() == []


def test_only_the_outbox_of_an_archive_with_many_members_is_read(tmp_path: Path) -> None:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("../../outside/outbox.json", json.dumps({"orderedItems": [note(1), "text", {"type": 7}]}))
        archive.writestr("nested.zip", mastodon(note(9)))
        for number in range(65_000):
            archive.writestr(f"../{number}", b"")
    rows, tally = read(content.getvalue())
    assert ([number for number, _ in rows], tally.refused) == ([1], {"fields": 2})
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_is_a_bomb_is_not_read() -> None:
    file = mastodon(files={"a.jpg": b"\0" * 40_000_000}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ArchiveUnreadable):
        AccountArchive(BytesIO(file)).read_picture("a.jpg")


def test_an_outbox_is_read_in_parts_of_any_size() -> None:
    notes = [note(1, "x" * size) for size in (0, 1, 65_500, 65_536, 200_000, 3)]
    rows, _ = read(mastodon(*notes))
    assert [len(json.loads(row)["text"]) for _, row in rows] == [0, 1, 65_500, 65_536, 200_000, 3]
    rows, _ = read(mastodon())
    assert rows == []


@pytest.mark.parametrize("text", ["<p " * 300_000, "<br" * 300_000, "x" * 300_000], ids=["p", "br", "long"])
def test_a_text_that_is_far_too_long_is_not_parsed(text: str) -> None:
    started = time.process_time()
    rows, tally = read(mastodon(note(1, text), note(2)))
    assert ([number for number, _ in rows], tally.refused) == ([2], {"text_too_large": 1})
    assert time.process_time() - started < 1


@pytest.mark.parametrize("unit", ["<p ", "<br "])
def test_a_text_of_tags_that_never_end_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    for _ in range(10):
        read(mastodon(note(1, unit * 50_000)))
    assert time.process_time() - started < 1


def test_a_tweet_whose_urls_contain_each_other_stays_small(tmp_path: Path) -> None:
    tweet = {"id_str": "1", "created_at": "Tue Jun 16 20:25:49 +0000 2015", "full_text": "a https://t.co/a"}
    urls = [{"url": "a", "expanded_url": "aa"}, {"url": "https://t.co/a", "expanded_url": "https://t.co/a" * 2}] * 20
    path = write_x(tmp_path / "x.zip", [{**tweet, "entities": {"urls": urls}}], {})
    ((_, row),), _ = read(path.read_bytes())
    assert json.loads(row)["text"] == "a https://t.co/ahttps://t.co/a"


async def test_a_poll_ends_at_a_time_that_pages_can_show(services: Services, alice: Person) -> None:
    ends = ("0001-01-01T00:00:00+14:00", "9999-12-30T00:00:00Z", "9999-12-31T23:59:59-14:00")
    polls = [note(number, oneOf=[{"name": "1"}, {"name": "2"}], endTime=end) for number, end in enumerate(ends, 1)]
    assert dict((await imports.import_file(services, alice.id, mastodon(*polls))).refused) == {}
    items = imports.read_json(await imports.export_account(services, alice.id), "outbox.json")["orderedItems"]
    (first, middle, last) = sorted(item["object"]["endTime"] for item in items)
    assert first == middle < "9000", "an end that is no date that pages can show is now"
    assert last[:4] == "9999"


async def test_a_damaged_picture_is_refused_and_its_post_is_imported(services: Services, alice: Person) -> None:
    notes = [note(number, attachment=[attachment(f"{number}.jpg")]) for number in (1, 2)]
    file = mastodon(*notes, files={"1.jpg": picture(), "2.jpg": picture()})
    damaged = bytearray(file)
    damaged[file.index(b"\xff\xd8") + 50] ^= 1
    done = await imports.import_file(services, alice.id, bytes(damaged))
    assert (done.state, done.counts["posts"], len(await pictures())) == ("done", 2, 2)
    assert done.refused == {"picture_unreadable": 1}


async def test_descriptions_of_all_versions_are_cleaned(services: Services, alice: Person) -> None:
    former = {"content": "x", "attachment": [attachment("a.jpg", "a\x07")]}
    cleaned = note(1, attachment=[attachment("a.jpg", "\u202eCafe\u0301")], versions=[former])
    done = await imports.import_file(services, alice.id, mastodon(cleaned, files={"a.jpg": picture()}))
    assert done.counts["pictures"] == 1
    (post,) = await imports.read_profile_posts(services, "alice")
    versions = await services.repositories.posts.find_versions(post.id)
    assert [version.extra.media[0].alt for version in versions] == ["a", "Café"]


async def test_an_import_whose_file_is_lost_meanwhile_can_be_undone(services: Services, alice: Person) -> None:
    preview = await imports.begin_import(
        services, alice.id, mastodon(*[note(1 + n % 50, id=str(n)) for n in range(150)])
    )
    await MediaFiles().delete([preview.file_name(alice.id)])
    await imports.perform_transfers(services)
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, done.error, done.counts["posts"]) == ("done", "unreadable", 100)
    assert (await imports.undo_import(services, alice.id, done)).state == "undone"
    assert await alice.profile_ids() == []


@pytest.mark.parametrize("item", [0, "x", [], {}, None])
async def test_a_file_that_begins_with_a_thousand_rows_of_another_form_is_no_archive(
    services: Services, alice: Person, item: object
) -> None:
    preview = await imports.start_import(services, alice.id, mastodon(*[item] * 1_000))
    assert (preview.state, preview.error) == ("failed", "unknown_format")
    few = await imports.start_import(services, alice.id, mastodon(*[item] * 999, note(1)))
    assert (few.state, few.counts["posts"]) == ("ready", 1)


async def test_refused_rows_end_the_job_and_count_for_the_limit_of_rows(
    services: Services, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job ends at the first refused row. The accepted rows before and after are imported once."""
    services.imports.slice_s = 0
    boost = {"type": "Announce", "object": "https://example.org/1"}
    rows = [note(1), boost, note(2), note(3), boost, boost, note(4)]
    await imports.import_file(services, alice.id, mastodon(*rows))
    (done,) = await services.exports.all(alice.id, "import")
    assert (done.state, done.counts["posts"], done.refused) == ("done", 4, {"boost": 3})
    monkeypatch.setattr("timelines.importing.service.IMPORT_ROWS_CAP", 50)
    services.imports.slice_s = 60
    preview = await imports.start_import(services, alice.id, mastodon(note(5), *[boost] * 1_000, note(6)))
    assert (preview.state, preview.error, preview.refused) == ("ready", "too_large", {"boost": 49})
    assert preview.counts["posts"] == 1


async def test_an_import_reports_that_rows_above_its_limit_are_left_out(
    services: Services, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timelines.importing.service.IMPORT_ROWS_CAP", 100)
    services.imports.slice_s = 0
    preview = await imports.start_import(
        services, alice.id, mastodon(*[note(1 + n % 50, id=str(n)) for n in range(250)])
    )
    assert (preview.state, preview.error, preview.counts["posts"]) == ("ready", "too_large", 100)


async def test_the_likes_of_an_archive_are_read_beside_the_event_loop(services: Services, alice: Person) -> None:
    threads: set[int] = set()

    async def ignore_record(posts: list[ImportedPost]) -> None:
        """Do nothing."""

    def marked() -> Iterator[MarkedPost]:
        for number in range(150):
            threads.add(threading.get_ident())
            yield MarkedPost(LIKE, f"{imports.BASE_URL}/@bob/{number}/")

    tally = Tally()
    await services.imports.reactions_import.run(
        alice.id, marked(), imports.BASE_URL, tally, services.clock.now_ms(), dry_run=True, offset=10,
        progress=ignore_progress, record=ignore_record,
    )  # fmt: skip
    assert tally.refused == {"post_missing": 140}
    assert threading.get_ident() not in threads


def test_many_files_of_tweets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_x(tmp_path / "x.zip", [], {})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("data/tweets-part1.js", "window.YTD.tweets.part1 = [" + "{}," * 100 + "{}]")
    monkeypatch.setattr("timelines.importing.account_archive.MEMBER_MAX_BYTES", 340)
    with pytest.raises(ArchiveUnreadable):
        read(path.read_bytes())
