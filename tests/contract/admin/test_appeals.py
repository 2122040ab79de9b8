"""Appeals on every topology: who may send and decide one, and what the decision does."""

import asyncio

import pytest

from accounts.errors import AppealNotPossible, FieldErrors, SanctionNotFound
from accounts.sanctions.sanction import APPEAL_TIME_MS, Sanction
from socialsite.admin.audit_log import Actor
from socialsite.admin.errors import AppealDecided, AppealOfOwnDecision
from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.staff import staff_actions, staff_member
from tests.support.world import Person, World

APPEAL = "I think that this decision is wrong."


async def test_the_author_of_a_sanction_decides_its_appeal_only_without_other_staff(
    services: Services, sanctions: SanctionService, world: World, sam: Actor, bob: Person
) -> None:
    made = await sanctions.apply(sam, bob.id, "warning", "Please be kind.")
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    mia = await staff_member(services, world, "mia", "moderator")
    with pytest.raises(AppealOfOwnDecision):
        await sanctions.decide_appeal(sam, bob.id, made.id, accept=False, answer="It is right.")
    await services.staff.set_role(AccountId(mia.account_id), "")
    await sanctions.decide_appeal(sam, bob.id, made.id, accept=False, answer="It is right.")


async def test_a_person_appeals_once_within_thirty_days(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    note = await sanctions.apply(sam, bob.id, "note", "Secret.")
    made = await sanctions.apply(sam, bob.id, "warning", "Please be kind.")
    with pytest.raises(SanctionNotFound):
        await services.sanctions.appeal(bob.id, note.id, APPEAL)
    with pytest.raises(FieldErrors):
        await services.sanctions.appeal(bob.id, made.id, "No.")
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    await services.sanctions.appeal(bob.id, made.id, APPEAL)  # sent twice
    with pytest.raises(AppealNotPossible):
        await services.sanctions.appeal(bob.id, made.id, "And another thing: it is wrong.")
    old = await sanctions.apply(sam, bob.id, "warning", "Please be kind.")
    assert old.is_appealable(old.created_ms + APPEAL_TIME_MS - 1)
    assert not old.is_appealable(old.created_ms + APPEAL_TIME_MS)
    (listed,), cursor = await sanctions.list_appeals(0, 10)
    assert (listed.id, cursor) == (made.id, None)


async def test_an_accepted_appeal_undoes_the_sanction_and_a_refused_one_does_not(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    made = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    refused = await sanctions.decide_appeal(sam, bob.id, made.id, accept=False, answer="It is right.")
    assert refused.appeal is not None
    assert (refused.appeal.answer, refused.undo_ms) == ("It is right.", 0)
    with pytest.raises(AppealDecided):
        await sanctions.decide_appeal(sam, bob.id, made.id, accept=True, answer="It is wrong.")
    await sanctions.undo(sam, bob.id, made.id)
    again = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    await services.sanctions.appeal(bob.id, again.id, APPEAL)
    accepted = await sanctions.decide_appeal(sam, bob.id, again.id, accept=True, answer="Sorry.")
    assert accepted.undone_ms
    assert (await services.accounts.get(bob.id)).is_active
    assert await sanctions.list_appeals(0, 10) == ([], None)
    assert [action for action, _ in await staff_actions(services)] == [
        "suspend", "appeal_refused", "undo", "suspend", "appeal_accepted",
    ]  # fmt: skip


async def test_an_appeal_of_a_deletion_of_posts_can_be_accepted_though_the_posts_are_gone(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    post = await bob.publishes("words")
    made = await sanctions.apply(sam, bob.id, "delete_posts", "Deleted.", post_ids=[post.id])
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    accepted = await sanctions.decide_appeal(sam, bob.id, made.id, accept=True, answer="Sorry.")
    assert accepted.appeal is not None
    assert (accepted.appeal.is_accepted, accepted.undo_ms) == (True, 0)


async def test_concurrent_decisions_of_two_staff_members_are_one_decision(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    made = await sanctions.apply(sam, bob.id, "suspend", "Suspended.")
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    decisions = [
        sanctions.decide_appeal(sam, bob.id, made.id, accept=accept, answer=f"{accept}") for accept in (True, False)
    ]
    outcomes = await asyncio.gather(*decisions, return_exceptions=True)
    (error,) = [each for each in outcomes if isinstance(each, Exception)]
    (decided,) = [each for each in outcomes if isinstance(each, Sanction)]
    assert isinstance(error, AppealDecided)
    assert decided.appeal is not None
    assert (await services.accounts.get(bob.id)).is_active == decided.appeal.is_accepted


async def test_an_appeal_whose_request_ended_after_it_was_stored_reaches_the_queue_of_staff(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    made, repository = await sanctions.apply(sam, bob.id, "warning", "Please be kind."), services.repositories.sanctions
    await services.sanctions.appeal(bob.id, made.id, APPEAL)
    await repository.appeals.remove((bob.id, made.id))
    await repository.due.add((bob.id, made.id), services.clock.now_ms() - 1)
    await sanctions.complete_due()
    assert [each.id for each in (await sanctions.list_appeals(0, 10))[0]] == [made.id]


async def test_no_entry_without_an_open_appeal_stays_in_the_queue_of_staff(
    services: Services, sanctions: SanctionService, sam: Actor, bob: Person
) -> None:
    repository, now_ms = services.repositories.sanctions, services.clock.now_ms()
    without = await sanctions.apply(sam, bob.id, "warning", "Please be kind.")
    decided = await sanctions.apply(sam, bob.id, "warning", "Please be kind.")
    await repository.appeals.add((bob.id, without.id), now_ms)
    await services.sanctions.appeal(bob.id, decided.id, APPEAL)
    await sanctions.decide_appeal(sam, bob.id, decided.id, accept=False, answer="It is right.")
    await services.sanctions.appeal(bob.id, decided.id, APPEAL)  # the form is sent again
    assert await repository.appeals.oldest(10) == [((bob.id, without.id), now_ms)]
    await repository.appeals.add((bob.id, decided.id), now_ms)  # an earlier release added such an entry
    assert await sanctions.list_appeals(0, 10) == ([], None)
    await sanctions.complete_due()
    assert await repository.appeals.oldest(10) == []
