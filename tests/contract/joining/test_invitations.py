"""Invitations: who makes and uses them, and what races, failures and deletions leave of them."""

import asyncio

import pytest

from accounts.accounts import passwords
from accounts.errors import HandleTaken, InvitationInvalid, PasswordsBusy
from accounts.joining.values import InvitationCode
from accounts.models import Account
from socialsite.container import Services
from socialsite.errors import Forbidden
from socialsite.ids import AccountId
from tests.support.joining import CALLER, make_staff, sign_up
from tests.support.visitor import PASSWORD
from tests.support.world import World


async def invite(services: Services, account: Account, uses: int = 1) -> InvitationCode:
    return await services.joining.invite(account, uses=uses, days="7", note="for friends")


async def test_an_invitation_skips_the_approval_and_names_the_inviter(services: Services) -> None:
    sam = await make_staff(services)
    for mode in ("approval", "invitation"):
        await services.site.change(joining=mode)
        account = await sign_up(services, f"from_{mode}", code=str(await invite(services, sam)), reason="")
        assert account.is_active
        assert (await services.joining.find_application(AccountId(account.id))).inviter_id == sam.id
    assert await services.joining.find_invited([AccountId(account.id)], AccountId(sam.id)) == [account.id]


async def test_fifty_racing_sign_ups_with_three_uses_make_three_accounts(services: Services) -> None:
    await services.site.change(joining="invitation")
    sam = await make_staff(services)
    code = str(await invite(services, sam, uses=3))
    answers = await asyncio.gather(
        *(sign_up(services, f"gina{n}", code=code) for n in range(50)), return_exceptions=True
    )
    accounts = [answer for answer in answers if isinstance(answer, Account)]
    assert len(accounts) == 3
    assert all(isinstance(answer, Account | InvitationInvalid) for answer in answers), answers
    (row,) = (await services.joining.invitations(AccountId(sam.id))).values()
    assert sorted(row.handles) == sorted(account.handle for account in accounts)


async def test_racing_sign_ups_with_one_handle_use_an_invitation_once(services: Services) -> None:
    await services.site.change(joining="invitation")
    sam = await make_staff(services)
    code = str(await invite(services, sam, uses=2))
    answers = await asyncio.gather(*(sign_up(services, "gina", code=code) for _ in range(8)), return_exceptions=True)
    assert [isinstance(answer, Account) for answer in answers].count(True) == 1
    assert all(isinstance(answer, Account | HandleTaken) for answer in answers), answers
    (row,) = (await services.joining.invitations(AccountId(sam.id))).values()
    assert row.handles == ("gina",)


async def test_a_failed_sign_up_gives_its_use_back_and_an_interrupted_one_keeps_it(services: Services) -> None:
    await services.site.change(joining="invitation")
    sam = await make_staff(services)
    code = str(await invite(services, sam))
    with pytest.raises(HandleTaken):
        await sign_up(services, "sam", code=code)
    await services.joining._take_use(code, "gina")  # the process dies here
    with pytest.raises(InvitationInvalid):
        await sign_up(services, "olga", code=code)
    assert (await sign_up(services, "gina", code=code)).is_active


async def test_an_ended_expired_or_forged_invitation_is_refused(services: Services) -> None:
    await services.site.change(joining="invitation")
    sam = await make_staff(services)
    sam_id = AccountId(sam.id)
    ended, used = await invite(services, sam), await invite(services, sam, uses=2)
    await sign_up(services, "fred", code=str(used))
    for code in (ended, used):
        assert await services.joining.end_invitation(sam_id, code.secret)
    expired = await invite(services, sam)
    row = await services.repositories.joining.find_invitation(expired)
    assert row is not None
    old = type(row)(row.created_ms, services.clock.now_ms() - 1, row.uses)
    assert await services.repositories.joining.replace_invitation(expired, row, old)
    for text in (ended, used, expired, InvitationCode.generate(sam_id), "nonsense", f"{sam_id}-{'x' * 21}"):
        with pytest.raises(InvitationInvalid):
            await sign_up(services, "gina", code=str(text))
    rows = await services.joining.invitations(sam_id)
    assert set(rows) == {used.secret, expired.secret}  # an unused invitation that is ended is deleted
    assert rows[used.secret].handles == ("fred",)


async def test_members_invite_only_while_the_site_lets_them(services: Services, world: World) -> None:
    alice = (await world.person("alice")).account
    await services.site.change(joining="invitation")
    with pytest.raises(Forbidden):
        await invite(services, alice)
    await services.site.change(members_invite=True)
    code = str(await invite(services, alice))
    await services.site.change(members_invite=False)
    with pytest.raises(InvitationInvalid):
        await services.joining.check(code)
    await services.site.change(members_invite=True)
    await services.accounts.suspend(account_id=AccountId(alice.id))
    with pytest.raises(InvitationInvalid):
        await services.joining.check(code)


async def test_the_invitations_of_a_deleted_account_are_removed(services: Services, world: World) -> None:
    await services.site.change(members_invite=True, joining="invitation")
    alice = (await world.person("alice")).account
    await invite(services, alice)
    await services.accounts.delete(account_id=AccountId(alice.id))
    assert await services.joining.invitations(AccountId(alice.id)) == {}


async def test_a_failed_repetition_of_a_sign_up_frees_no_use_of_the_invitation(services: Services) -> None:
    """Two of four requests with one handle fail while the others hash the password."""
    await services.site.change(joining="invitation", blocked_words=["casino"])
    sam = await make_staff(services)
    code = str(await invite(services, sam))
    twins = [
        services.joining.sign_up(
            handle=f"gina{number}", password=PASSWORD, display_name=name, code=code, caller=CALLER, preferences=None
        )
        for number in range(4)
        for name in ("", "x" * 500, "casino", "")
    ]
    answers = await asyncio.gather(*twins, return_exceptions=True)
    accounts = [answer.handle for answer in answers if isinstance(answer, Account)]
    (row,) = (await services.joining.invitations(AccountId(sam.id))).values()
    assert (tuple(accounts), len(accounts)) == (row.handles, 1)


async def test_a_sign_up_that_fails_later_keeps_its_use_for_its_handle(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.site.change(joining="invitation")
    sam = await make_staff(services)
    code = str(await invite(services, sam))

    async def is_busy(password: str | None, *, is_known: bool = True) -> str:
        raise PasswordsBusy

    with monkeypatch.context() as patched:
        patched.setattr(passwords, "hash_password", is_busy)
        with pytest.raises(PasswordsBusy):
            await sign_up(services, "gina", code=code)
    with pytest.raises(InvitationInvalid):
        await sign_up(services, "olga", code=code)
    assert (await sign_up(services, "gina", code=code)).is_active
