"""The deletion of an account after a grace period, in which a log-in takes it back."""

import pytest
from django.conf import settings

from accounts.domain import ACTIVE, DELETED, SUSPENDED
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.second_factors import set_up_totp
from tests.support.visitor import PASSWORD
from tests.web.conftest import OpenBrowser

GRACE_MS = 7 * 86_400_000
ALICE = AccountId(1)


@pytest.fixture
def graceful_site(site: Services) -> Services:
    site.accounts.deletion_grace_ms = GRACE_MS
    return site


async def pass_grace_period(site: Services) -> None:
    site.accounts.clock = FixedClock(site.clock.now_ms() + GRACE_MS + 1)
    await site.accounts.delete_due()


async def test_a_deleted_account_is_hidden_at_once_and_deleted_after_the_grace_period(
    graceful_site: Services, alice: HttpBrowser, bob: HttpBrowser
) -> None:
    assert (await alice.post("/accounts/delete/", password=PASSWORD)).status_code == 303
    assert not await alice.is_signed_in()
    assert (await bob.get("/@alice/")).status_code == 404
    await graceful_site.accounts.delete_due()
    assert (await graceful_site.accounts.get(ALICE)).state == SUSPENDED
    await pass_grace_period(graceful_site)
    assert (await graceful_site.accounts.get(ALICE)).state == DELETED
    assert await graceful_site.repositories.accounts.deletions.oldest(10) == []


async def test_a_log_in_offers_to_take_the_deletion_back(graceful_site: Services, alice: HttpBrowser) -> None:
    await alice.post("/accounts/delete/", password=PASSWORD)
    page = await alice.post("/accounts/login/", username="alice", password=PASSWORD)
    assert page.status_code == 401
    assert "This account will be deleted soon." in page.text
    assert '<label><input type="checkbox" name="keep"' in page.text
    wrong = await alice.post("/accounts/login/", username="alice", password="wrong", keep="on")
    assert "deleted soon" not in wrong.text
    assert (await alice.post("/accounts/login/", username="alice", password=PASSWORD, keep="on")).status_code == 303
    assert await alice.is_signed_in()
    await pass_grace_period(graceful_site)
    account = await graceful_site.accounts.get(ALICE)
    assert (account.state, account.delete_ms) == (ACTIVE, 0)


async def test_a_deletion_is_taken_back_only_after_the_second_factor(
    graceful_site: Services, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    graceful_site.clock = clock = FixedClock(graceful_site.clock.now_ms())
    graceful_site.factors.clock = clock
    device = await set_up_totp(alice, clock)
    earlier, thief = await open_browser(address="192.0.2.1"), await open_browser(address="192.0.2.2")
    await earlier.log_in("alice")
    await alice.post("/accounts/delete/", password=PASSWORD)
    assert (await earlier.post_json("/accounts/login/factor/", code=device.next_code())).status_code == 401
    answer = await thief.post_json("/accounts/login/", username="alice", password=PASSWORD, keep="on")
    assert answer.json()["error"] == "factor_needed"
    assert (await graceful_site.accounts.get(ALICE)).is_leaving
    assert (await thief.post_json("/accounts/login/factor/", code=device.next_code())).status_code == 200
    assert (await graceful_site.accounts.get(ALICE)).state == ACTIVE
    assert await thief.is_signed_in()


async def test_a_deletion_that_is_taken_back_at_its_last_moment_does_not_happen(
    graceful_site: Services, alice: HttpBrowser
) -> None:
    """The log-in arrives while the worker deletes the account: one of the two has no effect."""
    await alice.post("/accounts/delete/", password=PASSWORD)
    store_job = graceful_site.accounts.on_deletion_requested
    statuses = []

    async def log_in_and_store_job(account_id: AccountId) -> None:
        answer = await alice.post_json("/accounts/login/", username="alice", password=PASSWORD, keep="on")
        statuses.append(answer.status_code)
        await store_job(account_id)

    graceful_site.accounts.on_deletion_requested = log_in_and_store_job
    await pass_grace_period(graceful_site)
    assert (statuses, (await graceful_site.accounts.get(ALICE)).state) in (([200], ACTIVE), ([401], DELETED))


async def test_a_deletion_of_a_worker_that_died_is_continued(graceful_site: Services, alice: HttpBrowser) -> None:
    await alice.post("/accounts/delete/", password=PASSWORD)
    store_job, stored = graceful_site.accounts.on_deletion_requested, list[AccountId]()

    async def fail(_account_id: AccountId) -> None:
        raise ConnectionError

    async def note_and_store_job(account_id: AccountId) -> None:
        stored.append(account_id)
        await store_job(account_id)

    graceful_site.accounts.on_deletion_requested = fail
    with pytest.raises(ConnectionError):
        await pass_grace_period(graceful_site)
    graceful_site.accounts.on_deletion_requested = note_and_store_job
    await pass_grace_period(graceful_site)
    assert stored == [ALICE]
    assert (await graceful_site.accounts.get(ALICE)).state == DELETED


async def test_a_suspension_cannot_be_taken_back_by_a_requested_deletion(
    graceful_site: Services, alice: HttpBrowser
) -> None:
    await alice.post("/accounts/delete/", password=PASSWORD)
    await graceful_site.accounts.suspend(account_id=ALICE)
    refused = await alice.post("/accounts/login/", username="alice", password=PASSWORD, keep="on")
    assert refused.status_code == 401
    await pass_grace_period(graceful_site)
    assert (await graceful_site.accounts.get(ALICE)).state == SUSPENDED


async def test_without_a_grace_period_an_account_is_deleted_at_once(site: Services, alice: HttpBrowser) -> None:
    await alice.post("/accounts/delete/", password=PASSWORD)
    assert (await site.accounts.get(ALICE)).state == DELETED


async def test_the_page_names_the_grace_period_also_after_a_wrong_password(
    alice: HttpBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DELETION_GRACE_DAYS", 7)
    for page in (await alice.get("/accounts/delete/"), await alice.post("/accounts/delete/", password="wrong")):
        assert "For 7 days the account is only hidden" in page.text
