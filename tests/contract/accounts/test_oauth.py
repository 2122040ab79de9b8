"""Apps, their tokens, and the states of accounts."""

import asyncio

import pytest
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY

from accounts.errors import AccountNotFound, AccountSuspended, FieldErrors, HandleTaken
from accounts.models import Account
from accounts.oauth.values import AuthorizationRequest, OAuthApp, OAuthError
from accounts.sessions.values import SESSION_SCHEMA_VERSION, SessionToken, StoredSession
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, ClientId
from socialsite.limits import Caller
from socialsite.service_config import ServiceConfig
from socialsite.store import StoreUnavailable
from tests.support.account_world import PASSWORD

REDIRECT_URI = "https://app.example/callback"

CALLER = Caller(None, "192.0.2.1")


async def register(services: Services, scopes: str = "read write") -> tuple[OAuthApp, str]:
    return await services.oauth.register_app(
        name="An app", website="", redirect_uris=[REDIRECT_URI], scopes=scopes, caller=CALLER
    )


async def exchange(services: Services, app: OAuthApp, secret: str, code: str) -> str:
    token, _ = await services.oauth.exchange_code(app.id, secret, {"code": code, "redirect_uri": REDIRECT_URI}, CALLER)
    return token


async def issue_code(services: Services, account: Account, app: OAuthApp) -> str:
    """Return a code that the account permits in a new session."""
    token, now_ms = SessionToken.generate(AccountId(account.id)), services.clock.now_ms()
    data = {SESSION_KEY: str(account.id), HASH_SESSION_KEY: account.get_session_auth_hash()}
    await services.sessions.open(token.owner, token, StoredSession(SESSION_SCHEMA_VERSION, now_ms, "", data), now_ms)
    request = AuthorizationRequest(app.id, REDIRECT_URI, ("read",))
    return await services.oauth.issue_code(token.owner, token.session_id, request)


@pytest.fixture
async def alice(services: Services) -> Account:
    now_ms = services.clock.now_ms()
    return await services.accounts.sign_up(handle="alice", password=None, now_ms=now_ms)


async def test_a_code_gives_one_token_and_a_repetition_ends_it(services: Services, alice: Account) -> None:
    app, secret = await register(services)
    assert await services.oauth.find_app(app.id) == app
    code = await issue_code(services, alice, app)
    token = await exchange(services, app, secret, code)
    account, loaded = await services.access_tokens.load(token)
    assert account is not None
    assert loaded is not None
    assert (account.id, loaded.grant.scopes, loaded.grant.app_name) == (alice.id, ("read",), "An app")
    with pytest.raises(OAuthError):
        await exchange(services, app, secret, code)
    assert await services.access_tokens.load(token) == (None, None)


async def test_of_concurrent_exchanges_one_gets_a_token(services: Services, alice: Account) -> None:
    app, secret = await register(services)
    code = await issue_code(services, alice, app)
    results = await asyncio.gather(*(exchange(services, app, secret, code) for _ in range(8)), return_exceptions=True)
    assert sorted(isinstance(result, OAuthError) for result in results) == [False, *[True] * 7]
    assert len(await services.access_tokens.list_tokens(AccountId(alice.id))) <= 1


async def test_an_app_ends_its_tokens_and_a_suspension_ends_those_of_the_account(
    services: Services, alice: Account
) -> None:
    app, secret = await register(services)
    first, second = [await exchange(services, app, secret, await issue_code(services, alice, app)) for _ in range(2)]
    own, _ = await services.oauth.issue_app_token(app.id, secret, "", CALLER)
    await services.oauth.revoke(app.id, secret, first)
    assert await services.access_tokens.load(first) == (None, None)
    await services.accounts.suspend(account_id=AccountId(alice.id))
    assert await services.access_tokens.load(second) == (None, None)
    _, loaded = await services.access_tokens.load(own)
    assert loaded is not None
    assert loaded.account_id is None


async def test_an_unknown_app_and_an_unknown_scope_are_refused(services: Services) -> None:
    assert await services.oauth.find_app(ClientId("0" * 32)) is None
    with pytest.raises(FieldErrors):
        await register(services, scopes="admin")


async def test_registrations_and_tokens_have_limits_of_their_own(services: Services) -> None:
    limited = Services(services.store, services.clock, ServiceConfig(rate_limits={"app": 2, "token": 3}))
    app, secret = await register(limited)
    await register(limited)
    with pytest.raises(RateLimited):
        await register(limited)
    for _ in range(3):
        await limited.oauth.issue_app_token(app.id, secret, "", CALLER)
    with pytest.raises(RateLimited):
        await limited.oauth.issue_app_token(app.id, secret, "", CALLER)
    assert await limited.oauth.issue_app_token(app.id, secret, "", Caller(None, "198.51.100.1"))


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
