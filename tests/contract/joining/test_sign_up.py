"""Sign-up by the mode of the site: open, approval, invitation, closed."""

import asyncio
from contextlib import nullcontext

import pytest

from accounts import errors
from accounts.domain import ACTIVE, WAITING
from accounts.joining import service as joining_service
from accounts.sessions.values import TokenGrant
from socialsite.admin.audit_log import Actor
from socialsite.admin.sanctions import SanctionService
from socialsite.clock import DAY_MS
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.site.settings import UNKNOWN_SETTINGS
from tests.support.joining import REASON, make_staff, queue_of, sign_up, state_of
from tests.support.visitor import PASSWORD
from tests.support.world import World

# Modes


async def test_an_open_site_lets_everybody_in(services: Services) -> None:
    await services.site.change(joining="open")
    assert (await sign_up(services, "alice")).is_active
    assert await services.accounts.authenticate("alice", PASSWORD) is not None


@pytest.mark.parametrize(("mode", "error"), [("closed", errors.SignUpClosed), ("invitation", errors.InvitationNeeded)])
async def test_a_closed_site_creates_no_account(services: Services, mode: str, error: type[Exception]) -> None:
    await services.site.change(joining=mode)
    with pytest.raises(error):
        await sign_up(services, "alice")
    assert await state_of(services, "alice") == ""
    assert (await make_staff(services, "made_by_command")).is_active


async def test_a_process_that_has_not_read_the_settings_creates_no_account(services: Services) -> None:
    services.site.settings = UNKNOWN_SETTINGS
    with pytest.raises(errors.SignUpClosed):
        await sign_up(services, "alice")


@pytest.mark.parametrize("reason", ["", "too short", "x" * 1_001])
async def test_an_application_needs_a_reason(services: Services, reason: str) -> None:
    await services.site.change(joining="approval")
    with pytest.raises(errors.FieldErrors):
        await sign_up(services, "alice", reason=reason)
    assert await queue_of(services) == []


# Applications


async def test_a_waiting_account_is_hidden_and_cannot_log_in_until_it_is_approved(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    alice_id = AccountId(alice.id)
    assert alice.state == WAITING
    with pytest.raises(errors.AccountWaiting):
        await services.accounts.authenticate("alice", PASSWORD)
    assert await services.accounts.authenticate("alice", "wrong " + PASSWORD) is None
    with pytest.raises(errors.AccountNotFound):
        await services.accounts.get_by_handle("alice")
    ((row,), _next) = await services.joining.waiting(0, 10)
    assert (row.author.handle, row.application.reason, row.application.network) == ("alice", REASON, "192.0.2.0/24")
    assert row.network_count == 1
    await services.joining.approve(alice_id, AccountId(sam.id))
    assert (await services.accounts.get_by_handle("alice")).is_active
    assert await services.accounts.authenticate("alice", PASSWORD) is not None
    assert await queue_of(services) == []


async def test_a_token_of_a_waiting_account_begins_to_work_with_the_approval(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    token = await services.access_tokens.issue(alice, TokenGrant("a" * 32, "App", ("read",)))
    assert await services.access_tokens.load(token) == (None, None)
    await services.joining.approve(AccountId(alice.id), AccountId(sam.id))
    account, _token = await services.access_tokens.load(token)
    assert account is not None


async def test_one_network_cannot_fill_the_queue_not_even_with_taken_handles(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining_service, "APPLICATIONS_PER_NETWORK", 2)
    await services.site.change(joining="approval")
    await make_staff(services, "taken")
    for handle, error in (
        ("taken", errors.HandleTaken),
        ("alice", None),
        ("bob", None),
        ("carol", errors.SignUpClosed),
    ):
        with pytest.raises(error) if error else nullcontext():
            await sign_up(services, handle)
    await sign_up(services, "dora", caller=Caller(None, "198.51.100.7"))
    assert await services.joining.count_waiting() == 3
    assert await queue_of(services) == ["alice", "bob", "dora"]


async def test_a_second_decision_names_the_first_decider(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, uma = await make_staff(services, "sam"), await make_staff(services, "uma")
    alice_id = AccountId((await sign_up(services, "alice")).id)
    answers = await asyncio.gather(
        services.joining.approve(alice_id, AccountId(sam.id)),
        services.joining.refuse(alice_id, AccountId(uma.id), "No."),
        services.joining.refuse(alice_id, AccountId(sam.id), "No."),
        return_exceptions=True,
    )
    assert [answer is None for answer in answers].count(True) == 1
    decider = "uma" if answers[1] is None else "sam"
    refusals = [answer for answer in answers if isinstance(answer, errors.AlreadyDecided)]
    assert len(refusals) == 2
    assert all(f"@{decider}" in str(refusal.message) for refusal in refusals)


async def test_a_refused_account_is_deleted_after_it_was_read_and_its_handle_is_free(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    alice_id = AccountId(alice.id)
    await services.joining.refuse(alice_id, AccountId(sam.id), "Please tell us more.")
    refused = await services.accounts.get(alice_id)
    assert (await services.joining.find_application(alice_id)).refusal == "Please tell us more."
    assert refused.delete_ms - services.clock.now_ms() > 29 * DAY_MS
    await services.joining.mark_refusal_read(refused)
    assert (await services.accounts.get(alice_id)).delete_ms - services.clock.now_ms() <= DAY_MS // 24
    with pytest.raises(errors.HandleTaken):
        await sign_up(services, "alice")
    await make_deletion_due(services, alice_id)
    await services.accounts.delete_due()
    assert (await services.accounts.get(alice_id)).state == "deleted"
    assert (await services.joining.find_application(alice_id)).reason == ""
    again = await sign_up(services, "alice")
    assert (again.id, again.state) == (alice.id, WAITING)  # the id stays with the handle, which processes have cached
    assert await queue_of(services) == ["alice"]
    await services.accounts.delete_due()
    assert await state_of(services, "alice") == WAITING


async def make_deletion_due(services: Services, account_id: AccountId) -> None:
    due_ms = services.clock.now_ms() - 1
    await services.repositories.accounts.edit(account_id, {"delete_ms": str(due_ms)})
    await services.repositories.accounts.deletions.add(account_id, due_ms)


async def test_an_account_that_waits_for_approval_waits_again_after_a_suspension(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    alice_id, actor = AccountId(alice.id), Actor(sam.id, "abad1dea")
    made = await SanctionService(services).apply(actor, alice_id, "suspend", "Suspended.")
    assert await queue_of(services) == []
    await SanctionService(services).undo(actor, alice_id, made.id)
    assert (await state_of(services, "alice"), await queue_of(services)) == (WAITING, ["alice"])
    assert await services.joining.count_waiting() == 1
    await services.joining.approve(alice_id, AccountId(sam.id))
    await services.accounts.suspend(account_id=alice_id)
    await services.joining.reinstate(account_id=alice_id)
    assert await state_of(services, "alice") == ACTIVE


async def test_no_suspension_lets_a_refused_account_in(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    alice_id = AccountId(alice.id)
    await services.joining.refuse(alice_id, AccountId(sam.id), "Please tell us more.")
    await services.accounts.suspend(account_id=alice_id)
    with pytest.raises(errors.AccountSuspended):  # and her owner cannot take back a deletion that she never requested
        await services.accounts.authenticate("alice", PASSWORD, keep=True)
    await services.joining.reinstate(account_id=alice_id)
    refused = await services.accounts.get(alice_id)
    assert (refused.state, refused.delete_ms > services.clock.now_ms()) == (WAITING, True)
    assert await queue_of(services) == []


async def test_an_applicant_can_withdraw(services: Services) -> None:
    await services.site.change(joining="approval")
    sam, alice = await make_staff(services), await sign_up(services, "alice")
    assert await services.accounts.withdraw(account_id=AccountId(alice.id))
    with pytest.raises(errors.AccountNotFound):
        await services.joining.approve(AccountId(alice.id), AccountId(sam.id))
    assert await queue_of(services) == []
    assert not await services.accounts.withdraw(account_id=AccountId(sam.id))
    assert await state_of(services, "sam") == ACTIVE


async def test_a_deleted_account_of_the_site_never_frees_its_handle(services: Services, world: World) -> None:
    await services.site.change(joining="open")
    alice = await world.person("alice")
    await services.accounts.delete(account_id=alice.id)
    with pytest.raises(errors.HandleTaken):
        await sign_up(services, "alice")


async def test_a_crash_between_the_parts_of_a_sign_up_hides_no_application(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.site.change(joining="approval")
    await services.repositories.joining.applications.add("never_created", services.clock.now_ms() - DAY_MS)
    await services.repositories.joining.applications.add("in_progress", services.clock.now_ms())
    await sign_up(services, "alice")
    assert await queue_of(services) == ["alice"]
    assert await services.joining.count_waiting() == 2  # the entry of the crash is removed, the young one stays


async def test_a_crash_after_the_request_of_a_withdrawal_is_finished_by_a_worker(services: Services) -> None:
    await services.site.change(joining="approval")
    alice = await sign_up(services, "alice")
    await make_deletion_due(services, AccountId(alice.id))  # the process dies here
    await services.accounts.delete_due()
    assert await state_of(services, "alice") == "deleted"
    assert (await sign_up(services, "alice")).state == WAITING


# Mail domains


async def test_addresses_of_blocked_domains_and_their_subdomains_are_refused(services: Services) -> None:
    await services.site.change(joining="open", blocked_mail_domains=("bad.example", "müll.example"))
    for address in ("a@bad.example", "a@mx.BAD.example", "a@xn--mll-hoa.example"):
        with pytest.raises(errors.FieldErrors) as refusal:
            await sign_up(services, "alice", address=address)
        assert "example" not in str(refusal.value.fields["address"])
    assert await state_of(services, "alice") == ""
    alice = await sign_up(services, "alice", address="a@notbad.example")
    with pytest.raises(errors.FieldErrors):
        await services.mail.request_address(AccountId(alice.id), "a@bad.example", None)


async def test_the_posts_of_a_new_account_have_the_default_audience_of_the_site(services: Services) -> None:
    assert (await sign_up(services, "early")).preferences.audience == "public"
    await services.site.change(default_audience="followers")
    assert (await sign_up(services, "late")).preferences.audience == "followers"


async def test_an_approved_account_cannot_be_withdrawn(services: Services) -> None:
    """Otherwise somebody with the password and without the second factor could lock the owner out."""
    await services.site.change(joining="open")
    gina = AccountId((await sign_up(services, "gina")).id)
    assert not await services.accounts.withdraw(account_id=gina)
    assert (await services.accounts.get(gina)).delete_ms == 0
    assert await services.accounts.accounts.deletions.oldest(10) == []


async def test_the_page_of_staff_hides_no_sign_up_with_a_handle_that_became_free(services: Services) -> None:
    """The page is opened while the password of the new account is hashed."""
    await services.site.change(joining="approval")
    former = await sign_up(services, "gina")
    assert await services.accounts.withdraw(account_id=AccountId(former.id))
    await services.joining.joining.applications.remove("gina")
    await services.joining.joining.applications.add("gina", services.clock.now_ms())
    assert await queue_of(services) == []
    assert (await sign_up(services, "gina")).state == WAITING
    assert await queue_of(services) == ["gina"]


async def test_a_refusal_of_an_account_that_does_not_wait_delays_no_deletion(services: Services) -> None:
    await services.site.change(joining="open")
    sam, gina = await make_staff(services), AccountId((await sign_up(services, "gina")).id)
    services.accounts.deletion_grace_ms = DAY_MS
    due_ms = await services.accounts.request_deletion(account_id=gina)
    with pytest.raises(errors.AccountNotFound):
        await services.joining.refuse(gina, AccountId(sam.id), "No.")
    assert await services.accounts.accounts.deletions.oldest(10, until_ms=due_ms) == [(gina, due_ms)]
