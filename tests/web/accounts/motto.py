"""Tests of a text of the profile that nothing but tests.support.added_text names. test_declared_texts.py runs them."""

from typing import Any

from django.template.loader import render_to_string

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.support.imports import export_account, read_json, read_text
from timelines.audit.accounts import OPTIONAL_FIELDS

SETTINGS, MOTTO = "/accounts/settings/", "Carpe diem"


async def find(site: Services) -> Any:
    return await site.accounts.get_by_handle("alice")


async def test_the_page_of_settings_saves_the_motto_up_to_its_limit(alice: HttpBrowser, site: Services) -> None:
    assert 'name="motto"' in (await alice.get(SETTINGS)).text
    assert (await alice.post(SETTINGS, motto=f" {MOTTO} ")).status_code == 303
    assert (await find(site)).motto == MOTTO
    refused = await alice.post(SETTINGS, motto="m" * 21)
    assert (refused.status_code, "A motto is short." in refused.text) == (422, True)
    assert (await alice.post_json(SETTINGS, bio="x")).json()["account"]["motto"] == MOTTO


async def test_blocked_words_are_found_in_the_motto(alice: HttpBrowser, site: Services) -> None:
    await site.site.change(blocked_words=("casino",), blocked_hosts=())
    assert (await alice.post_json(SETTINGS, motto="Casino")).status_code == 422


async def test_others_and_staff_read_the_motto(alice: HttpBrowser, bob: HttpBrowser, site: Services) -> None:
    await alice.post_json(SETTINGS, motto=MOTTO)
    for path in ("/@alice/", "/@alice/feed.atom"):
        assert MOTTO in (await bob.get(path)).text, path
    assert (await bob.get_json("/@alice/")).json()["account"]["motto"] == MOTTO
    assert MOTTO in render_to_string("admin/_account_seen.html", {"account": await find(site), "posts": []})


async def test_apps_read_and_change_the_motto(alice: HttpBrowser, site: Services) -> None:
    async with ApiClient(application, token=await create_token(site, "alice")) as app:
        changed = (await app.http.patch("/api/v1/accounts/update_credentials", json={"motto": MOTTO})).json()
        assert (changed["motto"], changed["source"]["motto"]) == (f"<p>{MOTTO}</p>", MOTTO)
        refused = await app.http.patch("/api/v1/accounts/update_credentials", json={"motto": "m" * 21})
        assert refused.status_code == 422


async def test_the_archive_of_an_account_contains_the_motto(alice: HttpBrowser, site: Services) -> None:
    await alice.post_json(SETTINGS, motto=MOTTO)
    archive = await export_account(site, AccountId((await find(site)).id))
    assert read_json(archive, "actor.json")["motto"] == MOTTO
    assert MOTTO in read_text(archive, "index.html")


async def test_a_deletion_deletes_the_motto_and_older_accounts_lack_it(alice: HttpBrowser, site: Services) -> None:
    await alice.post_json(SETTINGS, motto=MOTTO)
    account_id = AccountId((await find(site)).id)
    await site.accounts.delete(account_id=account_id)
    deleted: Any = await site.accounts.find(account_id)
    assert deleted.motto == ""
    assert "motto" in OPTIONAL_FIELDS
