"""The mail address, its confirmation, forgotten passwords and summaries, as a person uses them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, get_args

import httpx
import pytest

from accounts.mail.links import address_digest, confirmation_token, reset_token, unsubscribe_token
from accounts.mail.message import render_text
from accounts.mail.service import RESETS_PER_HOUR
from accounts.mail.values import MailKind
from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.recipes.job_worker import Worker
from tests.support.api import OAuthClient
from tests.support.browser import HttpBrowser, hidden_field
from tests.support.imports import import_file
from tests.support.mail_server import MailServer, link_in, mail_server
from tests.support.staff import open_staff
from tests.support.visitor import PASSWORD

ADDRESS, NEW_PASSWORD = "alice@example.org", "quite another phrase 7"
ALICE, BOB = AccountId(1), AccountId(2)


@pytest.fixture
async def smtp(settings: Any) -> AsyncIterator[MailServer]:
    with mail_server(settings) as server:
        yield server


async def work(site: Services) -> None:
    await site.mail_sending.move_due()
    await asyncio.wait_for(Worker(site.mail_queue, site.mail_sending.handle).run_until_empty(), 30)


async def open_link(browser: HttpBrowser, path: str, **fields: str) -> httpx.Response:
    """Open the page of a link, and press its button."""
    page = await browser.get(path)
    assert page.status_code == 200, page.text
    return await browser.post(path.partition("?")[0], token=hidden_field(page.text, "token"), **fields)


async def confirm(site: Services, browser: HttpBrowser, smtp: MailServer, address: str = ADDRESS) -> None:
    """Set an address on the page, and confirm it by the link of the mail."""
    assert (await browser.post("/accounts/mail/", address=address)).status_code == 303
    await work(site)
    assert (await open_link(browser, link_in(smtp.to(address)[-1]))).status_code == 303
    smtp.messages.clear()


@pytest.fixture
async def address(site, alice, smtp):
    """The confirmed address of Alice."""
    await confirm(site, alice, smtp)
    return ADDRESS


async def test_a_person_logs_in_with_the_confirmed_address(site, visitor, alice, bob, address):
    await bob.post("/accounts/mail/", address="bob@example.org")  # not confirmed
    for name in (ADDRESS, " ALICE@Example.org "):
        assert (await visitor.post("/accounts/login/", username=name, password=PASSWORD)).status_code == 303, name
        await visitor.post("/accounts/logout/")
    wrong = [
        await visitor.log_in(ADDRESS, "wrong"),
        *[
            await visitor.log_in(name)
            for name in ("bob@example.org", "nobody@example.org", "a@b", "alice@example.org@")
        ],
    ]
    assert {(answer.status_code, answer.text) for answer in wrong} == {(401, wrong[0].text)}


async def test_an_address_is_used_after_the_button_of_its_link_was_pressed(site, alice, bob, smtp):
    assert (await alice.post("/accounts/mail/", address=" Alice@EXAMPLE.org ")).status_code == 303
    await work(site)
    (message,) = smtp.messages
    link = link_in(message)
    for _ in range(2):  # a program that reads mails fetches the page, too
        assert "@alice" in (await bob.get(link)).text
    before = (await alice.get_json("/accounts/mail/")).json()
    assert (before["address"], before["pending"]) == (None, "Alice@example.org")
    assert before["mails"] == [{**before["mails"][0], "kind": "confirm_address", "state": "sent"}]
    assert before["mails"][0]["address"] == "A…@example.org"
    assert '<input type="hidden" name="address" value="Alice@example.org">' in (await alice.get("/accounts/mail/")).text
    assert (await open_link(alice, link)).headers["Location"] == "/accounts/mail/"
    after = (await alice.get_json("/accounts/mail/")).json()
    assert (after["address"], after["pending"]) == ("Alice@example.org", None)
    page = (await alice.get("/accounts/mail/")).text
    assert "Alice@example.org" in page
    assert "Confirmation of the address" in page


async def test_a_confirmation_that_is_repeated_is_one_event_and_stays_with_its_account(site, alice, bob, address):
    fields = {"token": confirmation_token(ALICE, ADDRESS)}
    assert (await alice.post("/accounts/mail/confirm/", **fields)).headers["Location"] == "/accounts/mail/"
    assert (await bob.post("/accounts/mail/confirm/", **fields)).headers["Location"] == "/"
    events = (await alice.get_json("/accounts/security/")).json()["events"]
    assert [event["kind"] for event in events].count("address_changed") == 1
    await alice.post("/accounts/mail/", address=ADDRESS)
    assert "is not confirmed yet" not in (await alice.get("/accounts/mail/")).text


async def test_a_change_of_the_address_is_mailed_to_the_old_one_and_frees_it(site, alice, bob, smtp, address):
    await confirm(site, alice, smtp, "new@example.org")
    await work(site)
    (told,) = smtp.messages
    assert (told["To"], told["Subject"]) == (ADDRESS, "@alice on Socialsite no longer uses this address")
    await confirm(site, bob, smtp)
    assert (await bob.get_json("/accounts/mail/")).json()["address"] == ADDRESS


async def test_an_address_belongs_to_one_account_and_only_its_owner_learns_so(site, alice, bob, address):
    for typed, address in (("alice@EXAMPLE.ORG", ADDRESS), (ADDRESS.title(), "Alice@example.org")):
        answer = await bob.post_json("/accounts/mail/", address=typed)
        assert (answer.status_code, answer.json()) == (200, {"pending": address})
        answer = await bob.post_json("/accounts/mail/confirm/", token=confirmation_token(BOB, address))
        assert (answer.status_code, answer.json()["error"]) == (409, "address_taken")
        assert (await bob.get_json("/accounts/mail/")).json()["address"] is None
    await alice.post_json("/accounts/mail/", address="Alice@example.org")
    assert (
        await alice.post_json("/accounts/mail/confirm/", token=confirmation_token(ALICE, address))
    ).status_code == 200
    assert (await bob.post_json("/accounts/mail/confirm/", token=confirmation_token(BOB, address))).status_code == 409


async def test_concurrent_confirmations_give_the_address_to_one_account(site, alice, bob):
    for browser in (alice, bob):
        await browser.post_json("/accounts/mail/", address=ADDRESS)
    answers = await asyncio.gather(
        alice.post_json("/accounts/mail/confirm/", token=confirmation_token(ALICE, ADDRESS)),
        bob.post_json("/accounts/mail/confirm/", token=confirmation_token(BOB, ADDRESS)),
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_a_wrong_or_replaced_link_confirms_nothing(site, alice):
    await alice.post_json("/accounts/mail/", address=ADDRESS)
    token = confirmation_token(ALICE, ADDRESS)
    for wrong in ("", token[:-1], token + "x", confirmation_token(BOB, ADDRESS), unsubscribe_token(ALICE)):
        assert (await alice.post_json("/accounts/mail/confirm/", token=wrong)).status_code == 404
    await alice.post_json("/accounts/mail/", address="other@example.org")
    assert (await alice.post_json("/accounts/mail/confirm/", token=token)).status_code == 404


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (
            "/accounts/password/",
            {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD},
        ),
        ("/accounts/sessions/", {"session": "all"}),
    ],
    ids=["a new password", "a log-out everywhere"],
)
async def test_a_new_password_and_a_log_out_everywhere_end_the_link_of_an_address(
    site, alice, visitor, address, path, fields
):
    """Otherwise a thief who asked for an address of their own would get the account by it later."""
    await alice.post_json("/accounts/mail/", address="thief@example.org")
    assert (await alice.post_json(path, **fields)).status_code == 200
    token = confirmation_token(ALICE, "thief@example.org")
    assert (await visitor.post_json("/accounts/mail/confirm/", token=token)).status_code == 404
    assert (await site.mail.find(ALICE)).address == ADDRESS


async def test_a_removal_beside_a_confirmation_leaves_no_address_without_an_account(site, alice, visitor):
    await visitor.fetch_csrf_token()
    for number in range(8):
        address = f"alice{number}@example.org"
        await alice.post_json("/accounts/mail/", address=address)
        answers = await asyncio.gather(
            visitor.post_json("/accounts/mail/confirm/", token=confirmation_token(ALICE, address)),
            alice.post_json("/accounts/mail/remove/"),
        )
        assert {answer.status_code for answer in answers} <= {200, 404, 409}
        stored = (await site.mail.find(ALICE)).address
        owner = await site.mail.mails.find_owner(address_digest(address))
        assert (stored, owner) in ((address, ALICE), ("", None))


async def test_a_change_of_the_address_needs_the_password_again(site, alice):
    site.clock = FixedClock(site.clock.now_ms() + 11 * 60_000)
    for path in ("/accounts/mail/", "/accounts/mail/remove/"):
        answer = await alice.post_json(path, address=ADDRESS)
        assert (answer.status_code, answer.json()["error"]) == (403, "confirmation_needed")


async def test_an_address_is_removed_unless_the_site_needs_one(site, alice, smtp, address, settings):
    settings.MAIL_REQUIRED = True
    assert (await alice.post_json("/accounts/mail/remove/")).status_code == 409
    settings.MAIL_REQUIRED = False
    assert (await alice.post("/accounts/mail/remove/")).status_code == 303
    assert (await alice.get_json("/accounts/mail/")).json()["address"] is None
    await work(site)
    assert [message["To"] for message in smtp.messages] == [ADDRESS]


async def test_an_address_is_on_no_page_of_others(site, alice, bob, address):
    for browser, path in ((bob, "/@alice/"), (alice, "/@alice/"), (bob, "/search/?q=alice"), (alice, "/")):
        assert ADDRESS not in (await browser.get(path)).text
        assert ADDRESS not in (await browser.get_json(path)).text


async def test_a_sign_up_asks_for_an_address_if_the_site_needs_one(site, visitor, smtp, settings):
    fields = {"handle": "carol", "password1": PASSWORD, "password2": PASSWORD}
    settings.MAIL_REQUIRED = True
    answer = await visitor.post_json("/accounts/signup/", **fields)
    assert (answer.status_code, [*answer.json()["fields"]]) == (422, ["address"])
    assert (await visitor.post_json("/accounts/signup/", address="x", **fields)).status_code == 422
    assert (await visitor.post_json("/accounts/signup/", address="carol@example.org", **fields)).status_code == 201
    await work(site)
    assert [message["To"] for message in smtp.messages] == ["carol@example.org"]


# Forgotten passwords


async def request_reset(site: Services, visitor: HttpBrowser, smtp: MailServer) -> str:
    """Ask for a link on the page, and return it."""
    assert "way" in (await visitor.post("/accounts/reset/", address=ADDRESS.upper())).text
    await work(site)
    (message,) = smtp.to(ADDRESS)
    smtp.messages.clear()
    return link_in(message)


async def test_a_forgotten_password_is_reset_once_and_ends_all_sessions(site, alice, visitor, smtp, address):
    link = await request_reset(site, visitor, smtp)
    assert await alice.is_signed_in()  # the page of the link has no effect yet
    assert (await open_link(visitor, link, password1="short", password2="short")).status_code == 422
    passwords = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    answer = await open_link(visitor, link, **passwords)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/accounts/login/")
    assert not await visitor.is_signed_in()
    assert not await alice.is_signed_in()
    used = await visitor.get(link)
    assert (used.status_code, "This link has expired or was used before." in used.text) == (404, True)
    assert 'action="/accounts/reset/"' in used.text  # which sends a new link
    token = link.partition("token=")[2]
    assert (await visitor.post_json("/accounts/reset/confirm/", token=token, **passwords)).status_code == 404
    assert (await visitor.log_in("alice")).status_code == 401
    assert (await visitor.log_in("alice", NEW_PASSWORD)).status_code == 200
    await work(site)
    subjects = sorted(message["Subject"] for message in smtp.messages)  # the worker sends both at the same time
    assert subjects == ["New log-in to @alice on Socialsite", "Your password for Socialsite was changed"]


async def test_concurrent_uses_of_one_link_change_the_password_once(site, alice, visitor, smtp, address):
    token = (await request_reset(site, visitor, smtp)).partition("token=")[2]
    await visitor.fetch_csrf_token()
    words = [f"quite another phrase {number}" for number in range(4)]
    answers = await asyncio.gather(
        *(visitor.post_json("/accounts/reset/confirm/", token=token, password1=each, password2=each) for each in words)
    )
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200, 404, 404, 404]
    assert (await visitor.log_in("alice", words[statuses.index(200)])).status_code == 200


async def test_a_link_ends_with_the_address_and_with_the_hour(site, alice, visitor, address, settings):
    account = await site.accounts.get(ALICE)
    assert await site.mail.find_reset_account(reset_token(account, ADDRESS))
    other = reset_token(account, "other@example.org")
    assert (await visitor.get(f"/accounts/reset/confirm/?token={other}")).status_code == 404
    token = reset_token(account, ADDRESS)
    assert (await visitor.get(f"/accounts/reset/confirm/?token=2{token[1:]}")).status_code == 404
    assert settings.PASSWORD_RESET_TIMEOUT == 3600
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert (await visitor.get(f"/accounts/reset/confirm/?token={token}")).status_code == 404


async def test_known_and_unknown_addresses_have_the_same_answer_and_the_same_work(site, alice, visitor, smtp, address):
    calls, bodies = [], []
    for address in (ADDRESS, "nobody@example.org"):
        fewest: dict[str, int] = {}
        for _ in range(5):  # other work of the site may run beside a request, but not beside each of five
            before = await command_counts(site)
            answer = await visitor.post("/accounts/reset/", address=address)
            after = await command_counts(site)
            used = {name: after[name] - before.get(name, 0) for name in after}
            fewest = {name: min(count, fewest.get(name, count)) for name, count in used.items()}
        calls.append({name: count for name, count in fewest.items() if count})
        bodies.append((answer.status_code, len(answer.text)))
    assert calls[0] == calls[1]
    assert calls[0]["cmdstat_xadd"] == 1
    assert bodies[0] == bodies[1]
    await work(site)
    assert {message["To"] for message in smtp.messages} == {ADDRESS}


async def command_counts(site: Services) -> dict[str, int]:
    """Return the number of calls of each Redis command so far, without those of background tasks."""
    node = site.store.node(site.mail_queue.stream_key)
    lines = (await node.execute("INFO", "commandstats")).decode().split()
    pairs = (line.split(":calls=") for line in lines if line.startswith("cmdstat_"))
    names = {"cmdstat_get", "cmdstat_hmget", "cmdstat_xadd", "cmdstat_evalsha", "cmdstat_hget"}
    return {name: int(rest.split(",")[0]) for name, rest in pairs if name in names}


async def test_requests_of_others_do_not_use_up_the_links_of_an_address(site, alice, visitor, smtp, address):
    site.clock = clock = FixedClock(site.clock.now_ms())
    site.mail.clock = site.mail_sending.clock = clock
    for _ in range(2 * RESETS_PER_HOUR):
        await visitor.post("/accounts/reset/", address=ADDRESS)
    await work(site)
    assert len(smtp.messages) == RESETS_PER_HOUR
    clock.advance(DAY_MS // 24)  # the time for which links work
    await visitor.post("/accounts/reset/", address=ADDRESS)
    await work(site)
    assert len(smtp.messages) == RESETS_PER_HOUR + 1


async def test_a_request_of_a_restored_backup_sends_no_link_days_later(site, alice, visitor, smtp, address):
    await visitor.post("/accounts/reset/", address=ADDRESS)
    site.mail_sending.clock = FixedClock(site.clock.now_ms() + 3 * DAY_MS)
    await work(site)
    assert smtp.messages == []


async def test_a_suspended_account_gets_no_link(site, alice, visitor, smtp, address):
    await site.accounts.suspend(account_id=ALICE)
    await visitor.post_json("/accounts/reset/", address=ADDRESS)
    await work(site)
    assert smtp.messages == []


async def test_an_owner_takes_back_the_deletion_that_a_thief_of_the_password_requested(site, alice, visitor, smtp):
    await confirm(site, alice, smtp)
    site.accounts.deletion_grace_ms = DAY_MS
    stolen = "the password of the thief"
    fields = {"old_password": PASSWORD, "new_password1": stolen, "new_password2": stolen}
    assert (await alice.post_json("/accounts/password/", **fields)).status_code == 200
    assert (await alice.post_json("/accounts/delete/", password=stolen)).status_code == 200
    await work(site)
    smtp.messages.clear()
    link = await request_reset(site, visitor, smtp)
    assert (await open_link(visitor, link, password1=NEW_PASSWORD, password2=NEW_PASSWORD)).status_code == 303
    fields = {"username": "alice", "password": NEW_PASSWORD, "keep": "on"}
    assert (await visitor.post_json("/accounts/login/", **fields)).status_code == 200
    assert (await site.accounts.get(ALICE)).is_active


async def test_requests_of_mails_are_limited(limited_site, open_browser, settings):
    site: Services = limited_site
    site.rules["mail"] = type(site.rules["post"])("mail", 2)
    visitor = await open_browser()
    statuses = [
        (await visitor.post_json("/accounts/reset/", address=f"a{number}@example.org")).status_code
        for number in range(3)
    ]
    assert statuses == [200, 200, 429]


# Notices


async def test_a_log_in_from_a_new_browser_is_mailed_and_from_a_known_one_is_not(site, alice, open_browser, smtp):
    await confirm(site, alice, smtp)
    other = await open_browser()
    other.http.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/141.0\r\n".strip()
    for _ in range(2):
        assert (await other.log_in("alice")).status_code == 200
    await work(site)
    (message,) = smtp.messages
    assert message["Subject"] == "New log-in to @alice on Socialsite"
    assert "Firefox on Linux" in message.get_body(("plain",)).get_content()


@pytest.mark.parametrize("kind", get_args(MailKind))
async def test_the_button_of_a_mail_leads_to_a_page_of_the_site(
    site: Services, alice: HttpBrowser, kind: MailKind
) -> None:
    await site.staff.set_role(ALICE, "owner")  # some mails are for staff
    path = render_text(kind, {}).path or "/"
    assert (await alice.get(path)).status_code in (200, 303)


async def test_a_changed_second_factor_is_mailed(site, alice, smtp, address):
    await site.factors.add(ALICE, "totp", b"x", Caller(ALICE, "203.0.113.9"), "totp_added")
    await work(site)
    assert [message["Subject"] for message in smtp.messages] == [
        "The second factor of @alice on Socialsite was changed"
    ]


# Summaries


async def test_each_event_of_an_account_is_mailed_once(site, alice, open_browser, smtp, address):
    app = await OAuthClient.register(alice.http)
    await app.get_token(alice)
    await alice.post("/accounts/archive/")
    await import_file(site, ALICE, b"bob", "following")
    sam, mia = [await open_staff(site, open_browser, name, "moderator") for name in ("sam", "mia")]
    for kind in ("warning", "limit"):
        assert (await sam.post_json(f"/ops/accounts/{ALICE}/act/", kind=kind, text="Be <b>kind.")).status_code == 200
    limit, warning = (await alice.get_json("/accounts/sanctions/")).json()["decisions"]
    await sam.post_json(f"/ops/accounts/{ALICE}/sanctions/{warning['id']}/undo/")
    await alice.post("/accounts/sanctions/", id=limit["id"], text="I think that this decision is wrong.")
    await mia.post_json(f"/ops/accounts/{ALICE}/sanctions/{limit['id']}/decide/", decision="refuse", answer="No.")
    site.accounts.deletion_grace_ms = DAY_MS
    await alice.post("/accounts/delete/", password=PASSWORD)
    await work(site)
    sent = sorted(mail.kind for mail in await site.mail.list_mails(ALICE))
    assert sent == sorted((
        "confirm_address", "new_app", "archive_ready", "import_done", "sanction", "sanction", "sanction_undone",
        "appeal_decided", "deletion_requested",
    ))  # fmt: skip
    assert len(smtp.to(ADDRESS)) == len(sent) - 1
