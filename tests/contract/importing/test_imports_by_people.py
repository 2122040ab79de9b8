"""A person imports an archive: preview, import, repetition, undoing, and the round trip of an export."""

import asyncio
import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core.files.base import ContentFile
from msgspec import structs

from accounts.domain import DELETED
from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from tests.contract.importing.test_import_archives import attachment, note
from tests.contract.media.test_media import publish, upload
from tests.support.corpora import corpus_path
from tests.support.imports import (
    BASE_URL,
    comparable,
    export_account,
    import_file,
    perform_transfers,
    read_profile_posts,
    start_import,
    undo_import,
)
from tests.support.pictures import picture, uploaded
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import TransferNotFound, TransferUnderWay
from timelines.exporting.transfer import STALLED_MS
from timelines.graph.follow import Relationship
from timelines.importing import account_lists
from timelines.importing.service import IMPORT_ROWS_CAP
from timelines.media.storage import MediaFiles
from timelines.posts.post import FOLLOWERS, UNLISTED, Poll, PostDetails
from timelines.reactions.repository import ReactionKind


def mastodon(*notes: dict[str, Any], files: dict[str, bytes] | None = None, **options: Any) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w", **options) as archive:
        archive.writestr("outbox.json", json.dumps({"orderedItems": notes}))
        for name, each in (files or {}).items():
            archive.writestr(f"media_attachments/files/1/original/{name}", each)
    return content.getvalue()


async def pictures() -> list[str]:
    return [name for name in await MediaFiles().list_names() if not name.startswith("archives/")]


async def test_a_preview_shows_numbers_and_writes_nothing(services: Services, alice: Person) -> None:
    file = mastodon(
        note(1, attachment=[attachment("a.jpg")]), note(2), {"type": "Announce", "object": "https://example.org/7"},
        files={"a.jpg": picture()},
    )  # fmt: skip
    preview = await start_import(services, alice.id, file)
    assert (preview.state, preview.counts, preview.refused) == ("ready", {"posts": 2, "pictures": 1}, {"boost": 1})
    assert await alice.profile_ids() == []
    assert await pictures() == []
    for _ in range(2):  # clicks
        await services.imports.discard(alice.id, preview.id)
    assert await MediaFiles().list_names() == []
    with pytest.raises(TransferNotFound):
        await services.imports.confirm(alice.id, preview.id)


async def test_an_import_keeps_dates_sends_no_notification_and_is_repeatable(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    file = mastodon(note(1, "<p>@bob hello</p>"), note(2, inReplyTo="https://example.org/1"))
    done = await import_file(services, alice.id, file)
    assert (done.state, done.counts["posts"], done.counts["replies"]) == ("done", 2, 1)
    first, reply = await read_profile_posts(services, "alice")
    assert first.created_ms == 1_577_836_801_000
    assert (reply.in_reply_to, reply.root_id) == (first.id, first.id)
    assert (await services.notifications.page(bob.id)).entries == ()
    assert (await services.outbox.read_depth()).is_empty
    again = await import_file(services, alice.id, file)
    assert (again.counts["posts"], again.counts["standing"]) == (0, 2)
    assert len(await read_profile_posts(services, "alice")) == 2
    other = await import_file(services, bob.id, file)
    assert other.counts["posts"] == 2, "the rows of another person are not those of alice"


async def test_an_import_is_undone_whole_and_can_be_repeated(services: Services, alice: Person) -> None:
    own = await alice.publishes("My own post")
    file = mastodon(
        note(1, attachment=[attachment("a.jpg")]), note(2, inReplyTo="https://example.org/1"),
        files={"a.jpg": picture()},
    )  # fmt: skip
    done = await import_file(services, alice.id, file)
    assert len(await pictures()) == 2
    assert (await undo_import(services, alice.id, done)).state == "undone"
    await services.media_deletion.check_due()
    assert await pictures() == []
    assert await alice.profile_ids() == [own.id]
    assert (await import_file(services, alice.id, file)).counts["posts"] == 2


async def test_only_one_import_runs_and_only_its_owner_confirms_it(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    preview = await start_import(services, alice.id, mastodon(note(1)))
    with pytest.raises(TransferNotFound):
        await services.imports.confirm(bob.id, preview.id)
    await services.imports.confirm(alice.id, preview.id)
    with pytest.raises(TransferUnderWay):
        await start_import(services, alice.id, mastodon(note(1)))
    await services.imports.confirm(alice.id, preview.id)
    assert await perform_transfers(services) == 1, "a second click adds no job"
    assert (await services.imports.confirm(alice.id, preview.id)).state == "done", "as a stale page does it"
    assert await perform_transfers(services) == 0
    with pytest.raises(TransferNotFound):
        await services.imports.discard(alice.id, preview.id)


async def test_of_uploads_and_requests_at_once_one_starts(services: Services, alice: Person, bob: Person) -> None:
    files = [uploaded(mastodon(note(1))) for _ in range(5)]
    uploads = (services.imports.upload(alice.id, file, "posts", BASE_URL, "en") for file in files)
    results = await asyncio.gather(*uploads, return_exceptions=True)
    assert sorted(type(each).__name__ for each in results) == ["Transfer", *["TransferUnderWay"] * 4]
    exports = await asyncio.gather(*(services.exports.request(alice.id, BASE_URL, "en") for _ in range(5)))
    assert len({each.id for each in exports}) == 1
    await services.imports.upload(bob.id, uploaded(mastodon(note(1))), "posts", BASE_URL, "en")
    assert await perform_transfers(services) == 3


async def test_an_upload_that_cannot_be_stored_leaves_nothing(services: Services, world: World) -> None:
    class Cut(ContentFile):  # type: ignore[type-arg]
        def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
            yield b"PK"
            raise OSError("No space left on device")

    alice = await world.person("alice")
    with pytest.raises(OSError, match="No space"):
        await services.imports.upload(alice.id, Cut(b"PK", "archive.zip"), "posts", BASE_URL, "en")
    assert await services.repositories.transfers.all(alice.id) == []
    assert (await start_import(services, alice.id, mastodon(note(1)))).state == "ready"


async def test_an_import_that_lost_its_job_is_continued_or_discarded(services: Services, alice: Person) -> None:
    preview = await start_import(services, alice.id, mastodon(note(1)))
    changed = structs.replace(preview, state="importing")  # the process died before it added the job
    await services.repositories.transfers.save(alice.id, changed)
    await services.imports.confirm(alice.id, preview.id)
    assert await perform_transfers(services) == 0
    services.imports.clock = services.exports.clock = FixedClock(services.clock.now_ms() + STALLED_MS + 1)
    with pytest.raises(TransferNotFound):
        await services.imports.discard(alice.id, preview.id)
    await services.imports.confirm(alice.id, preview.id)
    await perform_transfers(services)
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, len(await read_profile_posts(services, "alice"))) == ("done", 1)
    reading = structs.replace(done, state="running")
    await services.repositories.transfers.save(alice.id, reading)
    with pytest.raises(TransferNotFound):
        await services.imports.discard(alice.id, done.id)
    await services.repositories.transfers.save(alice.id, structs.replace(reading, changed_ms=0))
    await services.imports.discard(alice.id, done.id)
    assert await services.repositories.transfers.all(alice.id) == []


async def test_the_end_of_a_transfer_notifies_its_account_once(services: Services, alice: Person) -> None:
    await services.exports.request(alice.id, BASE_URL, "en")
    (job,) = await services.export_queue.fetch("abad1dea", 10, 1)
    for _ in range(2):  # a process that dies before it finishes its job
        await services.imports.handle(job.payload)
    await services.export_queue.finish(job, ())
    await import_file(services, alice.id, mastodon(note(1)))
    entries = (await services.notifications.page(alice.id)).entries
    assert [(each.kind.name, each.author.id, each.entry) for each in entries] == [
        ("import", alice.id, None),
        ("archive", alice.id, None),
    ]


async def test_an_undoing_that_begins_in_the_last_minute_is_whole(services: Services, alice: Person) -> None:
    done = await import_file(services, alice.id, mastodon(note(1)))
    (left_ms,) = await services.store.execute_all([("PTTL", keys.imported_posts(alice.id, done.id))])
    assert left_ms > services.config.archive_keep_ms + DAY_MS


def test_the_profile_has_room_for_a_whole_import() -> None:
    assert ServiceConfig().profile_cap >= IMPORT_ROWS_CAP


async def test_an_export_imported_after_a_deletion_is_equal_but_for_ids(services: Services, world: World) -> None:
    alice = await world.person("alice")
    with_picture = await publish(services, alice, await upload(services, alice))
    await alice.edits(with_picture, "The picture was not needed", details=PostDetails(spoiler_text="Tea"))
    root = await alice.publishes(
        "Hello <b> & https://example.org/?a=1&b=2 #tag\n\ntwo", details=PostDetails(language="de")
    )
    await alice.publishes("A reply", in_reply_to=root, audience=UNLISTED)
    await alice.publishes("For followers", audience=FOLLOWERS)
    poll = Poll(("Tea", "Coffee"), True, services.clock.now_ms() + 86_400_000)
    await alice.publishes("Which?", details=PostDetails(poll=poll))
    for number in range(250):
        await alice.publishes(f"Post {number}")
    before = await export_account(services, alice.id)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    again = await world.person("alice2")
    done = await import_file(services, again.id, before)
    assert (done.state, done.refused, done.counts["posts"]) == ("done", {}, 255)
    after = await export_account(services, again.id)
    (items, parents), (items_before, parents_before) = comparable(after), comparable(before)
    for item, item_before in zip(items, items_before, strict=True):
        assert json.dumps(item).replace("alice2", "alice") == json.dumps(item_before)
    assert parents == parents_before


async def test_an_own_export_brings_back_deleted_posts_and_doubles_none(services: Services, world: World) -> None:
    alice = await world.person("alice")
    kept = await alice.publishes("Kept")
    deleted = await alice.publishes("Deleted", in_reply_to=kept)
    archive = await export_account(services, alice.id)
    await alice.deletes(deleted)
    await world.deliver_all()
    assert (await start_import(services, alice.id, archive)).counts == {"posts": 1, "pictures": 0, "standing": 1}
    done = await import_file(services, alice.id, archive)
    assert (done.counts["posts"], done.counts["standing"]) == (1, 1)
    posts = await read_profile_posts(services, "alice")
    assert sorted(post.text for post in posts) == ["Deleted", "Kept"]
    assert [(post.in_reply_to, post.root_id) for post in posts if post.id != kept.id] == [(kept.id, kept.id)]


async def test_an_interrupted_import_makes_no_doubles_and_loses_nothing(services: Services, alice: Person) -> None:
    """Each slice is one segment, and every second try dies before it is finished."""
    notes = [note(number, published=f"2020-01-01T00:{number // 60:02}:{number % 60:02}Z") for number in range(1, 351)]
    preview = await start_import(services, alice.id, mastodon(*notes))
    services.imports.slice_s = 0
    await services.imports.confirm(alice.id, preview.id)
    tries = 0
    while jobs := await services.archive_queue.fetch("abad1dea", 1, 1):
        (job,) = jobs
        await services.imports.handle(job.payload)  # a process that dies before it finishes its job
        following = await services.imports.handle(job.payload)
        await services.archive_queue.finish(job, following)
        tries += 1
    assert tries == 3, "every try reads two segments"
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, done.counts["posts"], done.counts["standing"]) == ("done", 350, 0)
    assert len(await read_profile_posts(services, "alice")) == 350
    await services.imports.undo(alice.id, preview.id)
    while jobs := await services.archive_queue.fetch("abad1dea", 1, 1):
        await services.imports.handle(jobs[0].payload)
        await services.archive_queue.finish(jobs[0], await services.imports.handle(jobs[0].payload))
    assert await read_profile_posts(services, "alice") == []


async def test_likes_bookmarks_and_boosts_of_an_own_archive_are_imported_and_undone(
    services: Services, world: World, acts: PersonReactions
) -> None:
    alice, bob, carol, again = await world.people("alice", "bob", "carol", "alice2")
    own = await alice.publishes("My own post")
    posts = [await bob.publishes(f"Post {number}") for number in range(4)]
    await alice.follows(carol)
    private = await carol.publishes("For followers", audience=FOLLOWERS)
    for post in (posts[0], posts[1], private):
        await acts.likes(alice, post)
    for post in posts[:3]:
        await acts.bookmarks(alice, post)
    for post in (posts[0], posts[3]):
        await acts.boosts(alice, post)
    archive = await export_account(services, alice.id)
    await bob.deletes(posts[1])
    await acts.bookmarks(again, posts[2])
    await world.deliver_all()
    preview = await start_import(services, again.id, archive)
    expected = {"posts": 1, "pictures": 0, "likes": 1, "bookmarks": 2, "standing": 2}
    assert (preview.counts, preview.refused) == (expected, {"post_missing": 3})
    assert await services.repositories.reactions.find_score(ReactionKind.LIKE, posts[0].id, again.id) is None
    await services.imports.confirm(again.id, preview.id)
    await perform_transfers(services)
    done = await services.exports.find(again.id, preview.id, "import")
    assert {kind: done.counts[kind] for kind in ("posts", "likes", "bookmarks")} == {
        "posts": 1, "likes": 1, "bookmarks": 2,
    }  # fmt: skip
    assert await acts.bookmark_ids(again) == [posts[0].id, posts[2].id, posts[3].id]
    likes = (await services.reactions.likes(again.id)).entries
    assert [entry.post.id for entry in likes] == [posts[0].id]
    assert (await acts.read_counts(posts[0])).likes == 2
    assert await acts.boost_of(again, posts[3]) is None, "a boost is delivered to followers"
    notified = (await services.notifications.page(bob.id)).entries
    assert {notification.author.id for notification in notified} == {alice.id}
    repeated = await import_file(services, again.id, archive)
    assert {repeated.counts.get(kind, 0) for kind in ("posts", "likes", "bookmarks")} == {0}
    await undo_import(services, again.id, done)
    assert await acts.bookmark_ids(again) == [posts[2].id]
    assert (await services.reactions.likes(again.id)).entries == ()
    assert (await acts.read_counts(posts[0])).likes == 1
    assert await again.profile_ids() == []
    assert own.id in await alice.profile_ids()


async def test_likes_of_an_interrupted_import_are_counted_once_and_undone(
    services: Services, world: World, acts: PersonReactions
) -> None:
    alice, bob, again = await world.people("alice", "bob", "alice2")
    posts = [await bob.publishes(f"Post {number}") for number in range(3)]
    for post in posts:
        await acts.likes(alice, post)
        await acts.bookmarks(alice, post)
    preview = await start_import(services, again.id, await export_account(services, alice.id))
    services.imports.slice_s = 0
    await services.imports.confirm(again.id, preview.id)
    while jobs := await services.archive_queue.fetch("abad1dea", 1, 1):
        await services.imports.handle(jobs[0].payload)  # a process that dies before it finishes its job
        await services.archive_queue.finish(jobs[0], await services.imports.handle(jobs[0].payload))
    done = await services.exports.find(again.id, preview.id, "import")
    assert (done.state, done.counts) == ("done", {"posts": 0, "likes": 3, "bookmarks": 3, "standing": 0})
    assert await acts.bookmark_ids(again) == [post.id for post in reversed(posts)]
    await undo_import(services, again.id, done)
    assert await acts.bookmark_ids(again) == []


async def test_a_deleted_account_leaves_no_transfer(services: Services, world: World, alice: Person) -> None:
    await import_file(services, alice.id, mastodon(note(1)))
    await start_import(services, alice.id, mastodon(note(2)))
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert (await services.accounts.get(alice.id)).state == DELETED
    assert await MediaFiles().list_names() == []
    assert await services.repositories.transfers.all(alice.id) == []
    assert await perform_transfers(services) == 0


async def test_a_real_export_of_mastodon_is_imported_by_a_person(services: Services, alice: Person) -> None:
    done = await import_file(services, alice.id, corpus_path("archives/mastodon/mastodon-export-2023.zip").read_bytes())
    assert (done.state, done.counts["pictures"]) == ("done", 1)
    assert done.counts["posts"] == len(await read_profile_posts(services, "alice")) > 5


# Lists of accounts


async def test_lists_of_accounts_are_imported_without_notifications(services: Services, world: World) -> None:
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    await carol.locks()
    header = "Account address,Show boosts,Notify on new posts,Languages\n"
    following = f"{header}bob,false,false,\n@carol@site.example,true,,\nbob@elsewhere.example,true,,\n\nnobody,true,,\n"
    done = await import_file(services, alice.id, following.encode(), "following")
    assert (done.state, done.counts, done.refused) == ("done", {"accounts": 2}, {"account": 2})
    assert await services.repositories.follows.following_ids(alice.id) == [bob.id]
    assert await services.repositories.follow_requests.is_asking(alice.id, carol.id)
    assert await services.repositories.blocks_and_mutes.hidden_boosts_among(alice.id, [bob.id, carol.id]) == {bob.id}
    for person in (bob, carol):
        assert (await services.notifications.page(person.id)).entries == ()
    await import_file(services, alice.id, b"Friends,bob\nFriends,carol\n", "lists")
    await import_file(services, alice.id, b"Friends,bob\n", "lists")
    (account_list,) = await services.lists.all_lists(alice.id)
    assert set(await services.repositories.members.member_ids(account_list.id)) == {bob.id, carol.id}
    await import_file(services, alice.id, b"\xef\xbb\xbfAccount address,Hide notifications\ncarol,true\n", "muted")
    await import_file(services, alice.id, b"dora\n", "blocked")
    now_ms = services.clock.now_ms()
    assert (await services.blocks_and_mutes.relationship(alice.id, carol.id, now_ms)).mutes
    assert (await services.blocks_and_mutes.relationship(alice.id, dora.id, now_ms)).blocks


async def test_the_undo_of_an_import_of_accounts_keeps_earlier_relations(services: Services, world: World) -> None:
    alice, bob, carol, dora, erik = await world.people("alice", "bob", "carol", "dora", "erik")
    await carol.locks()
    await alice.follows(bob)
    friends, empty = await alice.makes_list(bob, title="Friends"), await alice.makes_list(title="Café")
    files = {
        "following": b"bob\ncarol\ndora,false\n", "muted": b"dora\n", "blocked": b"erik\n",
        "lists": "Friends,bob\nFriends,dora\nNew,dora\nNew,bob\nCafe\u0301,dora\n".encode(),
    }  # fmt: skip
    for content, rows in files.items():
        done = await import_file(services, alice.id, rows, content)
        assert done.state == "done"
        assert (await undo_import(services, alice.id, done)).state == "undone"
    assert await services.repositories.follows.following_ids(alice.id) == [bob.id]
    assert not await services.repositories.follow_requests.is_asking(alice.id, carol.id)
    for other in (dora, erik):
        assert (
            await services.blocks_and_mutes.relationship(alice.id, other.id, services.clock.now_ms()) == Relationship()
        )
    assert {each.id for each in await services.lists.all_lists(alice.id)} == {friends.id, empty.id}
    assert await services.repositories.members.member_ids(friends.id) == [bob.id]
    await alice.follows(carol)
    await undo_import(services, alice.id, await import_file(services, alice.id, b"carol\n", "following"))
    assert await services.repositories.follow_requests.is_asking(alice.id, carol.id)


async def test_the_csv_files_of_an_export_are_imported(services: Services, world: World) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.follows(bob)
    await alice.makes_list(bob, carol, title="=Friends")
    archive = await export_account(services, alice.id)
    dora = await world.person("dora")
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        await import_file(services, dora.id, opened.read("following_accounts.csv"), "following")
        await import_file(services, dora.id, opened.read("lists.csv"), "lists")
        await import_file(services, dora.id, opened.read("muted_accounts.csv"), "muted")
    assert await services.repositories.follows.following_ids(dora.id) == [bob.id]
    assert [each.title for each in await services.lists.all_lists(dora.id)] == ["=Friends"]


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"a\n" * 101], ids=["bytes", "rows"])
async def test_a_file_that_is_no_list_is_refused(
    content: bytes, services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_lists, "CSV_ROWS_CAP", 100)
    alice = await world.person("alice")
    assert (await start_import(services, alice.id, content, "blocked")).state == "failed"


async def test_an_export_does_not_wait_for_imports(services: Services, alice: Person, bob: Person) -> None:
    await services.imports.upload(alice.id, uploaded(mastodon(note(1)), "archive.zip"), "posts", BASE_URL, "en")
    await services.exports.request(bob.id, BASE_URL, "en")
    assert [len(await queue.fetch("abad1dea", 10, 1)) for queue in (services.archive_queue, services.export_queue)] == [
        1,
        1,
    ]
