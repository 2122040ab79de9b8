"""A silenced account reads, and writes nothing until the time, on every address; its worker's jobs write nothing."""

import re
from itertools import product

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.errors import AccountSilenced
from socialsite.ids import AccountId
from socialsite.limits import Caller
from tests.support.browser import HttpBrowser
from tests.support.imports import perform_transfers, start_import
from tests.support.pictures import picture
from tests.support.routes import Route, api_routes, routes
from tests.support.world import World
from tests.web.api.conftest import OpenApi, open_api
from tests.web.conftest import OpenBrowser
from timelines.drafts.draft import Draft

__all__ = ["open_api"]
HOUR_MS = 3_600_000
PAGES = {
    "/posts/",
    "/posts/<id:post_id>/edit/",
    "/posts/<id:post_id>/like/",
    "/posts/<id:post_id>/boost/",
    "/posts/<id:post_id>/pin/",
    "/posts/<id:post_id>/vote/",
    "/@<handle:handle>/follow/",
    "/tags/<str:tag>/follow/",
    "/lists/<id:list_id>/follow/",
    "/accounts/settings/avatar/",
    "/accounts/settings/header/",
    "/media/",
    "/media/<id:media_id>/",
    "/welcome/people/",
    "/welcome/post/",
    "/reports/new/",
    "/accounts/invitations/",
    "/accounts/import/",
    "/accounts/import/<id:transfer_id>/confirm/",
}
"""The addresses of pages by which an account writes what others see, or follows. All others stay possible."""
STATUS, ACCOUNT = "/api/v1/statuses/<id:post_id>", "/api/v1/accounts/<id:account_id>"
ENDPOINTS = {
    ("POST", "/api/v1/statuses"),
    *((method, STATUS) for method in ("PUT", "PATCH")),
    *((method, f"{STATUS}/interaction_policy") for method in ("PUT", "PATCH")),
    *(("POST", f"{STATUS}/{name}") for name in ("reblog", "favourite", "pin")),
    ("POST", "/api/v1/polls/<id:post_id>/votes"),
    ("POST", "/api/v1/media"),
    ("POST", "/api/v2/media"),
    *((method, "/api/v1/media/<id:media_id>") for method in ("PUT", "PATCH")),
    *(("POST", f"{ACCOUNT}/{name}") for name in ("follow", "endorse", "pin")),
    *(("POST", f"/api/v1/tags/<str:tag>/{name}") for name in ("follow", "feature")),
    ("POST", "/api/v1/featured_tags"),
    ("POST", "/api/v1/reports"),
}
FIELDS = {
    "text": "tea", "status": "tea", "follow": "bob", "account_id": "2", "quote_approval_policy": "nobody",
    "content": "following", "version": "0",
}  # fmt: skip
FILES = {"/media/", "/accounts/import/", "/api/v1/media", "/api/v2/media"}


async def silence(site: Services, handle: str, until_ms: int) -> AccountId:
    account = await site.accounts.get_by_handle(handle)
    await site.accounts.restrict(AccountId(account.id), "silence", until_ms)
    return AccountId(account.id)


async def is_silenced(browser: HttpBrowser, method: str, route: Route, path: str) -> bool:
    headers = {"Accept": "application/json", "X-CSRFToken": browser.csrf_token}
    if route.pattern in FILES:
        answer = await browser.http.request(
            method, path, data=FIELDS, files={"file": ("a.csv", b"bob\n", "text/csv")}, headers=headers
        )
    else:
        answer = await browser.http.request(method, path, json=FIELDS, headers=headers)
    assert answer.status_code < 500, (method, path, answer.text)
    return answer.status_code == 403 and "silenced" in answer.text


async def test_every_writing_address_of_pages_refuses_a_silenced_account(
    alice: HttpBrowser, bob: HttpBrowser, site: Services
) -> None:
    site.rules.clear()
    post = await alice.publish("before")
    await silence(site, "alice", site.clock.now_ms() + HOUR_MS)
    refused = set()
    for route in (route for route in routes() if "POST" in route.methods and not route.path.startswith("/ops/")):
        path = route.path.replace("/posts/7/", f"/posts/{post['id']}/").replace("@alice", "@bob")
        if await is_silenced(alice, "POST", route, path):
            refused.add(route.pattern)
        if "/delete/" in path and path.startswith("/posts/"):
            post = {"id": "7"}
        if not await alice.is_signed_in():
            alice.http.cookies.clear()
            assert (await alice.log_in("alice")).status_code == 200
    assert refused == PAGES


async def test_every_writing_endpoint_refuses_a_silenced_account(open_api: OpenApi, world: World, site) -> None:
    site.rules.clear()
    app, _bob = await open_api("alice"), await world.person("bob")
    post = (await app.post("/api/v1/statuses", status="before")).json()
    await silence(site, "alice", site.clock.now_ms() + HOUR_MS)
    pairs = [
        (method, route)
        for route in api_routes()
        for method in sorted(route.methods - {"GET", "HEAD"})
        if not route.path.startswith("/oauth")
    ]
    pairs.sort(key=lambda pair: pair[0] == "DELETE")  # the post is deleted last
    refused = set()
    for method, route in pairs:
        path = route.path.replace("/statuses/7", f"/statuses/{post['id']}").replace("/accounts/7", "/accounts/2")
        fields = {**FIELDS, "status_ids": []}
        files = {"file": ("a.csv", b"bob\n", "text/csv")} if route.pattern in FILES else None
        answer = await app.http.request(
            method, path, **({"data": FIELDS, "files": files} if files else {"json": fields})
        )
        assert answer.status_code < 500, (method, path)
        if answer.status_code == 403 and "silenced" in answer.json()["error"]:
            assert answer.json().keys() == {"error"}, "the form of Mastodon"
            refused.add((method, route.pattern))
    assert refused == ENDPOINTS


@pytest.mark.parametrize(("language", "words"), [("en", "silenced your account"), ("de", "stummgeschaltet")])
async def test_the_page_names_the_time_and_keeps_what_was_typed(alice: HttpBrowser, site, language, words) -> None:
    await silence(site, "alice", 1_893_499_210_000)  # 2030-01-01 12:00:10 UTC
    await alice.post("/display/", language=language)
    answer = await alice.post("/posts/", text="nothing is lost")
    assert answer.status_code == 403
    assert words in answer.text
    assert re.search(r"2030.{0,20}12:01|12:01.{0,20}2030|2030, noon|12:01", answer.text)
    assert "nothing is lost" in answer.text
    assert (await alice.post_json("/posts/", text="nothing is lost")).json()["error"] == "silenced"


async def test_a_silenced_account_changes_no_text_and_no_picture_of_its_profile(
    alice: HttpBrowser, open_api: OpenApi, site: Services, open_browser: OpenBrowser
) -> None:
    """Its old posts and everybody whom it has met would show the new words."""
    (app, bob), account_id = (await open_api("alice"), await open_browser("bob")), AccountId(1)
    await site.site.change(members_invite=True)
    made = await bob.post_json("/accounts/invitations/", uses="3", days="7")
    assert made.status_code == 201, made.text
    for handle in ("alice", "bob"):
        await silence(site, handle, site.clock.now_ms() + HOUR_MS)
    path, files = "/api/v1/accounts/update_credentials", {"avatar": ("a.png", picture(), "image/png")}
    answers = [
        await alice.post_json("/accounts/settings/", bio="rude"),
        await alice.post_json("/welcome/profile/", display_name="rude"),
        await app.http.patch(path, json={"note": "rude"}),
        await app.http.patch(path, files=files),
        await app.http.patch("/api/v1/profile", files=files),
    ]
    assert [(answer.status_code, "silenced" in answer.text) for answer in answers] == [(403, True)] * 5
    assert (await alice.post_json("/accounts/settings/", display_name="alice", private="1")).status_code == 200
    account = await site.accounts.get(account_id)
    assert (account.bio, account.display_name, account.avatar, account.is_private) == ("", "alice", "", True)
    visitor = await open_browser()
    invitation = made.json()["url"].partition("//")[2].partition("/")[2]
    assert (await visitor.get(f"/{invitation}")).status_code == 404
    await site.accounts.restrict(AccountId(2), "silence", 0)
    assert (await visitor.get(f"/{invitation}")).status_code == 200
    await site.accounts.restrict(AccountId(2), "limit", 1)
    assert (await visitor.get(f"/{invitation}")).status_code == 404
    assert (await bob.get("/accounts/invitations/")).status_code == 403


async def test_a_silence_ends_by_itself_and_can_be_ended(alice: HttpBrowser, site: Services) -> None:
    account_id = await silence(site, "alice", site.clock.now_ms() - 1)
    await alice.publish("it is over")
    await site.accounts.restrict(account_id, "silence", site.clock.now_ms() + HOUR_MS)
    assert (await alice.post_json("/posts/", text="no")).status_code == 403
    await site.accounts.restrict(account_id, "silence", 0)
    await alice.publish("again")


async def test_a_scheduled_post_of_a_silenced_account_becomes_a_draft(world: World) -> None:
    clock = FixedClock(world.services.clock.now_ms())
    services = Services(world.services.store, clock, world.services.config)
    (alice,) = await World(services).people("alice")
    due_ms = clock.now_ms() + HOUR_MS
    draft = await services.drafts.save(alice.id, Draft(0, (("text", "later"),), scheduled_ms=due_ms))
    await services.accounts.restrict(alice.id, "silence", due_ms + HOUR_MS)
    clock.advance(HOUR_MS + 1)
    await services.drafts.publish_due()
    draft = await services.drafts.find(alice.id, draft.id)
    assert draft.scheduled_ms is None
    assert "silenced" in draft.error
    assert not (await services.reading.profile(alice.id, viewer_id=alice.id)).entries


async def test_a_caller_with_other_interfaces_is_checked_by_the_services(world: World) -> None:
    """All rules that count writing refuse a silenced caller, also those without a limit."""
    limits, now_ms = world.services.action_limits, world.services.clock.now_ms()
    caller = Caller(AccountId(1), "203.0.113.9", silenced_until_ms=now_ms + HOUR_MS)
    outcomes = {}
    for rule, check in product(("post", "edit", "media", "imports", "delete", "search"), ("enforce", "refundable")):
        try:
            if check == "enforce":
                await limits.enforce(caller, rule)
            else:
                async with limits.refundable(caller, rule):
                    pass
            outcomes[rule, check] = "done"
        except AccountSilenced as error:
            outcomes[rule, check] = error.code
    assert {rule for (rule, _), outcome in outcomes.items() if outcome == "silenced"} == {
        "post", "edit", "media", "imports",
    }  # fmt: skip
    assert set(outcomes.values()) == {"done", "silenced"}


async def test_an_import_of_a_silenced_account_waits_for_another_confirmation(world: World) -> None:
    services = world.services
    alice, bob = await world.people("alice", "bob")
    transfer = await start_import(services, alice.id, b"bob\n", "following")
    await services.imports.confirm(alice.id, transfer.id)
    await services.accounts.restrict(alice.id, "silence", services.clock.now_ms() + HOUR_MS)
    await perform_transfers(services)
    assert await services.repositories.follows.following_ids(alice.id) == []
    (waiting,) = await services.exports.all(alice.id, "import")
    assert waiting.state == "ready"
    await services.accounts.restrict(alice.id, "silence", 0)
    await services.imports.confirm(alice.id, transfer.id)
    await perform_transfers(services)
    assert await services.repositories.follows.following_ids(alice.id) == [bob.id]
