"""Roles of staff: the last owner stays, also if two owners remove each other at the same time."""

import asyncio

import pytest

from accounts import keys
from accounts.errors import AccountNotFound, LastOwner
from accounts.roles import has_right, may_change_role, outranks
from socialsite.ids import AccountId
from tests.support.account_world import AccountWorld


async def become(world: AccountWorld, handle: str, role: str):
    account = await world.sign_up(handle)
    await world.staff.set_role(AccountId(account.id), role)
    return await world.accounts.get(AccountId(account.id))


async def owners(world: AccountWorld, *accounts) -> list[str]:
    """Return the handles of the accounts that are owners by their own copy of the role."""
    read = [await world.accounts.get(account.id) for account in accounts]
    return [account.handle for account in read if account.role == "owner"]


async def test_a_role_is_given_and_taken(world):
    await become(world, "olga", "owner")
    alice = await become(world, "alice", "moderator")
    assert (alice.role, alice.is_staff) == ("moderator", True)
    assert has_right(alice, "reports")
    assert not has_right(alice, "site")
    assert not await world.staff.set_role(alice.id, "moderator"), "nothing changes"
    assert await world.staff.list_roles() == {1: "owner", 2: "moderator"}
    await world.staff.set_role(alice.id, "")
    alice = await world.accounts.get(alice.id)
    assert (alice.role, alice.is_staff, has_right(alice, "reports")) == ("", False, False)


async def test_the_last_owner_keeps_the_role(world):
    olga, alice = await become(world, "olga", "owner"), await become(world, "alice", "admin")
    for attempt in (
        lambda: world.staff.set_role(olga.id, ""),
        lambda: world.staff.set_role(olga.id, "admin"),
        lambda: world.accounts.suspend(account_id=olga.id),
        lambda: world.accounts.request_deletion(account_id=olga.id),
        lambda: world.accounts.delete(account_id=olga.id),
    ):
        with pytest.raises(LastOwner):
            await attempt()
    olga = await world.accounts.get(olga.id)
    assert (olga.role, olga.is_active) == ("owner", True)
    await world.staff.set_role(alice.id, "owner")
    await world.accounts.suspend(account_id=olga.id)
    assert await owners(world, olga, alice) == ["alice"]
    await world.accounts.reinstate(account_id=olga.id)
    assert not (await world.accounts.get(olga.id)).is_staff, "a suspended account loses its role for good"


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "owners of before"])
async def test_two_owners_who_remove_each_other_leave_one(world, store, is_listed):
    """The owners of an earlier release have no role in their account, and the list does not contain them."""
    olga, alice = await become(world, "olga", "owner"), await become(world, "alice", "owner")
    component = store.component("accounts")
    for _round in range(20):
        if not is_listed:
            await component[keys.staff()].execute("DEL", keys.staff())
            for account in (olga, alice):
                await component[keys.account(account.id)].execute("HDEL", keys.account(account.id), "role")
                await world.staff.accounts.add_owner(account.id)
        attempts = [world.staff.set_role(olga.id, ""), world.accounts.suspend(account_id=alice.id)]
        results = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(each, LastOwner) for each in results) == 1
        assert len(await owners(world, olga, alice)) == 1
        await world.accounts.reinstate(account_id=alice.id)
        for account in (olga, alice):
            await world.staff.set_role(account.id, "owner")


async def test_a_late_request_of_a_removed_owner_does_not_restore_the_role(world, store):
    """A process adds an owner of an earlier release to the list. It may have read the account before the removal."""
    olga, alice = await become(world, "olga", "owner"), await become(world, "alice", "owner")
    await world.staff.set_role(alice.id, "")
    assert not await world.staff.has_listed_role(alice)
    with pytest.raises(LastOwner):
        await world.staff.set_role(olga.id, "")
    assert await owners(world, olga, alice) == ["olga"]


async def test_staff_of_earlier_releases_without_a_role_are_owners(world, store):
    olga = await become(world, "olga", "owner")
    key = keys.account(olga.id)
    await store.component("accounts")[key].execute("HDEL", key, "role")
    assert (await world.accounts.get(olga.id)).role == "owner"


async def test_a_suspended_or_deleted_account_gets_no_role(world):
    await become(world, "olga", "owner")
    alice = await world.sign_up("alice")
    await world.accounts.suspend(account_id=alice.id)
    with pytest.raises(AccountNotFound):
        await world.staff.set_role(alice.id, "owner")
    await world.accounts.delete(account_id=alice.id)
    with pytest.raises(AccountNotFound):
        await world.staff.set_role(alice.id, "")
    assert await world.staff.list_roles() == {1: "owner"}


async def test_an_interrupted_change_is_completed_by_its_repetition(world, store):
    await become(world, "olga", "owner")
    alice = await become(world, "alice", "owner")
    await world.account_repository.set_staff_role(alice.id, "owner", "")  # the copy in the account was not written
    assert (await world.accounts.get(alice.id)).role == "owner"
    await world.staff.set_role(alice.id, "")
    assert not (await world.accounts.get(alice.id)).is_staff


async def test_staff_may_act_only_on_lower_roles(world):
    olga, anna = await become(world, "olga", "owner"), await become(world, "anna", "admin")
    mona, alice = await become(world, "mona", "moderator"), await world.sign_up("alice")
    people = [olga, anna, mona, alice]
    assert [[outranks(one, other) for other in people] for one in people] == [
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
        [False, False, False, False],
    ]
    assert may_change_role(olga, "owner", "admin")
    assert may_change_role(anna, "", "moderator")
    assert not may_change_role(anna, "", "admin")
    assert not may_change_role(anna, "admin", "")
    assert not may_change_role(mona, "", "moderator")


@pytest.mark.parametrize("act", ["suspend", "request_deletion", "delete"])
async def test_a_role_that_is_given_during_a_suspension_or_deletion_is_taken(world, act):
    """Otherwise a hidden owner would count as another owner, and the last one could be removed."""
    olga = await become(world, "olga", "owner")
    world.accounts.deletion_grace_ms = 60_000
    for number in range(12):
        alice = await become(world, f"alice{number}", "moderator")
        attempts = [getattr(world.accounts, act)(account_id=alice.id), world.staff.set_role(alice.id, "owner")]
        await asyncio.gather(*attempts, return_exceptions=True)
        assert not (await world.accounts.get(alice.id)).is_active
        assert await world.staff.list_roles() == {olga.id: "owner"}
