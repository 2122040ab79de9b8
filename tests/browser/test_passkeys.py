"""Passkeys and codes in Chromium, with its virtual authenticator, by keyboard and without JavaScript."""

import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SignUpVisitor, open_context
from tests.support.chromium import BrowserPage, tab_to
from tests.support.page_health import VIEWPORTS, find_page_problems
from tests.support.programs import need
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor


@contextmanager
def authenticator(page: Page) -> Iterator[None]:
    """Give the page a platform authenticator that verifies its user."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield


@pytest.fixture
def url(site: QuickstartSite) -> str:
    """The address of the site with the host of its passkeys."""
    return site.url.replace("127.0.0.1", "localhost")


def log_in(page: Page, url: str, person: HttpVisitor) -> None:
    page.goto(f"{url}/accounts/login/")
    page.fill("[name=username]", person.handle)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")


def log_out(page: Page, url: str) -> None:
    page.goto(f"{url}/accounts/logout/")
    page.click('form[action="/accounts/logout/"] button')
    page.wait_for_url(f"{url}/")


NO_AUTOFILL = "delete PublicKeyCredential.isConditionalMediationAvailable"


def test_chromium_registers_a_passkey_and_logs_in_with_it(chromium: Browser, visitor: SignUpVisitor, url: str) -> None:
    person = visitor()
    with open_context(chromium, person) as context:
        context.add_init_script(NO_AUTOFILL)
        me = BrowserPage(page := context.new_page(), url)
        with authenticator(page):
            log_in(page, url, person)
            page.wait_for_url(f"{url}/")
            page.goto(f"{url}/accounts/passkeys/")
            expect(page.locator("[data-without-passkeys]")).to_be_hidden()
            tab_to(page, "[name=name]")
            page.keyboard.type("Laptop")
            page.keyboard.press("Enter")
            expect(page.locator(".codes li")).to_have_count(10)
            log_out(page, url)
            page.goto(f"{url}/accounts/login/?next=/accounts/security/")
            tab_to(page, "[data-passkey] button")
            page.keyboard.press("Enter")  # the whole log-in
            page.wait_for_url(f"{url}/accounts/security/")
            expect(page.locator(".row strong", has_text="Laptop")).to_be_visible()
            log_out(page, url)
            log_in(page, url, person)  # the password, then the passkey
            page.wait_for_url("**/accounts/login/factor/")
            page.click("[data-passkey] button")
            page.wait_for_url(f"{url}/")
            page.goto(f"{url}/accounts/confirm/?next=/accounts/passkeys/")
            page.click("[data-passkey] button")
            page.wait_for_url(f"{url}/accounts/passkeys/")
        assert me.complaints == []


@pytest.mark.nightly
def test_a_passkey_from_the_autofill_of_the_handle_logs_in(chromium: Browser, visitor: SignUpVisitor, url: str) -> None:
    """The virtual authenticator answers at once, as if the person chose the passkey in the list of the field."""
    person = visitor()
    with open_context(chromium, person) as context:
        me = BrowserPage(page := context.new_page(), url)
        with authenticator(page):
            log_in(page, url, person)
            page.wait_for_url(f"{url}/")
            page.goto(f"{url}/accounts/passkeys/")
            page.fill("[name=name]", "Laptop")
            page.keyboard.press("Enter")
            expect(page.locator(".codes li")).to_have_count(10)
            log_out(page, url)
            page.goto(f"{url}/accounts/login/?next=/accounts/security/")
            page.wait_for_url(f"{url}/accounts/security/")
            expect(page.locator(".row strong", has_text="Laptop")).to_be_visible()
        assert me.complaints == []


def test_zbarimg_and_oathtool_set_up_codes_without_javascript(
    chromium: Browser, visitor: SignUpVisitor, url: str, tmp_path: Path
) -> None:
    need("zbarimg", "oathtool")
    person = visitor()
    with open_context(chromium, person, java_script_enabled=False, color_scheme="dark") as context:
        page = context.new_page()
        log_in(page, url, person)
        page.wait_for_url(f"{url}/")
        page.goto(f"{url}/accounts/factors/totp/")
        page.locator("svg.qr").screenshot(path=tmp_path / "qr.png")
        uri = run("zbarimg", "--raw", "-q", str(tmp_path / "qr.png"))
        secret = re.search(r"secret=([A-Z2-7]+)", uri)
        assert secret is not None
        assert page.locator(".secret").inner_text().replace(" ", "") == secret[1]
        page.fill("[name=code]", run("oathtool", "--totp", "--base32", secret[1]))
        page.keyboard.press("Enter")
        expect(page.locator(".codes li")).to_have_count(10)
        codes = page.locator(".codes li").all_inner_texts()
        log_out(page, url)
        log_in(page, url, person)
        page.wait_for_url("**/accounts/login/factor/")
        page.fill("[name=code]", "000 000")
        page.keyboard.press("Enter")
        expect(page.locator(".errors")).to_be_visible()
        page.fill("[name=code]", codes[0])
        page.keyboard.press("Enter")
        page.wait_for_url(f"{url}/")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout.strip()


@pytest.mark.nightly
def test_the_pages_of_second_factors_have_no_barriers(chromium: Browser, visitor: SignUpVisitor, url: str) -> None:
    person = visitor()
    with open_context(chromium, person) as context:
        me = BrowserPage(page := context.new_page(), url)
        log_in(page, url, person)
        page.wait_for_url(f"{url}/")
        problems: list[object] = []
        turns = itertools.cycle(VIEWPORTS)

        def check(path: str) -> None:
            if path:
                page.goto(url + path)
            viewports = VIEWPORTS if os.environ.get("NIGHTLY") else [next(turns)]
            problems.extend((path, problem) for problem in find_page_problems(page, viewports))

        for path in ("/accounts/security/", "/accounts/passkeys/", "/accounts/factors/totp/"):
            check(path)
        page.fill("[name=code]", pyotp.TOTP(page.locator(".secret").inner_text().replace(" ", "")).now())
        page.keyboard.press("Enter")
        expect(page.locator(".codes li")).to_have_count(10)
        for path in ("", "/accounts/security/", "/accounts/confirm/?next=/accounts/passkeys/"):
            check(path)
        log_out(page, url)
        log_in(page, url, person)
        page.wait_for_url("**/accounts/login/factor/")
        check("")
        assert problems == []
        assert me.complaints == []
