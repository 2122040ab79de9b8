"""Second factors: their repository, and TOTP codes against another library."""

import asyncio
import re
import subprocess
from pathlib import Path

import pyotp
import pytest

from accounts import keys
from accounts.factors.repository import CHALLENGE_TTL_MS, FactorRepository
from accounts.factors.values import CODES_FIELD, PASSKEYS_CAP, TOTP_FIELD, TOTP_STEP_S, Totp
from accounts.models import Account
from accounts.security.browsers import KnownBrowser
from accounts.sessions.pending import PENDING_LOGIN_TTL_MS
from accounts.sessions.values import SessionToken
from accounts.settings.factors import build_setup_page
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from tests.support.nodes import run_command
from tests.support.programs import need

ALICE, BOB = AccountId(1), AccountId(2)


@pytest.fixture
def factors(services: Services) -> FactorRepository:
    return services.repositories.factors


async def test_a_value_is_replaced_only_if_it_is_unchanged(factors: FactorRepository) -> None:
    assert await factors.replace(ALICE, "totp", None, b"one") == 1
    assert await factors.replace(ALICE, "totp", None, b"two") == 0
    results = await asyncio.gather(*(factors.replace(ALICE, "totp", b"one", b"%d" % n) for n in range(20)))
    assert sorted(results) == [0] * 19 + [1]
    current = (await factors.find(ALICE)).encoded["totp"]
    assert await factors.replace(ALICE, "totp", current, None) == 1
    assert (await factors.find(ALICE)).encoded == (await factors.find(BOB)).encoded == {}


async def test_the_number_of_passkeys_is_capped_also_in_a_race_and_leaves_room_for_codes(
    factors: FactorRepository,
) -> None:
    fields = [f"passkey:{n}" for n in range(PASSKEYS_CAP + 2)]
    results = await asyncio.gather(*(factors.replace(ALICE, field, None, b"x") for field in fields))
    assert sorted(results) == [-1] * 2 + [1] * PASSKEYS_CAP
    for field in (TOTP_FIELD, CODES_FIELD):
        assert await factors.replace(ALICE, field, None, b"x") == 1
    assert await factors.replace(ALICE, fields[results.index(1)], b"x", b"y") == 1
    assert await factors.replace(ALICE, fields[results.index(-1)], None, b"x") == -1
    await factors.delete_all(ALICE)
    assert (await factors.find(ALICE)).encoded == {}


async def test_a_challenge_is_taken_once(services: Services, factors: FactorRepository) -> None:
    digest = "ab" * 32
    await factors.add_challenge(digest)
    assert 0 < await run_command(services.store, "PTTL", keys.passkey_challenge(digest)) <= CHALLENGE_TTL_MS
    taken = await asyncio.gather(*(factors.take_challenge(digest) for _ in range(20)))
    assert sorted(taken) == [False] * 19 + [True]


async def test_a_pending_log_in_is_finished_once_and_expires(services: Services) -> None:
    account = await services.accounts.sign_up(handle="alice", password="ceiling lamp 7", now_ms=1)
    cookie, pending = await services.pending_logins.begin(account), services.pending_logins
    token = SessionToken.parse(cookie)
    assert token is not None
    key = keys.pending_login(token.owner, token.session_id)
    assert 0 < await run_command(services.store, "PTTL", key) <= PENDING_LOGIN_TTL_MS
    found = await pending.find(cookie)
    assert found is not None
    assert found.id == account.id
    assert await pending.find(SessionToken.generate(token.owner).cookie_value) is None
    assert sorted(await asyncio.gather(*(pending.finish(cookie) for _ in range(10)))) == [False] * 9 + [True]
    assert await pending.find(cookie) is None


async def test_a_browser_is_known_to_its_account_until_it_is_forgotten(services: Services) -> None:
    registry, caller = services.browsers, Caller(None, "203.0.113.9")
    browser = KnownBrowser.generate().with_account(ALICE)
    assert not await registry.is_known(ALICE, browser)
    await registry.remember(ALICE, browser, "Firefox on Linux", caller)
    assert await registry.is_known(ALICE, browser)
    assert not await registry.is_known(BOB, browser)
    assert not await registry.is_known(ALICE, KnownBrowser(browser.secret))  # without the MAC
    ((id, record),) = (await registry.list_browsers(ALICE)).items()
    assert (record.device, record.network) == ("Firefox on Linux", "203.0.113.0/24")
    await registry.forget(ALICE, id)
    assert not await registry.is_known(ALICE, browser)


NOW_S = 1_800_000_011

SCALE = 5  # pixels of a module


def oathtool(secret: str, at_s: int) -> str:
    command = [need("oathtool"), "--totp", "--base32", f"--now=@{at_s}", "-"]
    return subprocess.run(command, input=secret, check=True, capture_output=True, text=True).stdout.strip()


def test_oathtool_makes_the_codes_that_the_site_accepts() -> None:
    for number in range(20):
        totp = Totp(pyotp.random_base32(), created_ms=0)
        at_s = NOW_S + 1_000_003 * number
        step = at_s // TOTP_STEP_S
        found = [totp.find_step(oathtool(totp.secret, at_s + 30 * drift), at_s * 1000) for drift in (-2, -1, 0, 1, 2)]
        assert found == [None, step - 1, step, step + 1, None]


def test_zbarimg_reads_the_uri_of_the_qr_code(tmp_path: Path) -> None:
    zbarimg = need("zbarimg")
    page = build_setup_page(Account(handle="alice"), secret := pyotp.random_base32(), "Socialsite")
    size, modules = int(str(page["qr_size"])), re.findall(r"M(\d+) (\d+)h1v1h-1z", str(page["qr_path"]))
    pixels = [["0"] * size * SCALE for _ in range(size * SCALE)]
    for x, y in modules:
        for row in pixels[int(y) * SCALE : (int(y) + 1) * SCALE]:
            row[int(x) * SCALE : (int(x) + 1) * SCALE] = ["1"] * SCALE
    image = tmp_path / "qr.pbm"
    image.write_text(f"P1\n{size * SCALE} {size * SCALE}\n" + "\n".join("".join(row) for row in pixels))
    read = subprocess.run([zbarimg, "--raw", "-q", image], check=True, capture_output=True, text=True)
    assert read.stdout.strip() == page["uri"]
    assert f"secret={secret}" in str(page["uri"])
