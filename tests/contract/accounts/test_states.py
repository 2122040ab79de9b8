"""States of an account: suspended, reinstated, deleted. No state follows deletion."""

import asyncio

import pytest

from accounts.errors import AccountNotFound, AccountSuspended, HandleTaken
from socialsite.store import StoreUnavailable
from tests.support.account_world import PASSWORD


async def test_a_suspended_account_is_hidden_until_it_is_reinstated(world):
    alice = await world.sign_up()
    assert await world.accounts.suspend(account_id=alice.id)
    assert not await world.accounts.suspend(account_id=alice.id)
    with pytest.raises(AccountSuspended):
        await world.accounts.authenticate("alice", PASSWORD)
    assert await world.accounts.authenticate("alice", "wrong") is None
    with pytest.raises(AccountNotFound):
        await world.accounts.get_by_handle("alice")
    assert await world.accounts.reinstate(account_id=alice.id)
    assert not await world.accounts.reinstate(account_id=alice.id)
    assert await world.accounts.authenticate("alice", PASSWORD)


async def test_a_deleted_account_is_gone_and_its_handle_stays_reserved(world):
    alice = await world.sign_up()
    await world.accounts.edit_profile(
        account_id=alice.id, display_name="Alice", bio="about me", link="https://a.example"
    )
    assert await world.accounts.delete(account_id=alice.id)
    left = await world.accounts.find(alice.id)
    assert (left.state, left.display_name, left.bio, left.link) == ("deleted", "", "", "")
    assert not left.has_usable_password()
    assert await world.accounts.authenticate("alice", PASSWORD) is None
    assert world.deleted == [alice.id]
    with pytest.raises(AccountNotFound):
        await world.accounts.get_by_handle("alice")
    with pytest.raises(HandleTaken):
        await world.sign_up("Alice")


async def test_a_repeated_deletion_only_repeats_the_sweep(world):
    alice = await world.sign_up()
    await world.accounts.delete(account_id=alice.id)
    assert not await world.accounts.delete(account_id=alice.id)
    assert world.deleted == [alice.id, alice.id]


async def test_a_deleted_account_changes_to_no_other_state(world):
    alice = await world.sign_up()
    await world.accounts.delete(account_id=alice.id)
    for attempt in (
        world.accounts.reinstate(account_id=alice.id),
        world.accounts.suspend(account_id=alice.id),
        world.accounts.set_password(account=alice, new="another one 7"),
        world.accounts.edit_profile(account_id=alice.id, display_name="x", bio="", link=""),
    ):
        with pytest.raises(AccountNotFound):
            await attempt
    assert (await world.accounts.find(alice.id)).state == "deleted"


@pytest.mark.parametrize("turn", range(5))
async def test_edits_during_a_deletion_leave_no_personal_data(world, turn):
    alice = await world.sign_up()
    edits = [
        world.accounts.edit_profile(account_id=alice.id, display_name=f"Alice {n}", bio="b", link="") for n in range(10)
    ]
    delete = world.accounts.delete(account_id=alice.id)
    await asyncio.gather(*edits[: 2 * turn], delete, *edits[2 * turn :], return_exceptions=True)
    left = await world.accounts.find(alice.id)
    assert (left.state, left.display_name, left.bio) == ("deleted", "", "")


async def test_accounts_are_deleted_and_suspended_when_memory_is_full(world, deployment):
    alice, bob = await world.sign_up("alice"), await world.sign_up("bob")
    with deployment.configured("maxmemory", 1, usual=0):
        with pytest.raises(StoreUnavailable):
            await world.sign_up("carol")
        session = await world.sign_in(bob)
        assert await world.account_of(session)
        await world.accounts.delete(account_id=alice.id)
        await world.accounts.suspend(account_id=bob.id)
    assert (await world.accounts.find(alice.id)).state == "deleted"
    assert await world.account_of(session) is None
