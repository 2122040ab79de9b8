"""Second factors: set-up, the second step of a log-in, recovery codes, limits of guesses, and their removal."""

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec
import pytest

from accounts import keys
from accounts.errors import FieldErrors
from accounts.factors.service import WRONG_CODES_PER_DAY, FactorService
from accounts.factors.step_up import STEP_UP_TTL_MS
from accounts.factors.values import TOTP_FIELD, Totp
from accounts.mail.links import reset_token
from accounts.security.browsers import BROWSERS_CAP, BrowserRegistry, KnownBrowser
from accounts.security.events import SecurityEvents
from accounts.sessions.pending import PENDING_LOGIN_TTL_MS
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser, cookies_of
from tests.support.second_factors import TotpDevice, set_up_totp
from tests.support.visitor import PASSWORD
from tests.web.conftest import OpenBrowser

FACTOR_PATH = "/accounts/login/factor/"


@pytest.fixture
async def site(redis_url: str) -> AsyncIterator[Services]:
    """A site whose clock tests move."""
    async with open_services(redis_url, ServiceConfig()) as opened:
        now_ms = opened.clock.now_ms()
        clocked = Services(opened.store, FixedClock(now_ms - now_ms % 30_000 + 1_000), ServiceConfig())
        await clocked.site.refresh()
        loop_services.bind(clocked)
        yield clocked


@pytest.fixture
def clock(site: Services) -> FixedClock:
    assert isinstance(site.clock, FixedClock)
    return site.clock


@pytest.fixture
async def device(alice: HttpBrowser, clock: FixedClock) -> TotpDevice:
    return await set_up_totp(alice, clock)


async def kinds(site: Services, account_id: int = 1) -> list[str]:
    return [event.kind for event in await site[SecurityEvents].list_newest(account_id)]


async def test_a_log_in_with_the_password_needs_the_code_too(visitor, device, site):
    answer = await visitor.post("/accounts/login/", username="alice", password=PASSWORD, next="/lists/")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{FACTOR_PATH}?next=%2Flists%2F")
    assert not await visitor.is_signed_in()
    page = await visitor.get(answer.headers["location"])
    assert re.search('autocomplete="one-time-code"[^>]* autofocus', page.text)
    answer = await visitor.post(FACTOR_PATH, code=device.next_code(), next="/lists/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/")
    assert await visitor.is_signed_in()
    assert (await kinds(site))[0] == "login"


async def test_a_json_client_gets_the_name_of_the_missing_step(visitor, device):
    answer = await visitor.log_in("alice")
    assert (answer.status_code, answer.json()["error"]) == (401, "factor_needed")
    assert not await visitor.is_signed_in()
    answer = await visitor.post_json(FACTOR_PATH, code=device.next_code())
    assert (answer.status_code, answer.json()["account"]["handle"]) == (200, "alice")


async def test_a_code_that_was_used_is_refused(visitor, device, open_browser):
    await visitor.log_in("alice")
    code = device.next_code()
    assert (await visitor.post_json(FACTOR_PATH, code=code)).status_code == 200
    other = await open_browser()
    await other.log_in("alice")
    assert (await other.post_json(FACTOR_PATH, code=code)).status_code == 422
    assert (await other.post_json(FACTOR_PATH, code=device.code(-1))).status_code == 422  # an earlier step
    assert (await other.post_json(FACTOR_PATH, code=device.code(1))).status_code == 200


async def test_fifty_racing_log_ins_with_one_code_open_one_session(device, open_browser: OpenBrowser, site):
    browsers = [await open_browser(address=f"198.51.{number}.7") for number in range(50)]
    await asyncio.gather(*(browser.log_in("alice") for browser in browsers))
    before, code = len(await site.sessions.list_sessions(1)), device.next_code()
    answers = await asyncio.gather(*(browser.post_json(FACTOR_PATH, code=code) for browser in browsers))
    assert [answer.status_code for answer in answers].count(200) == 1
    assert len(await site.sessions.list_sessions(1)) == before + 1


async def test_a_recovery_code_is_used_once_also_in_a_race(device, open_browser: OpenBrowser, site):
    assert len(device.recovery_codes) == len(set(device.recovery_codes)) == 10
    browsers = [await open_browser(address=f"198.51.{number}.7") for number in range(10)]
    await asyncio.gather(*(browser.log_in("alice") for browser in browsers))
    code = device.recovery_codes[3].upper().replace("-", " ")
    answers = await asyncio.gather(*(browser.post_json(FACTOR_PATH, code=code) for browser in browsers))
    assert [answer.status_code for answer in answers].count(200) == 1
    left = (await site[FactorService].find(1)).code_digests
    assert len(left) == 9
    assert "code_used" in await kinds(site)
    assert not any(code in str(left) for code in device.recovery_codes)


async def test_a_pending_log_in_is_no_session_and_is_bound_to_its_cookie(visitor, device, open_browser, clock):
    morsel = cookies_of(await visitor.log_in("alice"))["login"]
    assert (morsel["httponly"], morsel["samesite"]) == (True, "Lax")
    thief = await open_browser()
    thief.http.cookies.set("sessionid", morsel.value)
    assert not await thief.is_signed_in()
    other = await open_browser()
    assert (await other.post_json(FACTOR_PATH, code=device.next_code())).status_code == 401
    assert (await other.get(FACTOR_PATH)).headers["location"].startswith("/accounts/login/")
    clock.advance(0)
    assert 0 < PENDING_LOGIN_TTL_MS <= 5 * 60_000


async def test_a_planted_pending_log_in_is_not_continued(visitor, device, open_browser):
    """An attacker who plants the cookie of an own pending log-in does not get into the session of its victim."""
    attacker = await open_browser("mallory")
    own = await set_up_totp(attacker, device.clock)
    await attacker.log_in("mallory")
    planted = attacker.http.cookies["login"]
    visitor.http.cookies.set("login", planted)
    await visitor.log_in("alice")
    assert {cookie.value for cookie in visitor.http.cookies.jar if cookie.name == "login"} - {planted}
    visitor.http.cookies.delete("login", domain="")
    assert (await visitor.post_json(FACTOR_PATH, code=own.next_code())).status_code == 422
    assert (await visitor.post_json(FACTOR_PATH, code=device.next_code())).json()["account"]["handle"] == "alice"
    assert (await attacker.post_json(FACTOR_PATH, code=device.recovery_codes[0])).status_code == 422


async def test_a_finished_pending_log_in_cannot_be_used_again(visitor, device):
    await visitor.log_in("alice")
    cookie = visitor.http.cookies["login"]
    assert (await visitor.post_json(FACTOR_PATH, code=device.next_code())).status_code == 200
    visitor.http.cookies.clear()
    visitor.http.cookies.set("login", cookie)
    assert (await visitor.post_json(FACTOR_PATH, code=device.next_code())).status_code == 401


@pytest.mark.parametrize("change", ["password", "suspension"])
async def test_a_new_password_or_a_suspension_ends_a_pending_log_in(visitor, device, site, change):
    await visitor.log_in("alice")
    account = await site.accounts.get_by_handle("alice")
    if change == "password":
        await site.accounts.set_password(account=account, new="another one 7")
    else:
        await site.accounts.suspend(account_id=account.id)
    assert (await visitor.post_json(FACTOR_PATH, code=device.next_code())).status_code == 401


async def test_guesses_are_bounded_for_the_account_and_its_owner_still_logs_in(alice, device, open_browser, site):
    """The owner's browser has its own budget; elsewhere recovery codes and passkeys remain."""
    wrong = f"{(int(device.code()) + 1) % 1_000_000:06}"
    statuses = []
    for number in range(WRONG_CODES_PER_DAY + 5):
        attacker = await open_browser(address=f"198.51.{number}.7")
        await attacker.log_in("alice")
        statuses.append((await attacker.post_json(FACTOR_PATH, code=wrong)).status_code)
    assert statuses == [422] * WRONG_CODES_PER_DAY + [429] * 5
    await attacker.log_in("alice")
    assert (await attacker.post_json(FACTOR_PATH, code=device.next_code())).status_code == 429
    alice.http.cookies.delete("sessionid")
    await alice.log_in("alice")
    assert (await alice.post_json(FACTOR_PATH, code=device.next_code())).status_code == 200
    elsewhere = await open_browser(address="192.0.2.1")
    await elsewhere.log_in("alice")
    assert (await elsewhere.post_json(FACTOR_PATH, code=device.recovery_codes[0])).status_code == 200
    device.clock.advance(24 * 3_600_000)
    await attacker.log_in("alice")
    assert (await attacker.post_json(FACTOR_PATH, code=device.next_code())).status_code == 200
    assert "factor_refused" in await kinds(site)


async def test_right_codes_use_up_no_budget(device, open_browser):
    browser = await open_browser(address="192.0.2.1")
    for _ in range(WRONG_CODES_PER_DAY + 2):
        browser.http.cookies.clear()
        await browser.log_in("alice")
        assert (await browser.post_json(FACTOR_PATH, code=device.next_code())).status_code == 200


async def test_an_app_is_allowed_only_after_the_second_step(visitor, device):
    answer = await visitor.post("/accounts/login/", username="alice", password=PASSWORD, next="/oauth/authorize?x=1")
    assert (await visitor.get("/oauth/authorize?x=1")).headers["location"].startswith("/accounts/login/")
    answer = await visitor.post(FACTOR_PATH, code=device.next_code(), next="/oauth/authorize?x=1")
    assert answer.headers["location"] == "/oauth/authorize?x=1"


PROTECTED = ("/accounts/factors/totp/", "/accounts/passkeys/")


@pytest.mark.parametrize("path", PROTECTED)
async def test_factors_are_set_up_after_a_fresh_confirmation_only(alice, clock, path):
    assert (await alice.get(path)).status_code == 200  # the sign-up counts
    clock.advance(STEP_UP_TTL_MS)
    answer = await alice.get(path)
    assert (answer.status_code, answer.headers["location"]) == (
        303, f"/accounts/confirm/?next={path.replace('/', '%2F')}",
    )  # fmt: skip
    assert (await alice.get_json(path)).json()["error"] == "confirmation_needed"
    await alice.post("/accounts/confirm/", password=PASSWORD)
    assert (await alice.get(path)).status_code == 200


async def test_no_factor_changes_without_a_fresh_confirmation(alice, device, clock, site):
    setup = (await alice.get_json("/accounts/factors/totp/")).json()
    clock.advance(STEP_UP_TTL_MS)
    for path, fields in (
        ("/accounts/factors/totp/", {"setup": setup["setup"], "code": device.code()}),
        ("/accounts/factors/codes/", {}),
        ("/accounts/factors/remove/", {"factor": "totp"}),
        ("/accounts/passkeys/", {"name": "x", "credential": "{}"}),
    ):
        before = (await site[FactorService].find(1)).encoded
        assert (await alice.post_json(path, **fields)).json()["error"] == "confirmation_needed"
        answer = await alice.post(path, **fields, next="/accounts/security/")
        assert answer.headers["location"] == "/accounts/confirm/?next=%2Faccounts%2Fsecurity%2F"
        assert (await site[FactorService].find(1)).encoded == before


async def test_a_code_confirms_as_well_as_the_password(alice, device, clock):
    clock.advance(STEP_UP_TTL_MS)
    assert 'id="code_code"' in (await alice.get("/accounts/confirm/?next=/accounts/passkeys/")).text
    wrong = await alice.post("/accounts/confirm/", code="000000000")
    assert wrong.status_code == 422
    assert 'id="id_password"' in wrong.text
    answer = await alice.post("/accounts/confirm/", code=device.next_code(), next="/accounts/passkeys/")
    assert answer.headers["location"] == "/accounts/passkeys/"
    assert (await alice.get("/accounts/passkeys/")).status_code == 200


@pytest.mark.parametrize("kind", ["totp", "recovery code"])
async def test_racing_confirmations_with_one_code_confirm_one_session(alice, device, clock, open_browser, site, kind):
    browsers = [await open_browser(address=f"198.51.{number}.7") for number in range(10)]
    for browser in browsers:
        await browser.log_in("alice")
        assert (await browser.post_json(FACTOR_PATH, code=device.next_code())).status_code == 200
    clock.advance(STEP_UP_TTL_MS)
    code = device.next_code() if kind == "totp" else device.recovery_codes[0]
    answers = await asyncio.gather(*(browser.post_json("/accounts/confirm/", code=code) for browser in browsers))
    assert sorted(answer.status_code for answer in answers) == [200] + [422] * 9
    pages = await asyncio.gather(*(browser.get_json("/accounts/passkeys/") for browser in browsers))
    assert sorted(page.status_code for page in pages) == [200] + [403] * 9


async def test_after_its_factors_are_disabled_no_code_and_no_pending_log_in_is_accepted(
    alice, device, clock, open_browser, site
):
    pending = await open_browser(address="192.0.2.1")
    await pending.log_in("alice")
    clock.advance(STEP_UP_TTL_MS)
    await site[FactorService].disable(AccountId(1))
    assert (await kinds(site))[0] == "factors_disabled"
    for code in (device.next_code(), device.recovery_codes[0]):
        assert (await pending.post_json(FACTOR_PATH, code=code)).status_code == 422
        assert (await alice.post_json("/accounts/confirm/", code=code)).status_code == 422
    assert (await alice.get_json("/accounts/passkeys/")).json()["error"] == "confirmation_needed"
    assert not await pending.is_signed_in()
    assert (await pending.log_in("alice")).status_code == 200, "the password is enough now"


async def test_a_wrong_code_switches_nothing_on_and_shows_the_same_secret(alice, clock, site):
    page = await alice.get("/accounts/factors/totp/")
    secret = re.search(r'<code class="secret">([A-Z2-7 ]+)</code>', page.text)
    setup = re.search(r'name="setup" value="([^"]+)"', page.text)
    again = await alice.post("/accounts/factors/totp/", setup=setup[1], code="000000")
    assert again.status_code == 422
    assert secret[1] in again.text
    assert not (await site[FactorService].find(1)).is_set


async def test_the_set_up_of_another_account_is_refused(alice, bob, clock):
    setup = (await alice.get_json("/accounts/factors/totp/")).json()
    device = TotpDevice(setup["secret"].replace(" ", ""), [], clock)
    answer = await bob.post_json("/accounts/factors/totp/", setup=setup["setup"], code=device.code())
    assert answer.status_code == 422


async def test_new_codes_replace_the_old_ones(alice, device, visitor):
    page = await alice.post("/accounts/factors/codes/")
    codes = re.findall(r"<code>([a-z2-7-]+)</code>", page.text)
    assert len(codes) == 10
    await visitor.log_in("alice")
    assert (await visitor.post_json(FACTOR_PATH, code=device.recovery_codes[0])).status_code == 422
    assert (await visitor.post_json(FACTOR_PATH, code=codes[0])).status_code == 200


async def test_without_factors_there_are_no_codes(alice, bob, device):
    assert (await bob.post_json("/accounts/factors/codes/")).status_code == 422
    assert (await bob.post_json("/accounts/factors/remove/", factor="totp")).status_code == 404


async def test_a_removed_factor_is_no_longer_needed(alice, device, visitor, site):
    assert (await alice.post_json("/accounts/factors/remove/", factor="totp")).status_code == 200
    assert (await site[FactorService].find(1)).encoded == {}
    assert (await visitor.log_in("alice")).status_code == 200
    assert (await kinds(site))[:2] == ["login", "factor_removed"]


async def test_a_deleted_account_leaves_no_factor_and_no_event(alice, device, site):
    await site.accounts.delete(account_id=1)
    assert (await site[FactorService].find(1)).encoded == {}
    assert await kinds(site) == []


async def test_the_security_page_shows_factors_sessions_and_events(alice, device, site):
    page = await alice.get("/accounts/security/")
    assert "App for codes added" in page.text
    assert "10 codes left" in page.text
    data = (await alice.get_json("/accounts/security/")).json()
    assert data["factors"] == {"totp": True, "recovery_codes": 10, "passkeys": []}
    assert [event["kind"] for event in data["events"]] == ["totp_added", "login"]
    assert data["events"][0]["network"] == "203.0.113.0/24"
    assert len(data["sessions"]) == 1


async def test_the_pages_of_staff_need_a_second_factor(alice, clock, site, settings):
    """The account becomes staff in the store, as `create_account --staff` writes it."""
    key = keys.account(1)
    await site.store.node(key).execute("HSET", key, "staff", "1")
    settings.STAFF_SECOND_FACTOR = True
    answer = await alice.get("/ops/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/security/")
    assert "need a second factor" in (await alice.get("/accounts/security/")).text
    assert (await alice.get_json("/ops/")).json()["error"] == "factor_required"
    answer = await alice.post_json("/ops/accounts/1/suspend/")
    assert answer.json()["error"] == "factor_required"
    await set_up_totp(alice, clock)
    assert (await alice.get("/ops/")).status_code == 200


async def test_an_account_that_is_not_staff_gets_no_hint_of_the_pages_of_staff(alice, settings):
    settings.STAFF_SECOND_FACTOR = True
    assert (await alice.get("/ops/")).status_code == 404


async def test_a_forgotten_browser_has_no_budget_of_its_own(alice, bob, site):
    browser = KnownBrowser.parse(alice.http.cookies["known"])
    assert await site[BrowserRegistry].is_known(1, browser)
    assert not await site[BrowserRegistry].is_known(2, browser)
    (listed,) = (await alice.get_json("/accounts/security/")).json()["browsers"]
    assert listed["network"] == "203.0.113.0/24"
    await bob.post_json("/accounts/security/", browser=listed["id"])
    assert await site[BrowserRegistry].is_known(1, browser)
    assert (await alice.post("/accounts/security/", browser=listed["id"])).status_code == 303
    assert not await site[BrowserRegistry].is_known(1, browser)
    assert (await alice.log_in("alice")).status_code == 200
    assert await site[BrowserRegistry].is_known(1, browser)


async def test_one_browser_more_than_the_cap_replaces_the_least_recently_used(alice, site, clock):
    caller, first = Caller(None, "2001:db8:1:2::3"), KnownBrowser.parse(alice.http.cookies["known"])
    for _ in range(BROWSERS_CAP):
        clock.advance(1_000)
        await site[BrowserRegistry].remember(1, KnownBrowser.generate(), "Firefox on Linux", caller)
    assert len(await site[BrowserRegistry].list_browsers(1)) == BROWSERS_CAP
    assert not await site[BrowserRegistry].is_known(1, first)


async def test_a_changed_factor_sends_a_mail(alice, site, clock):
    await site.mail.mails.change(1, address="alice@example.org", language="en")
    device = await set_up_totp(alice, clock)
    await alice.post_json("/accounts/factors/remove/", factor="totp")
    assert device.recovery_codes
    assert [mail.kind for mail in await site.mail.list_mails(1)] == ["factor_changed", "factor_changed"]


async def test_a_reset_of_the_password_leaves_the_second_factor(visitor, alice, device, site):
    address = "alice@example.org"
    await site.mail.mails.change(AccountId(1), address=address)
    token = reset_token(await site.accounts.get(AccountId(1)), address)
    fields = {"token": token, "password1": "quite another phrase 7", "password2": "quite another phrase 7"}
    assert (await visitor.post("/accounts/reset/confirm/", **fields)).status_code == 303
    answer = await visitor.post("/accounts/login/", username="alice", password="quite another phrase 7")
    assert answer.headers["location"].startswith(FACTOR_PATH)
    assert not await visitor.is_signed_in()
    assert (await visitor.post(FACTOR_PATH, code=device.next_code())).status_code == 303
    assert await visitor.is_signed_in()


async def test_the_store_has_no_secret_of_codes(device, site):
    stored = (await site.repositories.factors.find(AccountId(1))).encoded[TOTP_FIELD]
    assert device.secret.encode() not in stored


async def check_next_code(site: Services, device: TotpDevice) -> str:
    caller = Caller(None, "203.0.113.9")
    return await site[FactorService].check_code(AccountId(1), device.next_code(), caller, None)


async def test_a_secret_of_an_earlier_release_is_encrypted_at_its_next_use(device, site):
    factors = site.repositories.factors
    sealed = (await factors.find(AccountId(1))).encoded[TOTP_FIELD]
    plain = msgspec.msgpack.encode(Totp(device.secret, 1))
    assert await factors.replace(AccountId(1), TOTP_FIELD, sealed, plain) == 1
    assert await check_next_code(site, device) == "totp"
    assert device.secret.encode() not in (await factors.find(AccountId(1))).encoded[TOTP_FIELD]
    assert await check_next_code(site, device) == "totp"


async def test_codes_survive_a_change_of_the_secret_key_and_no_code_is_right_without_it(device, site, settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the key after", [settings.SECRET_KEY]
    assert await check_next_code(site, device) == "totp"
    settings.SECRET_KEY_FALLBACKS = []
    assert await check_next_code(site, device) == "totp", "the use has encrypted it with the new key"
    settings.SECRET_KEY = "another key"
    with pytest.raises(FieldErrors):
        await check_next_code(site, device)
    code = device.recovery_codes[0]
    assert await site[FactorService].check_code(AccountId(1), code, Caller(None, "203.0.113.9"), None) != "totp"
    await site[FactorService].disable(AccountId(1))


@pytest.mark.parametrize("code", ["١٢٣٤٥٦", "é" * 6, "12345", "1234567", "-", "²²²²²²"])
async def test_texts_that_are_no_code_are_refused(alice, device, visitor, code):
    setup = (await alice.get_json("/accounts/factors/totp/")).json()["setup"]
    assert (await alice.post_json("/accounts/factors/totp/", setup=setup, code=code)).status_code == 422
    await visitor.log_in("alice")
    assert (await visitor.post_json(FACTOR_PATH, code=code)).status_code == 422


async def test_a_recovery_code_works_while_the_memory_of_the_store_is_full(visitor, device, site, redis_server):
    """A code of an app does not, because wrong ones could not be counted."""
    with redis_server.client() as client:
        client.config_set("maxmemory", 1)
        try:
            assert (await visitor.log_in("alice")).json()["error"] == "factor_needed"
            assert (await visitor.post_json("/accounts/login/options/", purpose="factor")).status_code == 200
            assert (await visitor.post_json(FACTOR_PATH, code=device.next_code())).status_code == 503
            assert (await visitor.post_json(FACTOR_PATH, code=device.recovery_codes[0])).status_code == 200
        finally:
            client.config_set("maxmemory", 0)
