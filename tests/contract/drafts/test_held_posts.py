"""First posts with links: staff looks at them before they are published, and no crash loses one."""

from contextlib import suppress

import pytest

from socialsite.container import Services
from socialsite.web.requests import FormFields
from tests.contract.importing.test_import_archives import note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.imports import import_file
from tests.support.world import Person, World
from timelines import keys
from timelines.drafts.draft import Draft
from timelines.drafts.repository import DuePost
from timelines.errors import DraftNotFound, DraftsCapReached, IdempotencyConflict, PostHeld, PostInvalid
from timelines.posts.post import FURTHER_TEXTS, PostDetails
from timelines.publishing.forms import PostForm
from timelines.publishing.held_links import FIRST_POSTS
from timelines.publishing.thread import publish_thread

LINK = "look at https://example.com/offer"
HOUR_MS = 3_600_000


@pytest.fixture
async def alice(services: Services, world: World) -> Person:
    await services.site.change(holds_first_links=True)
    return await world.person("alice")


async def publish(services: Services, person: Person, text: str = LINK, **fields: str) -> None:
    form = PostForm.parse(FormFields([("text", text), *fields.items()]))
    await services.publishing.publish_form(form, author_id=person.id, now_ms=services.clock.now_ms())


async def texts_of(services: Services, person: Person) -> list[str]:
    page = await services.reading.profile(person.id, viewer_id=person.id)
    return [entry.post.text for entry in page.entries]


async def held_of(services: Services) -> list[Draft]:
    page, _next = await services.drafts.held(0, 50)
    return [draft for _owner, draft in page]


async def test_a_first_post_with_a_link_is_held_and_published_after_its_release(
    services: Services, alice: Person
) -> None:
    with pytest.raises(PostHeld):
        await publish(services, alice)
    (draft,) = await services.drafts.all(alice.id)
    assert draft.held_ms is not None
    assert await texts_of(services, alice) == []
    assert [each.id for each in await held_of(services)] == [draft.id]
    assert await services.drafts.publish_due() == 0
    await services.drafts.release(alice.id, draft.id, draft.held_ms)
    with pytest.raises(DraftNotFound):
        await services.drafts.release(alice.id, draft.id, draft.held_ms)
    assert await services.drafts.publish_due() == 1
    assert await texts_of(services, alice) == [LINK]
    assert await services.drafts.all(alice.id) == []
    assert await services.drafts.count_held() == 0
    await publish(services, alice, "again https://example.com")  # the author has an approved link now
    assert len(await texts_of(services, alice)) == 2


async def test_a_first_post_without_a_link_allows_no_later_link(services: Services, alice: Person) -> None:
    """Otherwise one harmless post would allow all later links."""
    await publish(services, alice, "hello")
    with pytest.raises(PostHeld):
        await publish(services, alice)
    assert await texts_of(services, alice) == ["hello"]
    for number in range(FIRST_POSTS - 1):
        await publish(services, alice, f"hello {number}")
    await publish(services, alice)
    assert (await texts_of(services, alice))[0] == LINK


async def test_no_edit_adds_the_first_link(services: Services, alice: Person) -> None:
    await publish(services, alice, "hello")
    (entry,) = (await services.reading.profile(alice.id, viewer_id=alice.id)).entries
    with pytest.raises(PostInvalid):
        await alice.edits(entry.post, LINK)
    with pytest.raises(PostInvalid):
        await alice.edits(entry.post, "hello", details=PostDetails("https://example.com"))
    await alice.edits(entry.post, "good morning")
    assert await texts_of(services, alice) == ["good morning"]
    await services.site.change(holds_first_links=False)
    await alice.edits(entry.post, LINK)


async def test_a_form_that_is_sent_again_adds_no_first_link(services: Services, alice: Person) -> None:
    for further in ("two", LINK):
        form = PostForm.parse(FormFields([("text", "one"), ("idempotency_key", "key"), ("more", further)]))
        with suppress(IdempotencyConflict):
            await publish_thread(services.publishing, form, author_id=alice.id, now_ms=services.clock.now_ms())
    assert await texts_of(services, alice) == ["two", "one"]


async def test_a_boost_does_not_count_as_a_post(services: Services, alice: Person, bob: Person) -> None:
    post = await bob.publishes("to be boosted")
    await services.reactions.boost(account_id=alice.id, post_id=post.id, now_ms=services.clock.now_ms())
    with pytest.raises(PostHeld):
        await publish(services, alice)


@pytest.mark.parametrize("name", ["spoiler_text", "poll[options]"])
async def test_links_in_warnings_and_polls_are_held_too(services: Services, alice: Person, name: str) -> None:
    options = [("poll[options]", "one"), ("poll[options]", "two"), (name, "https://example.com")]
    form = PostForm.parse(FormFields([("text", "which?"), *options]))
    with pytest.raises(PostHeld):
        await services.publishing.publish_form(form, author_id=alice.id, now_ms=services.clock.now_ms())
    (draft,) = await held_of(services)
    assert dict(draft.fields).items() >= {"text": "which?"}.items()


async def test_posts_are_held_only_if_the_site_is_set_to_hold_them(services: Services, alice: Person) -> None:
    await services.site.change(holds_first_links=False)
    await publish(services, alice)
    assert await texts_of(services, alice) == [LINK]


async def test_an_invalid_post_is_refused_and_not_held(services: Services, alice: Person) -> None:
    with pytest.raises(PostInvalid):
        await publish(services, alice, LINK + "x" * 600)
    assert await held_of(services) == []


async def test_a_refused_post_stays_a_draft_with_the_text_of_staff(services: Services, alice: Person) -> None:
    with pytest.raises(PostHeld):
        await publish(services, alice)
    (draft,) = await held_of(services)
    await services.drafts.refuse(alice.id, draft.id, draft.held_ms, "No advertisements.")
    (refused,) = await services.drafts.all(alice.id)
    assert (refused.held_ms, refused.error, refused.value("text")) == (None, "No advertisements.", LINK)
    assert await held_of(services) == []
    assert await services.drafts.count_held() == 0
    page = await services.notifications.page(alice.id)
    assert [each.kind.name for each in page.entries] == ["draft"]


async def test_a_repeated_request_holds_one_post(services: Services, alice: Person) -> None:
    for _attempt in range(2):
        with pytest.raises(PostHeld):
            await publish(services, alice, idempotency_key="k1")
    assert len(await held_of(services)) == 1


async def test_a_scheduled_first_post_is_held_at_its_time(services: Services, alice: Person) -> None:
    now_ms = services.clock.now_ms()
    draft = Draft(services.ids.next_id(), (("text", LINK),), scheduled_ms=now_ms - 1)
    assert await services.repositories.drafts.save(alice.id, draft, is_new=True)
    await services.repositories.drafts.due.add(DuePost(alice.id, draft.id), now_ms - 1)
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == []
    (held,) = await held_of(services)
    assert held.id == draft.id
    assert len(await services.drafts.all(alice.id)) == 1
    await services.drafts.release(alice.id, draft.id, held.held_ms)
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == [LINK]


async def test_a_thread_that_is_held_after_a_crash_keeps_only_its_unpublished_posts(
    services: Services, alice: Person
) -> None:
    now_ms = services.clock.now_ms()
    draft = Draft(services.ids.next_id(), (("text", "first"), (FURTHER_TEXTS, LINK)), scheduled_ms=now_ms - 1)
    assert await services.repositories.drafts.save(alice.id, draft, is_new=True)
    await services.repositories.drafts.due.add(DuePost(alice.id, draft.id), now_ms - 1)
    await services.publishing.publish(
        author_id=alice.id, text="first", idempotency_key=f"scheduled {draft.id} {now_ms - 1}", now_ms=now_ms
    )
    await services.drafts.publish_due()
    (held,) = await held_of(services)
    await services.drafts.release(alice.id, draft.id, held.held_ms)
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == [LINK, "first"]


async def test_a_held_post_that_its_author_changes_is_not_published_by_staff(services: Services, alice: Person) -> None:
    with pytest.raises(PostHeld):
        await publish(services, alice)
    (draft,) = await held_of(services)
    await services.drafts.save(alice.id, Draft(draft.id, (("text", "something worse https://example.net"),)))
    assert await held_of(services) == []
    with pytest.raises(DraftNotFound):
        await services.drafts.release(alice.id, draft.id, draft.held_ms)
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == []
    again = Draft(draft.id, (("text", "something worse https://example.net"),), held_ms=(draft.held_ms or 0) + 1)
    await services.repositories.drafts.save(alice.id, again, is_new=False)  # as a scheduled post that is held again
    with pytest.raises(DraftNotFound):
        await services.drafts.release(alice.id, draft.id, draft.held_ms)


async def test_an_import_brings_no_first_link(services: Services, alice: Person) -> None:
    file = mastodon(note(1), note(2, f"<p>{LINK}</p>"))
    assert (await import_file(services, alice.id, file)).refused == {"blocked": 1}
    assert await texts_of(services, alice) == ["A note"]
    await services.site.change(holds_first_links=False)
    assert (await import_file(services, alice.id, file)).counts["posts"] == 1


async def test_a_crash_between_the_steps_of_holding_and_releasing_loses_nothing(
    services: Services, alice: Person
) -> None:
    now_ms = services.clock.now_ms()
    drafts = services.repositories.drafts
    await drafts.held.add(DuePost(alice.id, 77), now_ms)  # a crash before the draft is stored: the young entry stays
    await drafts.held.add(DuePost(alice.id, 78), now_ms - 2 * HOUR_MS)
    with pytest.raises(PostHeld):
        await publish(services, alice)
    (draft,) = await held_of(services)
    assert await services.drafts.count_held() == 2
    await drafts.due.add(DuePost(alice.id, draft.id), now_ms)  # a crash before `release` changes the draft
    await services.drafts.publish_due()
    assert [each.id for each in await held_of(services)] == [draft.id]
    await services.drafts.release(alice.id, draft.id, draft.held_ms)
    await drafts.held.add(DuePost(alice.id, draft.id), now_ms)  # a crash before `release` removes the entry,
    await drafts.due.remove(DuePost(alice.id, draft.id))  # and a worker has removed the due entry too early
    assert await held_of(services) == []
    await services.drafts.publish_due()
    assert await texts_of(services, alice) == [LINK]


async def test_drafts_have_their_cap_also_if_they_are_held(
    services: Services, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timelines.drafts.repository.DRAFTS_CAP", 1)
    with pytest.raises(PostHeld):
        await publish(services, alice)
    with pytest.raises(DraftsCapReached):
        await publish(services, alice)
    assert await services.drafts.count_held() == 1


async def test_the_held_posts_of_a_deleted_account_are_removed(services: Services, alice: Person, world: World) -> None:
    with pytest.raises(PostHeld):
        await publish(services, alice)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert await services.store.node(keys.drafts(alice.id)).execute("EXISTS", keys.drafts(alice.id)) == 0
    assert await held_of(services) == []


async def test_a_release_publishes_nothing_of_an_account_that_was_suspended_or_silenced_meanwhile(
    services: Services, alice: Person
) -> None:
    for restrict, end in (
        (services.accounts.suspend, services.accounts.reinstate),
        (lambda account_id: services.accounts.restrict(account_id, "silence", services.clock.now_ms() + HOUR_MS),
         lambda account_id: services.accounts.restrict(account_id, "silence", 0)),
    ):  # fmt: skip
        with pytest.raises(PostHeld):
            await publish(services, alice)
        (draft,) = await held_of(services)
        await restrict(account_id=alice.id)
        await services.drafts.release(alice.id, draft.id, draft.held_ms)
        await services.drafts.publish_due()
        await end(account_id=alice.id)
        await services.drafts.publish_due()
        assert await texts_of(services, alice) == []
        (refused,) = await services.drafts.all(alice.id)
        assert refused.error
        await services.drafts.delete(alice.id, draft.id)
