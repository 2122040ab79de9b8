"""Importing the archives that people download from Mastodon and X, with their pictures."""

import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.corpora import corpus_path
from tests.support.imports import NOW_MS, RULES, read_profile_posts
from tests.support.pictures import picture
from timelines.importing.account_archive import AccountArchive
from timelines.importing.lines import Tally
from timelines.importing.mastodon_rows import EVERYBODY
from timelines.importing.posts import ARCHIVE_ROWS_PER_SEGMENT, PostsOptions
from timelines.importing.x_rows import TWEET_DATES
from timelines.media.storage import MediaFiles
from timelines.posts.post import FOLLOWERS, PUBLIC, UNLISTED

HEIC = b"\0\0\0\x18ftypheic\0\0\0\0"


async def import_archive(services: Services, path: Path, handle: str = "") -> Tally:
    tally = Tally()
    with path.open("rb") as file:
        await services.posts_import.run(AccountArchive(file, handle), PostsOptions(RULES), tally, NOW_MS)
    return tally


def note(number: int, content: str = "<p>A note</p>", to: str = EVERYBODY, **more: Any) -> dict[str, Any]:
    fields = {"id": f"https://example.org/{number}", "published": f"2020-01-01T00:00:{number:02}Z", "content": content}
    return {"type": "Create", "object": {**fields, "to": [to], "cc": [], **more}}


def attachment(name: str, alt: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "Document", "url": f"/media_attachments/files/1/original/{name}", "name": alt, **more}


def write_mastodon(path: Path, notes: list[dict[str, Any]], files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("actor.json", json.dumps({"preferredUsername": "anna"}))
        archive.writestr("outbox.json", json.dumps({"orderedItems": notes}))
        for name, content in files.items():
            archive.writestr(f"media_attachments/files/1/original/{name}", content)
    return path


def write_x(path: Path, tweets: list[dict[str, Any]], files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/account.js", 'window.YTD.account.part0 = [{"account": {"username": "Xaver"}}]')
        rows = json.dumps([{"tweet": tweet} for tweet in tweets])
        archive.writestr("data/tweets.js", f"window.YTD.tweets.part0 = {rows};")
        for name, content in files.items():
            archive.writestr(f"data/tweets_media/{name}", content)
    return path


async def test_an_archive_of_mastodon_keeps_pictures_audiences_and_warnings(services: Services, tmp_path: Path) -> None:
    followers = "https://example.org/users/anna/followers"
    path = write_mastodon(
        tmp_path / "a.zip",
        [
            note(1, attachment=[attachment("one.jpg", "A gradient", focalPoint=[0.5, -0.5]), attachment("two.png")]),
            note(2, "<p>One<br>two</p><p>three &amp; four</p>", to=followers, cc=[EVERYBODY], contentMap={"de": ""}),
            note(3, "<p>For followers</p>", to=followers, summary="Tea", sensitive=True),
            note(4, "<p>A message</p>", to="https://example.org/users/bob"),
            {"type": "Announce", "object": "https://example.org/7"},
            note(5, "", attachment=[attachment("three.jpg")], inReplyTo="https://example.org/1"),
        ],
        {"one.jpg": picture((80, 60)), "two.png": picture(format="PNG"), "three.jpg": picture()},
    )
    assert (await import_archive(services, path)).refused == {"private_message": 1, "boost": 1}
    first, second, third, fourth = await read_profile_posts(services, "anna")
    assert [post.audience for post in (first, second, third, fourth)] == [PUBLIC, UNLISTED, FOLLOWERS, PUBLIC]
    assert [each.alt for each in first.extra.media] == ["A gradient", ""]
    assert first.extra.media[0].focus == (0.5, -0.5)
    assert (first.extra.media[0].width, first.extra.media[0].height) == (80, 60)
    assert (second.text, second.extra.language) == ("One\ntwo\n\nthree & four", "de")
    assert (third.extra.spoiler_text, third.extra.sensitive) == ("Tea", True)
    assert (fourth.text, fourth.in_reply_to, len(fourth.extra.media)) == ("", first.id, 1)
    assert await services.repositories.public.read(1 << 53, 10, upward=False) == [fourth.id, first.id]
    served = await services.media.find_file(
        None, f"{first.extra.media[0].id}-{first.extra.media[0].secret}", "full", "jpg"
    )
    assert served.is_public
    files = sorted(await MediaFiles().list_names())
    assert len(files) == 6
    again = await import_archive(services, path)
    assert (again.counts["standing"], again.counts["pictures"]) == (4, 0)
    assert sorted(await MediaFiles().list_names()) == files
    assert await services.media_deletion.check_due() == 0


async def test_a_refused_picture_is_reported_and_its_post_is_imported(services: Services, tmp_path: Path) -> None:
    names = ["phone.heic", "absent.jpg", "broken.jpg", "huge.jpg", "a.jpg", "b.jpg"]
    path = write_mastodon(
        tmp_path / "a.zip",
        [note(1, attachment=[attachment(name) for name in names]), note(2, "", attachment=[attachment("absent.jpg")])],
        {
            "phone.heic": HEIC, "broken.jpg": b"\xff\xd8\xff", "huge.jpg": b"\0" * (16 * 1024 * 1024 + 1),
            "a.jpg": picture(), "b.jpg": picture(),
        },
    )  # fmt: skip
    tally = await import_archive(services, path)
    assert tally.refused == {
        "picture_heic": 1, "picture_missing": 2, "picture_unreadable": 1, "picture_too_many_bytes": 1,
        "picture_too_many": 2,
    }  # fmt: skip
    (post,) = await read_profile_posts(services, "anna")
    assert (post.text, post.extra.media) == ("A note", ())
    assert await MediaFiles().list_names() == []


async def test_a_full_account_imports_posts_without_pictures(redis_url, tmp_path: Path) -> None:
    config = replace(ServiceConfig(), media_account_quota=2_000)
    notes = [note(number, attachment=[attachment("one.jpg")]) for number in range(1, 5)]
    path = write_mastodon(tmp_path / "a.zip", notes, {"one.jpg": picture()})
    async with open_services(redis_url, config) as services:
        tally = await import_archive(services, path)
        assert len(await read_profile_posts(services, "anna")) == 4
        assert tally.counts["pictures"] + tally.refused["picture_quota"] == 4
        assert tally.refused["picture_quota"] > 0
        assert sum(default_storage.size(name) for name in await MediaFiles().list_names()) <= 2_000


async def test_an_archive_of_x_keeps_pictures_and_expands_urls(services: Services, tmp_path: Path) -> None:
    tweet = {
        "id_str": "610906142961594368", "created_at": "Tue Jun 16 20:25:49 +0000 2015", "lang": "en",
        "full_text": "Tea &amp; cake http://t.co/a https://t.co/m",
        "entities": {"urls": [{"url": "http://t.co/a", "expanded_url": "https://example.org/tea"}]},
        "extended_entities": {
            "media": [{"url": "https://t.co/m", "media_url": "http://pbs.twimg.com/AB.jpg", "ext_alt_text": "Tea"}]
        },
    }  # fmt: skip
    path = write_x(
        tmp_path / "x.zip",
        [tweet, {**tweet, "id_str": "1", "full_text": "RT @bob: hello"}],
        {"610906142961594368-AB.jpg": picture()},
    )
    assert (await import_archive(services, path)).refused == {"boost": 1}
    (post,) = await read_profile_posts(services, "xaver")
    assert (post.text, post.extra.language) == ("Tea & cake https://example.org/tea", "en")
    assert [each.alt for each in post.extra.media] == ["Tea"]


async def test_a_thread_of_x_is_kept_although_its_newest_tweet_comes_first(services: Services, tmp_path: Path) -> None:
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    tweets = [
        {"id_str": str(number), "full_text": f"Tweet {number}",
         "created_at": (moment + timedelta(minutes=number)).strftime(TWEET_DATES[0]),
         "in_reply_to_status_id_str": str(number - 1) if number > 1 else None}
        for number in range(2 * ARCHIVE_ROWS_PER_SEGMENT + 50, 0, -1)
    ]  # fmt: skip
    tally = await import_archive(services, write_x(tmp_path / "x.zip", tweets, {}))
    assert (tally.counts["posts"], tally.counts["replies"]) == (len(tweets), len(tweets) - 1)
    root, *replies = await read_profile_posts(services, "xaver")
    assert {post.root_id for post in replies} == {root.id}


def test_a_tweet_with_fields_of_other_values_is_refused_alone(tmp_path: Path) -> None:
    broken: list[Any] = [1, None, {}, {"id_str": []}, {"id_str": "x" * 5_000}, {"id_str": "7", "full_text": 8}]
    whole = {"id_str": "6", "created_at": "Tue Jun 16 20:25:49 +0000 2015", "full_text": "Tea"}
    tally = Tally()
    with write_x(tmp_path / "x.zip", [*broken, whole], {}).open("rb") as file:
        rows = list(AccountArchive(file).lines(tally))
    assert (len(rows), tally.refused) == (1, {"fields": len(broken)})


async def test_a_real_export_of_mastodon_is_imported(services: Services) -> None:
    tally = await import_archive(services, corpus_path("archives/mastodon/mastodon-export-2023.zip"), "lmorchard")
    (post,) = [post for post in await read_profile_posts(services, "lmorchard") if post.extra.media]
    assert post.text.startswith("Oh hey, can it be")
    assert (post.extra.media[0].width, post.extra.media[0].height) == (2814, 1998)
    assert tally.counts["pictures"] == 1
    assert not any(reason.startswith("picture") or reason == "fields" for reason in tally.refused)


async def test_an_interrupted_import_uploads_no_picture_twice(services: Services, tmp_path: Path, monkeypatch) -> None:
    path = write_mastodon(tmp_path / "a.zip", [note(1, attachment=[attachment("a.jpg")])], {"a.jpg": picture()})
    with monkeypatch.context() as patch:
        patch.setattr(type(services.posts_import), "_place", raise_interrupt)
        with pytest.raises(ConnectionAbortedError):
            await import_archive(services, path)
    files = sorted(await MediaFiles().list_names())
    tally = await import_archive(services, path)
    assert sorted(await MediaFiles().list_names()) == files
    (post,) = await read_profile_posts(services, "anna")
    assert len(post.extra.media) == 1
    assert tally.counts["pictures"] == 0


async def raise_interrupt(*_: object) -> None:
    raise ConnectionAbortedError


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("holiday.jpg", b"")
    with (tmp_path / "a.zip").open("rb") as file, pytest.raises(OSError, match=r"outbox\.json"):
        AccountArchive(file)
