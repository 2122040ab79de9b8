"""Accounts on a real server: each handle has one owner, no account is incomplete, and concurrent changes are safe."""

import asyncio

import pytest
from msgspec import structs

from accounts import keys
from accounts.accounts.repository import AccountRepository
from accounts.errors import AccountNotFound, FieldErrors, HandleTaken
from socialsite.ids import AccountId
from socialsite.store import StoreUnavailable
from tests.support.account_world import NOW_MS, PASSWORD, AccountWorld


async def test_a_new_account_is_found_by_handle_and_id(world):
    alice = await world.sign_up("Alice")
    assert (alice.handle, alice.display_name, alice.is_active, alice.is_staff) == ("alice", "alice", True, False)
    by_handle, by_id = await world.accounts.find_by_handle("ALICE"), await world.accounts.find(alice.id)
    assert by_handle.id == by_id.id == alice.id
    assert by_id.created_ms == NOW_MS
    assert (await world.accounts.get_by_handle("alice")).version == 1


async def test_concurrent_changes_of_preferences_are_all_kept(world, alice):
    changes = [{"language": "de"}, {"opens_warnings": True}, {"is_discoverable": False}, {"audience": "followers"}]
    await asyncio.gather(
        *(
            world.accounts.change_preferences(
                account_id=alice.id, change=lambda old, fields=fields: structs.replace(old, **fields)
            )
            for fields in changes
        )
    )
    kept = (await world.accounts.get(alice.id)).preferences
    assert (kept.language, kept.opens_warnings, kept.is_discoverable, kept.audience) == ("de", True, False, "followers")
    with pytest.raises(FieldErrors):
        await world.accounts.change_preferences(
            account_id=alice.id, change=lambda old: structs.replace(old, languages=("xx",))
        )


async def test_one_of_twenty_concurrent_sign_ups_gets_the_handle(world, store):
    tries = [world.accounts.sign_up(handle="alice", password=f"pass word {n}", now_ms=NOW_MS) for n in range(20)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    winners = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(winners) == 1
    assert sum(isinstance(outcome, HandleTaken) for outcome in outcomes) == 19
    assert (await world.accounts.find_by_handle("alice")).id == winners[0].id
    (left,) = await world.store.read(world.account_repository.read_many(AccountId(n) for n in range(1, 40)))
    assert list(left) == [winners[0].id]
    password = f"pass word {outcomes.index(winners[0])}"
    assert await world.accounts.authenticate("alice", password)


async def test_a_sign_up_that_loses_its_handle_stores_nothing(world, alice, store):
    """Call the repository directly, as if both sign-ups had seen a free handle."""
    alice.id = None
    assert await world.account_repository.create(alice) is None
    assert await world.accounts.find(AccountId(2)) is None


async def test_an_account_is_stored_before_its_handle(store):
    """A concurrent reader of the handle gets either no account or the complete account."""
    world, seen = AccountWorld(store), []

    async def look():
        while not seen or seen[-1] is None:
            seen.append(await world.accounts.find_by_handle("alice"))

    looking = asyncio.create_task(look())
    await world.sign_up("alice")
    await looking
    assert seen[-1].handle == "alice"
    assert seen[-1].state == "active"


async def test_a_cached_handle_is_checked_against_the_account(world, store):
    """The cache maps handles to ids; each lookup still reads the account and compares its handle."""
    alice, repository = await world.sign_up("alice"), world.account_repository
    assert (await repository.find_by_cached_handle("alice")).id == alice.id
    assert await repository.find_by_cached_handle("nobody") is None
    await world.accounts.suspend(account_id=AccountId(alice.id))
    assert (await repository.find_by_cached_handle("alice")).state == "suspended"
    for node in store.nodes:
        await node.execute("FLUSHALL")
    assert await repository.find_by_cached_handle("alice") is None
    for handle in ("bob", "alice"):  # another site: here the first account has a different handle
        await world.sign_up(handle)
    assert (await repository.find_by_cached_handle("alice")).handle == "alice"
    assert (await repository.find_by_cached_handle("bob")).id == alice.id


class SilentClaims(AccountRepository):
    """A repository that claims the handle but loses the reply."""

    async def create(self, account, facts=None):
        await super().create(account, facts)
        raise StoreUnavailable("no answer")


async def test_a_sign_up_without_a_reply_stores_a_whole_account_or_none(store):
    world = AccountWorld(store)
    world.accounts.accounts = SilentClaims(store)
    with pytest.raises(StoreUnavailable):
        await world.sign_up("alice")
    assert await AccountWorld(store).accounts.authenticate("alice", PASSWORD)


async def test_a_repeated_account_id_overwrites_no_account(world, alice, store):
    await store.node(keys.account_ids()).execute("SET", keys.account_ids(), 0)
    assert (await world.sign_up("bob")).id != alice.id
    assert (await world.accounts.find(alice.id)).handle == "alice"


async def test_the_id_of_a_lost_sign_up_is_not_given_out_again(world, store):
    """The counter and the account are lost with their server's last writes; the data on other servers is not."""
    await world.sign_up("alice")
    lost = await world.sign_up("xavier")
    await store.node(keys.account_ids()).execute("DECR", keys.account_ids())
    for key in (keys.account(lost.id), keys.handle("xavier")):
        await store.node(key).execute("DEL", key)
    yvonne = await world.sign_up("yvonne")
    assert yvonne.id > lost.id
    assert (await world.sign_up("zoe")).id == yvonne.id + 1


@pytest.mark.parametrize("handle", ["", "a b", "a" * 21, "al{}ice", "al:ice", "\u0430lice\u0456", "*", "\ud800"])
async def test_an_invalid_handle_is_refused_beside_its_field(world, handle):
    with pytest.raises(FieldErrors) as refused:
        await world.accounts.sign_up(handle=handle, password=PASSWORD, now_ms=NOW_MS)
    assert list(refused.value.fields) == ["handle"]


async def test_reserved_handles_are_for_operators_only(world):
    with pytest.raises(FieldErrors):
        await world.sign_up("admin")
    account = await world.accounts.sign_up(
        handle="admin", password=PASSWORD, now_ms=NOW_MS, staff=True, allow_reserved=True
    )
    assert (await world.accounts.find(account.id)).is_staff


async def test_the_right_password_signs_in_and_nothing_else_does(world):
    await world.sign_up()
    assert (await world.accounts.authenticate("Alice", PASSWORD)).handle == "alice"
    assert await world.accounts.authenticate("alice", PASSWORD.upper()) is None
    assert await world.accounts.authenticate("alice", "") is None
    assert await world.accounts.authenticate("nobody", PASSWORD) is None
    assert await world.accounts.authenticate("a}{:*\r\n", PASSWORD) is None


async def test_an_account_without_a_password_cannot_sign_in(world):
    account = await world.sign_up("import1", password=None)
    for guess in ("", "!", account.password):
        assert await world.accounts.authenticate("import1", guess) is None


async def test_a_hash_by_older_rules_is_renewed_at_sign_in(world, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    alice = await world.sign_up()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    signed_in = await world.accounts.authenticate("alice", PASSWORD)
    assert alice.password.startswith("pbkdf2_sha256$")
    assert signed_in.password.startswith("md5$")
    assert (await world.accounts.find(alice.id)).password == signed_in.password


async def test_a_new_password_replaces_the_old_one(world, alice):
    await world.accounts.change_password(account=alice, old=PASSWORD, new="another one 7")
    assert await world.accounts.authenticate("alice", PASSWORD) is None
    assert await world.accounts.authenticate("alice", "another one 7")


async def test_a_wrong_old_password_changes_nothing(world, alice):
    with pytest.raises(FieldErrors) as refused:
        await world.accounts.change_password(account=alice, old="wrong", new="another one 7")
    assert list(refused.value.fields) == ["old_password"]
    assert await world.accounts.authenticate("alice", PASSWORD)


async def test_one_of_several_concurrent_password_changes_succeeds(world, alice):
    changes = [world.accounts.change_password(account=alice, old=PASSWORD, new=f"new one {n}") for n in range(5)]
    outcomes = await asyncio.gather(*changes, return_exceptions=True)
    won = [n for n, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
    assert len(won) == 1
    assert await world.accounts.authenticate("alice", f"new one {won[0]}")


async def test_a_profile_edit_shows_and_raises_the_version(world, alice):
    edited = await world.accounts.edit_profile(
        account_id=alice.id, display_name=" Alice  A. ", bio="Hi\r\nthere", link="https://example.org"
    )
    assert (edited.display_name, edited.bio, edited.link) == ("Alice A.", "Hi\nthere", "https://example.org")
    assert edited.version == 2
    same = await world.accounts.edit_profile(
        account_id=alice.id, display_name="Alice A.", bio="Hi\nthere", link="https://example.org"
    )
    assert same.version == 2


async def test_a_picture_of_an_account_is_set_and_removed(world, alice):
    assert (alice.avatar, alice.header) == ("", "")
    await world.accounts.set_picture(account_id=alice.id, kind="avatar", name="5-secret")
    await world.accounts.set_picture(account_id=alice.id, kind="header", name="6-secret")
    changed = await world.accounts.find(alice.id)
    assert (changed.avatar, changed.header, changed.version) == ("5-secret", "6-secret", 3)
    assert (await world.accounts.find_authors([alice.id]))[alice.id] == changed.author
    assert changed.author.avatar == "5-secret"
    await world.accounts.set_picture(account_id=alice.id, kind="avatar", name="")
    assert (await world.accounts.find(alice.id)).avatar == ""


async def test_a_deleted_account_has_no_pictures(world, alice):
    await world.accounts.set_picture(account_id=alice.id, kind="avatar", name="5-secret")
    await world.accounts.delete(account_id=alice.id)
    assert (await world.accounts.find(alice.id)).avatar == ""


async def test_an_edit_names_every_field_that_is_wrong(world, alice):
    with pytest.raises(FieldErrors) as refused:
        await world.accounts.edit_profile(account_id=alice.id, display_name="", bio="x" * 501, link="javascript:x")
    assert set(refused.value.fields) == {"display_name", "bio", "link"}
    assert (await world.accounts.find(alice.id)).version == 1


async def test_editing_an_absent_account_creates_none(world):
    with pytest.raises(AccountNotFound):
        await world.accounts.edit_profile(account_id=AccountId(99), display_name="x", bio="", link="")
    assert await world.accounts.find(AccountId(99)) is None


async def test_authors_are_read_in_one_round_trip_without_absent_accounts(world):
    alice, bob = await world.sign_up("alice"), await world.sign_up("bob")
    await world.accounts.suspend(account_id=bob.id)
    authors = await world.accounts.find_authors([bob.id, alice.id, AccountId(99), alice.id])
    assert set(authors) == {alice.id, bob.id}
    assert authors[alice.id].is_visible
    assert (authors[bob.id].state, authors[bob.id].version) == ("suspended", 2)
    assert await world.accounts.find_authors([]) == {}


async def test_an_import_of_many_accounts_can_be_repeated(world):
    alice = await world.sign_up("user3")
    handles = [f"user{n}" for n in range(2500)]
    first = await world.accounts.import_accounts(handles=handles, now_ms=NOW_MS)
    assert set(first) == set(handles)
    assert len(set(first.values())) == 2500
    assert first["user3"] == alice.id
    assert (await world.accounts.find_by_handle("user2499")).id == first["user2499"]
    assert await world.accounts.authenticate("user2499", "") is None
    assert await world.accounts.import_accounts(handles=handles, now_ms=NOW_MS) == first
    assert (await world.accounts.authenticate("user3", PASSWORD)).id == alice.id


async def test_racing_imports_agree_on_the_owners(world, store):
    handles = [f"user{n}" for n in range(50)]
    imports = (world.accounts.import_accounts(handles=handles, now_ms=NOW_MS) for _ in range(5))
    one, *others = await asyncio.gather(*imports)
    assert all(other == one for other in others)
    (there,) = await world.store.read(world.account_repository.read_many(AccountId(n) for n in range(1, 400)))
    assert set(there) == set(one.values())
