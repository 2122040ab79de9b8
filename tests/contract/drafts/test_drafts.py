"""Drafts and scheduled posts: kept until they are deleted, published once at their time, and never lost."""

import asyncio

import msgspec
import pytest
from django.utils.translation import override
from msgspec import structs

from socialsite.container import Services
from socialsite.web.requests import FormFields
from tests.support.world import Person, World
from timelines import keys
from timelines.drafts import draft as drafts
from timelines.drafts.draft import Draft, parse_time
from timelines.drafts.repository import DuePost
from timelines.drafts.service import _form_of
from timelines.errors import DraftNotFound, DraftsCapReached, PostInvalid, TimeInvalid
from timelines.publishing.forms import PostForm, draft_fields
from timelines.publishing.thread import publish_thread

MINUTE_MS = 60_000


async def texts_of(services: Services, person: Person) -> list[str]:
    page = await services.reading.profile(person.id, viewer_id=person.id)
    return [entry.post.text for entry in page.entries]


async def schedule(services: Services, person: Person, text: str = "later", **fields: str) -> Draft:
    at_ms = services.clock.now_ms() + 6 * MINUTE_MS
    draft = Draft(0, (("text", text), *fields.items()), scheduled_ms=at_ms)
    return await services.drafts.save(person.id, draft)


async def make_due(services: Services, person: Person, draft: Draft) -> Draft:
    """Move the time of a scheduled post into the past, in the draft and in the queue of due posts."""
    past = structs.replace(draft, scheduled_ms=services.clock.now_ms() - 1)
    assert await services.repositories.drafts.replace(person.id, draft, past)
    await services.repositories.drafts.due.add(DuePost(person.id, draft.id), services.clock.now_ms() - 1)
    return past


async def test_a_draft_is_kept_replaced_and_deleted(alice: Person, bob: Person, services: Services) -> None:
    first = await services.drafts.save(alice.id, Draft(0, (("text", "one"),)))
    second = await services.drafts.save(alice.id, Draft(first.id, (("text", "two"),)))
    assert await services.drafts.all(alice.id) == [second]
    with pytest.raises(DraftNotFound):
        await services.drafts.find(bob.id, first.id)
    assert await services.drafts.delete(alice.id, first.id)
    with pytest.raises(DraftNotFound):  # an old page does not restore it under its id
        await services.drafts.save(alice.id, Draft(first.id, (("text", "three"),)))
    assert await services.drafts.all(alice.id) == []


async def test_drafts_have_a_cap_and_a_size(world: World, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timelines.drafts.repository.DRAFTS_CAP", 2)
    alice = await world.person("alice")
    for text in ("one", "two"):
        await services.drafts.save(alice.id, Draft(0, (("text", text),)))
    with pytest.raises(DraftsCapReached):
        await services.drafts.save(alice.id, Draft(0, (("text", "three"),)))
    with pytest.raises(PostInvalid):
        await services.drafts.save(alice.id, Draft(0, (("text", "x" * drafts.DRAFT_BYTES_CAP),)))


async def test_a_scheduled_post_is_published_once_at_its_time(alice: Person, services: Services) -> None:
    draft = await schedule(services, alice, "later #tea")
    assert await services.drafts.publish_due() == 0
    await make_due(services, alice, draft)
    await asyncio.gather(services.drafts.publish_due(), services.drafts.publish_due())
    assert await texts_of(services, alice) == ["later #tea"]
    assert await services.drafts.all(alice.id) == []
    assert await services.drafts.publish_due() == 0


async def test_a_thread_that_is_refused_halfway_leaves_only_the_other_posts_as_a_draft(
    world: World, services: Services
) -> None:
    alice = await world.person("alice")
    at_ms = services.clock.now_ms() + 6 * MINUTE_MS
    texts = [("text", "one"), ("spoiler_text", "numbers"), *(("more[]", each) for each in ("two", "", "three", "four"))]
    draft = await services.drafts.save(alice.id, Draft(0, draft_fields(FormFields(texts)), scheduled_ms=at_ms))
    due = await make_due(services, alice, draft)
    form = _form_of(structs.replace(due, fields=tuple(texts[:3])))  # a worker dies after two posts, staff blocks a word
    await publish_thread(services.publishing, form, author_id=alice.id, now_ms=services.clock.now_ms())
    await services.site.change(blocked_words=("four",))
    assert await services.drafts.publish_due() == 1
    assert await texts_of(services, alice) == ["two", "one"]
    (left,) = await services.drafts.all(alice.id)
    assert left.error.startswith("Post 5: ")
    fields = FormFields(left.fields)
    assert (fields["text"], fields.values_of("more"), fields["spoiler_text"]) == ("three", ["four"], "numbers")
    await services.site.change(blocked_words=())
    await make_due(services, alice, await services.drafts.save(alice.id, structs.replace(left, scheduled_ms=at_ms)))
    assert await services.drafts.publish_due() == 1
    posts = (await services.reading.profile(alice.id, viewer_id=alice.id)).entries
    assert [each.post.text for each in posts] == ["four", "three", "two", "one"]
    assert [each.post.in_reply_to for each in posts] == [*(each.post.id for each in posts[1:]), None]


@pytest.mark.parametrize("fields", [4, 5, 9])
async def test_scheduled_posts_of_another_release_are_published_or_refused(
    alice: Person, bob: Person, services: Services, fields: int
) -> None:
    """A release stores as many fields as it knows; the values of the others are the defaults."""
    parent, repository = await bob.publishes("a question"), services.repositories.drafts
    published = await schedule(services, alice)
    refused = await schedule(services, alice, "an answer", in_reply_to=str(parent.id))
    await bob.deletes(parent)
    past_ms = services.clock.now_ms() - 1
    for draft in (published, refused):
        values = [*msgspec.structs.astuple(structs.replace(draft, scheduled_ms=past_ms, language="")), "unknown"]
        raw = msgspec.msgpack.encode(values[:fields])
        await repository._timelines.execute("HSET", keys.drafts(alice.id), draft.id, raw)
        await repository.due.add(DuePost(alice.id, draft.id), past_ms)
    assert await services.drafts.publish_due() == 2
    assert await texts_of(services, alice) == ["later"]
    (left,) = await services.drafts.all(alice.id)
    assert (left.id, left.scheduled_ms, "does not exist" in left.error) == (refused.id, None, True)


async def test_a_crash_after_publishing_does_not_publish_twice(alice: Person, services: Services) -> None:
    due = await make_due(services, alice, await schedule(services, alice))
    await services.drafts._publish_draft(alice.id, due)  # the worker dies here: the draft and its due entry remain
    assert await services.drafts.publish_due() == 1
    assert await texts_of(services, alice) == ["later"]
    assert await services.drafts.all(alice.id) == []


async def test_a_post_that_cannot_be_published_waits_with_the_reason(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    parent = await bob.publishes("a question")
    draft = await schedule(services, alice, "an answer", in_reply_to=str(parent.id))
    await bob.deletes(parent)
    await make_due(services, alice, draft)
    assert await services.drafts.publish_due() == 1
    (waiting,) = await services.drafts.all(alice.id)
    assert waiting.scheduled_ms is None
    assert "does not exist" in waiting.error
    page = await services.notifications.page(alice.id)
    assert [each.kind.name for each in page.entries] == ["draft"]
    assert await texts_of(services, alice) == []


async def test_the_reason_is_in_the_language_of_the_writer(alice: Person, bob: Person, services: Services) -> None:
    parent = await bob.publishes("a question")
    with override("de"):
        draft = await schedule(services, alice, "an answer", in_reply_to=str(parent.id))
        form = PostForm.parse(FormFields([("text", "another one"), ("in_reply_to", str(parent.id))]))
        held = await services.drafts.hold(alice.id, form)
    await bob.deletes(parent)
    await make_due(services, alice, draft)
    with override("en"):  # staff and the worker
        await services.drafts.release(alice.id, held.id, held.held_ms)
        assert await services.drafts.publish_due() == 2
    assert all("gibt es nicht" in each.error for each in await services.drafts.all(alice.id))


async def test_a_new_time_moves_the_post_and_a_removed_time_keeps_the_draft(alice: Person, services: Services) -> None:
    moved, kept = await schedule(services, alice, "moved"), await schedule(services, alice, "kept")
    for draft in (moved, kept):
        await make_due(services, alice, draft)
    later_ms = services.clock.now_ms() + 10 * MINUTE_MS
    await services.drafts.save(alice.id, Draft(moved.id, moved.fields, scheduled_ms=later_ms))
    await services.drafts.save(alice.id, Draft(kept.id, kept.fields))
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == []
    assert {draft.id: draft.scheduled_ms for draft in await services.drafts.all(alice.id)} == {
        moved.id: later_ms, kept.id: None,
    }  # fmt: skip


@pytest.mark.parametrize("ahead_ms", [4 * MINUTE_MS, -MINUTE_MS])
async def test_a_time_is_at_least_five_minutes_ahead(alice: Person, services: Services, ahead_ms: int) -> None:
    at_ms = services.clock.now_ms() + ahead_ms
    with pytest.raises(PostInvalid):
        await services.drafts.save(alice.id, Draft(0, (("text", "x"),), scheduled_ms=at_ms))
    assert await services.drafts.all(alice.id) == []


@pytest.mark.parametrize(
    "text",
    ["2031-07-24T10:00:00Z", "2031-07-24t10:00:00z", "2031-07-24T10:00:00.000Z", "2031-07-24T12:00:00+02:00",
     "2031-07-24T12:00:00+0200", "2031-07-24 10:00", "20310724T100000Z", "2031-07-24T10:00:00.000000000Z",
     "2031-07-24T12:00:00+02:00[Europe/Berlin]", "2031-07-24T10:00:00z[!Etc/UTC][u-ca=gregory]"],
)  # fmt: skip
def test_a_time_is_read_as_iso_8601_and_rfc_3339_and_rfc_9557_write_it(text: str) -> None:
    assert parse_time(text) == 1_942_653_600_000


@pytest.mark.parametrize("text", ["2031-07-24T09:59:60Z", "2031-07-24 11:59:60.000+02:00"])
def test_a_leap_second_is_read_as_the_second_before_it(text: str) -> None:
    """ethlo/itu#4, ariebovenberg/whenever#90; some programs write one at any minute (time-rs/time#674)."""
    assert parse_time(text) == 1_942_653_599_000


@pytest.mark.parametrize("text", ["2031-07-24T10:00[Europe/Berlin]", "2031-07-24T10:00Z[", "2031-07-24T10:60Z"])
def test_a_time_with_a_zone_but_without_its_offset_is_refused(text: str) -> None:
    with pytest.raises(TimeInvalid):
        parse_time(text)


async def test_a_time_may_be_centuries_ahead(alice: Person, services: Services) -> None:
    draft = Draft(0, (("text", "x"),), scheduled_ms=parse_time("4000-01-01T00:00:00Z"))
    saved = await services.drafts.save(alice.id, draft)
    assert (await services.drafts.find(alice.id, saved.id)).scheduled_ms == draft.scheduled_ms
    assert await services.drafts.publish_due() == 0


async def test_a_post_that_breaks_a_rule_is_refused_when_it_is_scheduled(alice: Person, services: Services) -> None:
    with pytest.raises(PostInvalid):
        await schedule(services, alice, "x" * 501)
    with pytest.raises(PostInvalid):
        await schedule(services, alice, "question", **{"poll[options]": "only one"})


async def test_the_drafts_of_a_deleted_account_are_deleted(world: World, alice: Person, services: Services) -> None:
    draft = await schedule(services, alice)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    key = keys.drafts(alice.id)
    assert not await services.store.node(key).execute("EXISTS", key)
    await services.repositories.drafts.due.add(DuePost(alice.id, draft.id), services.clock.now_ms() - 1)
    assert await services.drafts.publish_due() == 1


async def test_no_due_entry_is_left_without_its_scheduled_post(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, later_ms = await world.person("alice"), services.clock.now_ms() + 10 * MINUTE_MS
    deleted, unscheduled = await schedule(services, alice), await schedule(services, alice)
    await services.drafts.delete(alice.id, deleted.id)
    await services.drafts.save(alice.id, Draft(unscheduled.id, unscheduled.fields))
    monkeypatch.setattr("timelines.drafts.repository.DRAFTS_CAP", 1)
    with pytest.raises(DraftsCapReached):
        await schedule(services, alice)
    assert await services.repositories.drafts.due.oldest(10, until_ms=later_ms) == []


async def test_concurrent_changes_of_two_devices_leave_a_scheduled_post_due(alice: Person, services: Services) -> None:
    draft = await schedule(services, alice)
    at_ms = services.clock.now_ms() + 8 * MINUTE_MS
    for _ in range(20):
        times = [None, at_ms, None, at_ms]
        drafts = services.drafts
        await asyncio.gather(*(drafts.save(alice.id, Draft(draft.id, draft.fields, scheduled_ms=at)) for at in times))
        (stored,) = await drafts.all(alice.id)
        due = await services.repositories.drafts.due.oldest(10, until_ms=at_ms)
        assert due == ([] if stored.scheduled_ms is None else [(DuePost(alice.id, draft.id), at_ms)])
