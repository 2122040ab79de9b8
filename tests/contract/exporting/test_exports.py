"""The archive of an account: its members, its text, its life."""

import csv
import io
import zipfile
from io import BytesIO

import pytest
from django.core.files.storage import default_storage

from socialsite.container import Services
from tests.contract.media.test_media import publish, upload
from tests.support.imports import BASE_URL, export_account, perform_transfers, read_export, read_json, read_text
from tests.support.world import Person, World
from timelines.drafts.draft import Draft
from timelines.errors import TransferNotFound
from timelines.exporting.activities import EVERYBODY
from timelines.media.media import media_file
from timelines.media.storage import MediaFiles
from timelines.posts.post import FOLLOWERS, UNLISTED, Poll, PostDetails

HOSTILE = "<script>alert(1)</script> </title> \"' & #tag @bob https://example.org/"


def rows(archive: bytes, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(read_text(archive, name))))


async def archived_files() -> list[str]:
    return [name for name in await MediaFiles().list_names() if name.startswith("archives/")]


async def test_an_archive_contains_all_posts_with_their_versions_and_audiences(
    services: Services, alice: Person, bob: Person
) -> None:
    first = await alice.publishes(HOSTILE, details=PostDetails(spoiler_text="Tea", sensitive=True, language="de"))
    await alice.edits(first, "The second version", details=PostDetails(language="en"))
    await alice.publishes("An answer", in_reply_to=await bob.publishes("A question"), audience=UNLISTED)
    await alice.publishes("For followers", audience=FOLLOWERS)
    poll = Poll(("Tea", "Coffee"), False, services.clock.now_ms() + 86_400_000)
    await alice.publishes("Which?", details=PostDetails(poll=poll))
    liked = await bob.publishes("Boosted")
    await services.reactions.boost(account_id=alice.id, post_id=liked.id, now_ms=services.clock.now_ms())
    items = read_json(await export_account(services, alice.id), "outbox.json")["orderedItems"]
    note, reply, private, question, boost = [item["object"] for item in items]
    assert [item["type"] for item in items] == ["Create"] * 4 + ["Announce"]
    assert note["id"] == f"{BASE_URL}/@alice/{first.id}/"
    assert note["source"]["content"] == "The second version"
    (version,) = note["versions"]
    assert version["source"]["content"] == HOSTILE
    assert "<script>" not in version["content"]
    assert (version["summary"], version["sensitive"], list(version["contentMap"])) == ("Tea", True, ["de"])
    assert reply["inReplyTo"].startswith(f"{BASE_URL}/@bob/")
    assert (reply["to"], reply["cc"]) == ([f"{BASE_URL}/@alice/followers/"], [EVERYBODY])
    assert (private["to"], private["cc"]) == ([f"{BASE_URL}/@alice/followers/"], [])
    assert [option["name"] for option in question["oneOf"]] == ["Tea", "Coffee"]
    assert boost == f"{BASE_URL}/@bob/{liked.id}/"


async def test_an_archive_contains_pictures(services: Services, alice: Person) -> None:
    row = await upload(services, alice)
    await publish(services, alice, row)
    avatar = await upload(services, alice, kind="avatar")
    await services.accounts.set_picture(account_id=alice.id, kind="avatar", name=avatar.name)
    archive = await export_account(services, alice.id)
    (picture,) = read_json(archive, "outbox.json")["orderedItems"][0]["object"]["attachment"]
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        assert opened.testzip() is None
        with default_storage.open(media_file(row.name, "full", row.extension)) as stored:
            assert opened.read(picture["url"]) == stored.read()
        with default_storage.open(media_file(avatar.name, "full", "webp")) as stored:
            assert opened.read("avatar.webp") == stored.read()
        page = next(name for name in opened.namelist() if name.startswith("posts/"))
    assert f'src="../{picture["url"]}"' in read_text(archive, page)


async def test_an_archive_contains_relations_lists_and_private_things(services: Services, world: World) -> None:
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    await alice.follows(bob)
    await alice.follows(carol)
    await services.blocks_and_mutes.hide_boosts(account_id=alice.id, other_id=carol.id, now_ms=services.clock.now_ms())
    await alice.mutes(carol)
    await alice.blocks(dora)
    await services.blocks_and_mutes.set_note(account_id=alice.id, other_id=bob.id, note="=met in Rome")
    await alice.makes_list(bob, title="=Friends")
    await alice.makes_list(carol, title="=Friends")
    await services.filters.add(account_id=alice.id, phrase="snow")
    await services.drafts.save(alice.id, Draft(0, (("text", "not finished"),)))
    now_ms, theirs = services.clock.now_ms(), await bob.publishes("liked")
    await services.reactions.like(account_id=alice.id, post_id=theirs.id, now_ms=now_ms)
    await services.reactions.bookmark(account_id=alice.id, post_id=theirs.id, now_ms=now_ms)
    archive = await export_account(services, alice.id)
    assert rows(archive, "following_accounts.csv") == [
        ["Account address", "Show boosts", "Notify on new posts", "Languages"],
        ["bob@site.example", "true", "false", ""],
        ["carol@site.example", "false", "false", ""],
    ]
    assert rows(archive, "muted_accounts.csv")[1:] == [["carol@site.example", "true"]]
    assert rows(archive, "account_notes.csv")[1:] == [["bob@site.example", "=met in Rome"]]
    assert rows(archive, "blocked_accounts.csv") == [["dora@site.example"]]
    assert sorted(rows(archive, "lists.csv")) == [["=Friends", "bob@site.example"], ["=Friends", "carol@site.example"]]
    url = f"{BASE_URL}/@bob/{theirs.id}/"
    assert read_json(archive, "likes.json")["orderedItems"] == [url]
    assert read_json(archive, "bookmarks.json")["orderedItems"] == [url]
    (keyword,) = read_json(archive, "custom_filters.json")["custom_filters"][0]["keywords_attributes"]
    assert keyword == {"keyword": "snow", "whole_word": True}
    assert read_json(archive, "drafts.json")[0]["params"]["text"] == ["not finished"]
    actor = read_json(archive, "actor.json")
    assert (actor["preferredUsername"], actor["discoverable"]) == ("alice", True)
    assert url in read_text(archive, "index.html")


async def test_an_archive_contains_the_pictures_of_drafts(services: Services, alice: Person, bob: Person) -> None:
    own, other = await upload(services, alice), await upload(services, bob)
    await services.media.describe(owner_id=alice.id, media_id=own.id, alt="Tea")
    fields = (("text", ""), ("media_ids", str(own.id)), ("media_ids", str(other.id)))
    await services.drafts.save(alice.id, Draft(0, fields))
    archive = await export_account(services, alice.id)
    ((media,),) = [draft["media"] for draft in read_json(archive, "drafts.json")]
    assert media["description"] == "Tea"
    with zipfile.ZipFile(BytesIO(archive)) as opened, default_storage.open(media_file(own.name, "full", "jpg")) as file:
        assert opened.read(media["file"]) == file.read()
        assert not any(str(other.id) in name for name in opened.namelist())


async def test_the_pages_of_an_archive_escape_all_texts(services: Services, alice: Person) -> None:
    await services.accounts.edit_profile(account_id=alice.id, bio=HOSTILE, display_name="<b>Alice</b>")
    await alice.publishes(HOSTILE, details=PostDetails(spoiler_text="<i>"))
    await services.filters.add(account_id=alice.id, phrase="<u>word")
    await services.drafts.save(alice.id, Draft(0, (("text", HOSTILE),)))
    archive = await export_account(services, alice.id)
    pages = [name for name in zipfile.ZipFile(BytesIO(archive)).namelist() if name.endswith(".html")]
    assert len(pages) == 2
    for name in pages:
        text = read_text(archive, name)
        assert not any(tag in text for tag in ("<script", "<i>", "<b>", "<u>"))
        assert text.count("</title>") == 1


async def test_an_export_is_repeated_and_made_once(services: Services, alice: Person) -> None:
    await alice.publishes("one")
    export = await services.exports.request(alice.id, BASE_URL, "en")
    assert (await services.exports.request(alice.id, BASE_URL, "en")).id == export.id
    await services.exports.run(alice.id, export)
    first = read_export(alice.id, await services.exports.find(alice.id, export.id, "export"))
    await services.exports.run(alice.id, export)
    assert read_export(alice.id, await services.exports.find(alice.id, export.id, "export")) == first
    assert await perform_transfers(services) == 1
    assert len(await archived_files()) == 1
    await export_account(services, alice.id)
    assert len(await archived_files()) == 1, "a new export replaces the last one"
    with pytest.raises(TransferNotFound):
        await services.exports.find(alice.id, export.id, "export")


async def test_an_old_export_and_that_of_a_deleted_account_are_swept(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    await export_account(services, alice.id)
    await export_account(services, bob.id)
    (export,) = await services.exports.all(bob.id, "export")
    with pytest.raises(TransferNotFound):
        await services.exports.find(alice.id, export.id, "export")
    await services.exports.sweep()
    assert len(await archived_files()) == 2
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert len(await archived_files()) == 1
    services.exports.clock = type("Later", (), {"now_ms": staticmethod(lambda: export.expires_ms)})()
    assert await services.exports.all(bob.id, "export") == []
    await services.exports.sweep()
    assert await archived_files() == []
