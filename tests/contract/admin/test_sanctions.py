"""Sanctions on every topology: what each does, its undo, and what a crash between two steps leaves."""

import asyncio
from collections.abc import Collection

import pytest

from accounts.errors import AccountNotFound, AlreadySuspended, FieldErrors, SanctionsCapReached
from accounts.sanctions.sanction import (
    COMPLETION_DELAY_MS,
    HOUR_MS,
    Appeal,
    Sanction,
    SanctionedPost,
    SanctionId,
    SanctionKind,
)
from socialsite.admin.audit_log import Actor
from socialsite.admin.errors import CannotModerateSelf, CannotModerateStaff, CannotUndo, NotSuspended
from socialsite.admin.moderation import POSTS_SHOWN, Moderation
from socialsite.admin.sanctions import SanctionService
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.nodes import SerialNode, SingleNodeTopology
from tests.support.staff import staff_actions, staff_member
from tests.support.world import Person, World
from timelines.posts.post import PostDetails

ACCOUNT_PAGE_TRIPS = 14


async def test_a_warning_is_news_until_the_person_has_opened_it(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    await sanctions.apply(sam, bob.id, "note", "Has two accounts.")
    assert not (await services.accounts.get(bob.id)).has_sanctions
    warning = await sanctions.apply(sam, bob.id, "warning", " Please be kind. ", rules=["Be kind"])
    assert (await services.accounts.get(bob.id)).has_sanctions
    (told,) = await services.sanctions.open_all(bob.id)
    assert (told.id, told.text, told.rules, told.actor_id) == (
        warning.id,
        "Please be kind.",
        ("Be kind",),
        sam.account_id,
    )
    assert not (await services.accounts.get(bob.id)).has_sanctions
    assert [each.kind for each in await services.repositories.sanctions.list_all(bob.id)] == ["warning", "note"]
    assert (await staff_actions(services))[-1] == ("warning", f"sanction:{warning.id}")


async def test_chosen_posts_are_deleted_and_their_beginnings_are_kept(
    services: Services, sanctions: SanctionService, world: World, sam: Actor, bob: Person
) -> None:
    bad, good, foreign = await bob.publishes("bad words"), await bob.publishes("good"), None
    foreign = await (await world.person("carol")).publishes("of Carol")
    made = await sanctions.apply(sam, bob.id, "delete_posts", "Deleted.", post_ids=[bad.id, foreign.id])
    assert [post.excerpt for post in made.posts] == ["bad words"]
    assert await bob.profile_ids() == [good.id]
    assert (await services.repositories.posts.find(foreign.id)) is not None
    with pytest.raises(CannotUndo):
        await sanctions.undo(sam, bob.id, made.id)
    with pytest.raises(FieldErrors):
        await sanctions.apply(sam, bob.id, "delete_posts", "Deleted.", post_ids=[foreign.id])


async def test_a_folded_post_keeps_its_warning_when_its_author_edits_it_until_the_undo(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    post = await bob.publishes("a spider")
    made = await sanctions.apply(sam, bob.id, "fold_posts", "Folded.", post_ids=[post.id], warning="Spiders")
    for own_warning in ("", "Staff likes this"):
        edited = await bob.edits(post, "a big spider", details=PostDetails(spoiler_text=own_warning))
        assert (edited.text, edited.extra.spoiler_text, edited.extra.is_folded) == ("a big spider", "Spiders", True)
    await sanctions.undo(sam, bob.id, made.id)
    unfolded = await services.repositories.posts.find(post.id)
    assert unfolded is not None
    assert (unfolded.text, unfolded.extra.spoiler_text, unfolded.extra.is_folded) == ("a big spider", "", False)


async def test_an_account_is_suspended_once_until_the_suspension_is_undone(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    first = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    with pytest.raises(AlreadySuspended):
        await sanctions.apply(sam, bob.id, "suspend", "Suspended again.")
    assert await staff_actions(services) == [("suspend", f"sanction:{first.id}")]
    undone = await sanctions.undo(sam, bob.id, first.id)
    assert (await services.accounts.get(bob.id)).is_active
    assert (await sanctions.undo(sam, bob.id, first.id)) == undone
    await sanctions.apply(sam, bob.id, "suspend", "Suspended again.")
    assert not (await services.accounts.get(bob.id)).is_active


async def test_of_suspensions_at_once_one_is_stored(
    services: Services, sanctions: SanctionService, sam: Actor, world: World
) -> None:
    for number in range(5):
        person = await world.person(f"person{number}")
        results = await asyncio.gather(
            *(sanctions.apply(sam, person.id, "suspend", "Suspended.") for _ in range(4)), return_exceptions=True
        )
        assert [type(each) for each in results].count(AlreadySuspended) == 3
        (stored,) = await services.repositories.sanctions.list_all(person.id)
        assert stored in results


async def test_only_a_suspended_account_can_be_deleted_and_its_sanctions_are_deleted_too(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    with pytest.raises(NotSuspended):
        await sanctions.apply(sam, bob.id, "delete", "Deleted.")
    await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    await sanctions.apply(sam, bob.id, "delete", "Deleted.")
    assert (await services.accounts.get(bob.id)).state == "deleted"
    assert await services.repositories.sanctions.list_all(bob.id) == []
    assert await services.repositories.sanctions.due.oldest(10) == []
    with pytest.raises(AccountNotFound):
        await sanctions.apply(sam, bob.id, "note", "Too late.")


async def test_staff_cannot_act_on_its_own_account(sanctions: SanctionService, sam: Actor) -> None:
    with pytest.raises(CannotModerateSelf):
        await sanctions.apply(sam, AccountId(sam.account_id), "note", "Me.")


async def test_staff_acts_on_staff_of_a_lower_role_only(
    services: Services, sanctions: SanctionService, world: World, sam: Actor
) -> None:
    ada = await staff_member(services, world, "ada", "admin")
    for target in (ada, await staff_member(services, world, "mia", "moderator")):
        with pytest.raises(CannotModerateStaff):
            await sanctions.apply(sam, AccountId(target.account_id), "warning", "No.")
    assert await sanctions.apply(ada, AccountId(sam.account_id), "warning", "Please be kind.")


async def test_limits_marks_and_silences_last_until_the_last_of_them_is_undone(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    now_ms = services.clock.now_ms()
    made = [
        await sanctions.apply(sam, bob.id, kind, "x" * 20, until_ms=until_ms)
        for kind in ("limit", "mark_pictures", "silence")
        for until_ms in (now_ms + 2 * HOUR_MS, now_ms + HOUR_MS)
    ]
    restrictions = []
    for number, sanction in enumerate(made):
        account = await services.accounts.get(bob.id)
        if number % 2 == 0:
            restrictions.append((account.limited, account.marks_pictures, account.silenced_until_ms - now_ms))
        await sanctions.undo(sam, bob.id, sanction.id)
        if sanction.kind == "silence":
            restrictions.append((await services.accounts.get(bob.id)).silenced_until_ms)
    assert restrictions == [
        (True, True, 2 * HOUR_MS), (False, True, 2 * HOUR_MS), (False, False, 2 * HOUR_MS), now_ms + HOUR_MS, 0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("warning", {"text": "  "}), ("warning", {"text": "x" * 2_001}), ("silence", {"text": "Hush."})],
)
async def test_a_sanction_without_a_text_or_a_time_is_refused(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person, kind: str, fields: dict[str, str]
) -> None:
    with pytest.raises(FieldErrors):
        await sanctions.apply(sam, bob.id, kind, **fields)  # type: ignore[arg-type]
    assert await services.repositories.sanctions.list_all(bob.id) == []


async def test_a_worker_completes_a_sanction_whose_request_ended_after_it_was_stored(
    services: Services, sanctions: SanctionService, bob: Person
) -> None:
    repository, now_ms = services.repositories.sanctions, services.clock.now_ms()
    stored = Sanction("suspend", SanctionId(9), bob.id, AccountId(1), "Suspended.", now_ms)
    await repository.due.add((bob.id, stored.id), now_ms - 1)
    await repository.due.add((bob.id, SanctionId(7)), now_ms - 1)  # this sanction was never stored
    await repository.add(stored, is_news=True)
    await sanctions.complete_due()
    assert not (await services.accounts.get(bob.id)).is_active
    await repository.change(bob.id, stored.id, lambda each: each.with_undo(AccountId(1), now_ms))
    await repository.due.add((bob.id, stored.id), now_ms - 1)
    await sanctions.complete_due()
    assert (await services.accounts.get(bob.id)).is_active
    (completed,) = await services.repositories.sanctions.list_all(bob.id)
    assert completed.is_complete
    assert await repository.due.oldest(10, until_ms=now_ms + COMPLETION_DELAY_MS) == []


async def test_a_form_that_is_sent_twice_makes_one_sanction(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    id = SanctionId(services.ids.next_id())
    twice = [sanctions.apply(sam, bob.id, "warning", "Please be kind.", id=id) for _ in range(2)]
    first, second = await asyncio.gather(*twice)
    assert first.id == second.id == id
    assert len(await services.repositories.sanctions.list_all(bob.id)) == 1
    await sanctions.apply(sam, bob.id, "warning", "Another text on the page of before.", id=id)
    assert len(await services.repositories.sanctions.list_all(bob.id)) == 2


async def test_above_the_cap_the_oldest_note_is_dropped_first_and_no_decision_in_force(
    services: Services, bob: Person
) -> None:
    repository, now_ms = type(services.repositories.sanctions)(services.store, cap=4), services.clock.now_ms()

    async def add(kind: SanctionKind, id: int, undone_ms: int = 0, until_ms: int = 0) -> None:
        sanction = Sanction(
            kind, SanctionId(id), bob.id, AccountId(1), "x", now_ms, until_ms, done_ms=1, undo_ms=undone_ms,
            undone_ms=undone_ms, appeal=Appeal("x", 1) if id == 2 else None,
        )  # fmt: skip
        await repository.add(sanction, is_news=False)

    for id, kind in enumerate(("limit", "warning", "warning", "note", "note"), start=1):
        await add(kind, id)
    assert [each.id for each in await repository.list_all(bob.id)] == [5, 3, 2, 1]
    await add("limit", 6, undone_ms=now_ms)
    await add("silence", 7, until_ms=now_ms - 1)
    await add("limit", 8)
    assert [each.id for each in await repository.list_all(bob.id)] == [8, 7, 2, 1]
    await add("suspend", 9)
    with pytest.raises(SanctionsCapReached):
        await add("warning", 10)
    await add("suspend", 9)  # the form is sent again
    assert [each.id for each in await repository.list_all(bob.id)] == [9, 8, 2, 1]


async def test_the_page_of_an_account_takes_few_round_trips_however_much_is_stored(redis_url: str) -> None:
    """The counts of the parts are their caps; a page of 200 decisions takes as many round trips as an empty one."""
    node = SerialNode(redis_url)
    services = Services(Store(SingleNodeTopology(node)), FixedClock(1_900_000_000_000), ServiceConfig())
    bob = await World(services).person("bob")
    trips = []
    for posts in (0, 30):
        for number in range(posts):
            await bob.publishes(f"post {number}")
            await services.repositories.sanctions.add(
                Sanction("note", SanctionId(number + 1), bob.id, AccountId(1), "x" * 2_000, 1), is_news=False
            )
        start = node.trips
        overview = await Moderation(services).get_overview(bob.id, AccountId(0))
        trips.append(node.trips - start)
        assert (len(overview.sanctions), len(overview.newest_posts)) == (posts, min(posts, POSTS_SHOWN))
    assert max(trips) <= ACCOUNT_PAGE_TRIPS, trips
    await node.close()


async def test_an_undo_while_the_sanction_is_performed_wins(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    """A worker has read a suspension and pauses; staff undoes it; then the worker continues."""
    repository, now_ms = services.repositories.sanctions, services.clock.now_ms()
    made = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    assert not (await services.accounts.get(bob.id)).is_active
    await sanctions.undo(sam, bob.id, made.id)
    await sanctions._perform(made)
    assert (await services.accounts.get(bob.id)).is_active
    assert await repository.due.oldest(10, until_ms=now_ms + COMPLETION_DELAY_MS) == []


class InterruptedSanctions(SanctionService):
    """Another staff member suspends the account between the read of an undo and its effect."""

    interrupter: Actor | None = None

    async def _set_effect(
        self,
        account_id: AccountId,
        kind: SanctionKind,
        posts: Collection[SanctionedPost],
        in_force: Collection[Sanction],
    ) -> None:
        if self.interrupter is not None and not in_force:
            actor, self.interrupter = self.interrupter, None
            await SanctionService(self._services).apply(actor, account_id, "suspend", "Suspended again.")
        await super()._set_effect(account_id, kind, posts, in_force)


async def test_a_sanction_that_comes_during_an_undo_stays_in_force(services: Services, sam: Actor, bob: Person) -> None:
    sanctions = InterruptedSanctions(services)
    first = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    sanctions.interrupter = sam
    await sanctions.undo(sam, bob.id, first.id)
    assert not (await services.accounts.get(bob.id)).is_active


async def test_a_suspension_that_comes_while_an_account_is_reinstated_stays_in_force(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    take_back = SanctionService.take_back

    async def take_back_and_suspend(self: SanctionService, actor: Actor, sanction: Sanction) -> Sanction:
        undone = await take_back(self, actor, sanction)
        await sanctions.apply(sam, bob.id, "suspend", "Suspended again.")
        return undone

    monkeypatch.setattr(SanctionService, "take_back", take_back_and_suspend)
    await Moderation(services).reinstate(sam, bob.id)
    assert not (await services.accounts.get(bob.id)).is_active


async def test_racing_decisions_leave_the_account_as_the_rows_say(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    made = [await sanctions.apply(sam, bob.id, kind, "x") for kind in ("limit", "limit", "suspend")]
    undos = [sanctions.undo(sam, bob.id, each.id) for each in made]
    repeated = [sanctions._perform(each) for each in made for _ in range(3)]
    await asyncio.gather(*undos, *repeated)
    account = await services.accounts.get(bob.id)
    assert (account.is_active, account.limited) == (True, False)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_post_that_is_folded_twice_has_the_newest_warning_in_force_until_both_are_undone(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person, order: tuple[int, int]
) -> None:
    post = await bob.publishes("a rude post", details=PostDetails("food"))
    made = [
        await sanctions.apply(sam, bob.id, "fold_posts", "Folded.", post_ids=[post.id], warning=warning)
        for warning in ("first", "second")
    ]
    extra = (await services.edits.find_own(bob.id, post.id)).extra
    assert extra.spoiler_text == "second"
    for number, warning in zip(order, (made[order[1]].warning, "food"), strict=True):
        await sanctions.undo(sam, bob.id, made[number].id)
        extra = (await services.edits.find_own(bob.id, post.id)).extra
        assert (extra.is_folded, extra.spoiler_text) == (warning != "food", warning)


async def test_an_owner_who_takes_a_deletion_back_ends_no_suspension(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    """The log-in has read the request of a deletion, and checks the password; meanwhile staff suspends the account."""
    services.accounts.deletion_grace_ms = HOUR_MS
    await services.accounts.request_deletion(account_id=bob.id)
    await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    assert not await services.accounts.reinstate(account_id=bob.id, if_leaving=True)
    account = await services.accounts.get(bob.id)
    assert (account.state, account.delete_ms) == ("suspended", 0)


async def test_staff_takes_no_deletion_back_that_the_owner_has_requested(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    services.accounts.deletion_grace_ms = HOUR_MS
    made = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    await sanctions.undo(sam, bob.id, made.id)
    await services.accounts.request_deletion(account_id=bob.id)
    await Moderation(services).reinstate(sam, bob.id)
    assert (await services.accounts.get(bob.id)).is_leaving
    await services.accounts.reinstate(account_id=bob.id, if_leaving=True)
    assert (await services.accounts.get(bob.id)).is_active


async def test_a_suspension_wins_against_a_deletion_that_is_requested_at_the_same_time(
    services: Services, sanctions: SanctionService, sam: Actor, world: World
) -> None:
    services.accounts.deletion_grace_ms = HOUR_MS
    for number in range(10):
        person = await world.person(f"person{number}")
        await asyncio.gather(
            services.accounts.request_deletion(account_id=person.id),
            sanctions.apply(sam, person.id, "suspend", "Suspended."),
        )
        assert not await services.accounts.reinstate(account_id=person.id, if_leaving=True)
