"""Imports and scheduled posts evade no rule: limits of accounts, blocked words and hosts, suspensions, deletions."""

from collections.abc import Sequence

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.limits import NEWCOMER_FOLLOWS_PER_DAY
from tests.contract.importing.test_import_archives import attachment, note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.contract.media.test_media import publish, upload
from tests.support.imports import begin_import, import_file, perform_transfers, start_import, undo_import
from tests.support.pictures import picture
from tests.support.world import Person, World
from timelines.drafts.draft import Draft
from timelines.errors import PostInvalid, TransferNotFound, TransferUnderWay
from timelines.importing.repository import ImportedPosts
from timelines.media.media import MediaChange
from timelines.media.storage import MediaFiles
from timelines.posts.post import Post
from timelines.publishing.forms import EditForm

HOUR_MS = 3_600_000


def csv_file(handles: Sequence[str]) -> bytes:
    return "".join(f"{handle}\n" for handle in handles).encode()


async def test_a_new_account_imports_fifty_follows_a_day_and_repeats_are_free(services: Services, world: World) -> None:
    alice, other = await world.people("alice", "other")
    handles = [f"p{number}" for number in range(NEWCOMER_FOLLOWS_PER_DAY + 5)]
    await services.accounts.import_accounts(handles=handles, now_ms=services.clock.now_ms())
    await services.site.change(newcomer_days=3)
    for _ in range(2):
        done = await import_file(services, alice.id, csv_file(handles), "following")
        assert (done.counts["accounts"], dict(done.refused)) == (NEWCOMER_FOLLOWS_PER_DAY, {"limit": 5})
        assert await services.repositories.follows.following_count(alice.id) == NEWCOMER_FOLLOWS_PER_DAY
    await services.site.change(newcomer_days=0)
    assert (await import_file(services, alice.id, csv_file(handles), "following")).counts["accounts"] == 55
    assert (await import_file(services, other.id, csv_file(handles), "following")).counts["accounts"] == 55


async def test_an_import_has_the_daily_limit_of_new_hashtags(services: Services, world: World) -> None:
    services.new_hashtags.new_hashtags_per_day = 3
    alice, bob = await world.people("alice", "bob")
    await bob.publishes("#known")
    notes = [note(number, f"<p>#known #mine #new{number}</p>") for number in range(1, 6)]
    assert (await import_file(services, alice.id, mastodon(*notes))).counts["posts"] == 5
    sizes = await services.repositories.hashtag_timelines.sizes(["known", "mine", *(f"new{n}" for n in range(1, 6))])
    assert list(sizes.values()) == [6, 5, 1, 1, 0, 0, 0]


async def test_an_import_refuses_blocked_words_and_hosts_in_every_text(services: Services, world: World) -> None:
    await services.site.change(blocked_words=("casino",), blocked_hosts=("bad.example.com",))
    alice = await world.person("alice")
    file = mastodon(
        note(1, "fine"), note(2, "<p>a casino</p>"), note(3, "<p>https://bad.example.com/x</p>"),
        note(4, "fine", summary="Casino!"), note(5, attachment=[attachment("a.jpg", "my casino")]),
        files={"a.jpg": picture()},
    )  # fmt: skip
    done = await import_file(services, alice.id, file)
    assert (done.counts["posts"], dict(done.refused)) == (1, {"blocked": 4})
    assert len(await alice.profile_ids()) == 1


async def test_an_import_of_a_suspended_account_waits_for_another_confirmation(
    services: Services, alice: Person, bob: Person
) -> None:
    transfer = await start_import(services, alice.id, b"bob\n", "following")
    await services.imports.confirm(alice.id, transfer.id)
    await services.accounts.suspend(account_id=alice.id)
    await perform_transfers(services)
    assert await services.repositories.follows.following_ids(alice.id) == []
    await services.accounts.reinstate(account_id=alice.id)
    await services.imports.confirm(alice.id, transfer.id)
    await perform_transfers(services)
    assert await services.repositories.follows.following_ids(alice.id) == [bob.id]


async def test_an_import_that_a_suspension_interrupts_can_be_undone(services: Services, alice: Person) -> None:
    preview = await begin_import(services, alice.id, mastodon(*[note(1 + n % 50, id=str(n)) for n in range(150)]))
    await services.accounts.suspend(account_id=alice.id)
    await perform_transfers(services)
    await services.accounts.reinstate(account_id=alice.id)
    ended = await services.exports.find(alice.id, preview.id, "import")
    assert (ended.state, ended.error, ended.counts["posts"]) == ("done", "restricted", 100)
    assert (await undo_import(services, alice.id, ended)).state == "undone"
    assert await alice.profile_ids() == []


async def test_a_scheduled_post_has_the_limits_of_new_accounts(world: World) -> None:
    clock = FixedClock(world.services.clock.now_ms())
    services = Services(world.services.store, clock, world.services.config)
    await services.site.change(newcomer_days=3)
    (alice,) = await World(services).people("alice")
    text = " ".join(f"@person{number}" for number in range(20))
    await services.drafts.save(alice.id, Draft(0, (("text", text),), scheduled_ms=clock.now_ms() + HOUR_MS))
    clock.advance(HOUR_MS + 1)
    await services.drafts.publish_due()
    (draft,) = await services.drafts.all(alice.id)
    assert "New accounts can mention at most 5" in draft.error
    assert await alice.profile_ids() == []


async def test_an_edit_of_a_description_alone_is_checked(services: Services, alice: Person) -> None:
    row = await upload(services, alice)
    post = await publish(services, alice, row)
    await services.site.change(blocked_words=("casino",))
    for change in ({row.id: MediaChange(alt="my casino")}, {row.id: MediaChange(alt="Casino!", focus=(0.1, 0.1))}):
        with pytest.raises(PostInvalid) as refusal:
            await services.edits.edit(
                EditForm(post.text, post.extra, media_changes=change), account_id=alice.id, post_id=post.id,
                now_ms=services.clock.now_ms(),
            )  # fmt: skip
        assert list(refusal.value.fields) == ["media_ids"]
    assert "casino" not in (await services.edits.find_own(alice.id, post.id)).searchable_text.lower()


async def test_an_import_of_many_pictures_takes_turns_with_others(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timelines.importing.posts.PICTURES_PER_SEGMENT", 2)
    alice = await world.person("alice")
    names = ["a.jpg", "b.jpg", "c.jpg"]
    notes = [note(number, attachment=[attachment(name)]) for number, name in enumerate(names, 1)]
    file = mastodon(*notes, files=dict.fromkeys(names, picture()))
    preview = await start_import(services, alice.id, file)
    services.imports.slice_s = 0
    await services.imports.confirm(alice.id, preview.id)
    assert await perform_transfers(services) == 3, "a job each for two pictures, one picture, and the end"
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, done.counts["pictures"]) == ("done", 3)


async def test_an_import_that_races_with_the_deletion_of_its_account_leaves_nothing(
    services: Services, world: World
) -> None:
    class DeletesMeanwhile(ImportedPosts):
        rounds = 0

        async def place(self, posts: Sequence[Post]) -> None:
            self.rounds += 1
            if self.rounds == 2:
                await services.accounts.delete(account_id=alice.id)
                await world.deliver_all()
            await super().place(posts)

    alice = await world.person("alice")
    notes = [note(number, published=f"2020-01-01T00:{number // 60:02}:{number % 60:02}Z") for number in range(1, 351)]
    preview = await start_import(services, alice.id, mastodon(*notes))
    await services.imports.confirm(alice.id, preview.id)
    services.imports.posts_import.posts = DeletesMeanwhile(services.store, profile_cap=1_000)
    await perform_transfers(services)
    await world.deliver_all()
    assert await services.repositories.author_timelines.read(alice.id, 0, 1_000, upward=True) == []
    assert await services.repositories.transfers.all(alice.id) == []
    assert await MediaFiles().list_names() == []


async def test_an_account_stores_one_file_of_each_content_that_waits_for_a_confirmation(
    services: Services, alice: Person
) -> None:
    done = await import_file(services, alice.id, mastodon(note(1)))
    former = await start_import(services, alice.id, mastodon(note(2)))
    blocked = await start_import(services, alice.id, b"bob\n", "blocked")
    newest = await start_import(services, alice.id, mastodon(note(3)))
    assert [each.id for each in await services.exports.all(alice.id, "import")] == [newest.id, blocked.id, done.id]
    with pytest.raises(TransferNotFound):
        await services.imports.confirm(alice.id, former.id)
    assert len(await MediaFiles().list_names()) == 2
    await services.imports.confirm(alice.id, newest.id)
    for change in (services.imports.undo(alice.id, done.id), services.imports.confirm(alice.id, blocked.id)):
        with pytest.raises(TransferUnderWay):
            await change
    with pytest.raises(TransferUnderWay):
        await start_import(services, alice.id, b"carol\n", "blocked")
    assert (await services.exports.find(alice.id, blocked.id, "import")).state == "ready", "nothing replaced it"
