"""The settings pages of an account: profile, password, sessions, deletion (docs/reference/interface.md)."""

import re

import pytest

from tests.support.visitor import PASSWORD


@pytest.mark.parametrize("path", ["settings", "password", "sessions", "delete"])
async def test_settings_pages_send_visitors_to_log_in(visitor, alice, path):
    answer = await visitor.get(f"/accounts/{path}/")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/accounts/login/?next=%2Faccounts%2F{path}%2F"
    assert (await visitor.post_json(f"/accounts/{path}/")).status_code == 401
    assert (await alice.get(f"/accounts/{path}/")).status_code == 200


@pytest.mark.parametrize("path", ["signup", "login", "logout", "settings", "password", "sessions", "delete"])
async def test_an_action_without_the_token_is_refused(alice, path):
    answer = await alice.http.post(f"/accounts/{path}/", data={}, headers={"Accept": "application/json"})
    assert answer.status_code == 403
    assert (await alice.http.delete(f"/accounts/{path}/")).status_code in (403, 405)


async def test_a_profile_is_edited_and_keeps_the_fields_that_are_not_sent(alice):
    answer = await alice.post_json("/accounts/settings/", display_name="Alice A.", bio="Hi", link="https://a.example")
    assert answer.status_code == 200
    assert answer.json()["account"]["bio"] == "Hi"
    answer = await alice.post_json("/accounts/settings/", bio="")
    account = answer.json()["account"]
    assert (account["display_name"], account["bio"], account["link"]) == ("Alice A.", "", "https://a.example")
    assert (await alice.get_json("/accounts/settings/")).json()["account"] == account
    page = await alice.post("/accounts/settings/", display_name="Alice", bio="<b>", link="")
    assert (page.status_code, page.headers["location"]) == (303, "/accounts/settings/")
    assert "&lt;b&gt;" in (await alice.get("/accounts/settings/")).text


async def test_mentions_hashtags_and_links_of_a_bio_are_links(alice, bob):
    await alice.post_json("/accounts/settings/", bio="With @bob@localhost on #tea, see tea.org")
    page = (await bob.get("/@alice/")).text
    for href, text in (("/@bob/", "@bob@localhost"), ("/tags/tea/", "#tea"), ("https://tea.org", "tea.org")):
        assert re.search(f'<a class="[a-z]+" href="{href}"[^>]*>{text}</a>', page), href


async def test_an_account_hides_from_searches_and_suggestions(alice, bob):
    found = "/search/complete/?q=%40ali"
    assert [each["handle"] for each in (await bob.get_json(found)).json()["accounts"]] == ["alice"]
    assert (await alice.get_json("/accounts/settings/")).json()["account"]["discoverable"] is True
    answer = await alice.post_json("/accounts/settings/", discoverable="0", bio="Hi")
    account = answer.json()["account"]
    assert (account["discoverable"], account["bio"]) == (False, "Hi")
    assert (
        '<option value="0" selected>' in (await alice.get("/accounts/settings/")).text.split('name="discoverable"')[1]
    )
    assert (await bob.get_json(found)).json()["accounts"] == []
    assert (await alice.post_json("/accounts/settings/", bio="")).json()["account"]["discoverable"] is False
    assert (await alice.post_json("/accounts/settings/", discoverable="x")).status_code == 422


async def test_a_profile_leads_to_a_new_account(alice, visitor):
    refused = await alice.post_json("/accounts/settings/", moved_to="javascript:alert(1)")
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["moved_to"])
    assert "moved_to" not in (await visitor.get_json("/@alice/")).json()["account"]
    await alice.post_json("/accounts/settings/", moved_to="elsewhere.example/@alice")
    assert (await visitor.get_json("/@alice/")).json()["account"]["moved_to"] == "https://elsewhere.example/@alice"
    assert 'href="https://elsewhere.example/@alice" rel="me nofollow' in (await visitor.get("/@alice/")).text


def form_values(html: str, action: str) -> dict[str, str]:
    """Return the hidden fields of the form, as a browser that loaded the page sends them back."""
    form = html.split(f'action="{action}"')[1].split("</form>")[0]
    names = re.findall(r'<input type="hidden" name="(initial-[^"]+)" value="([^"]*)"', form)
    assert names
    return dict(names)


async def test_a_page_loaded_earlier_does_not_undo_a_private_account(alice):
    shown = form_values((await alice.get("/accounts/settings/")).text, "/accounts/settings/")
    assert shown["initial-private"] == "0"
    await alice.post_json("/accounts/settings/", private="1", link="https://new.example")
    stale = {name.removeprefix("initial-"): value for name, value in shown.items()}
    assert (await alice.post("/accounts/settings/", **shown, **{**stale, "bio": "new"})).status_code == 303
    account = (await alice.get_json("/accounts/settings/")).json()["account"]
    assert (account["private"], account["link"], account["bio"]) == (True, "https://new.example", "new")


async def test_a_page_loaded_earlier_does_not_undo_settings_of_lists_filters_and_notifications(alice):
    made = (await alice.post_json("/lists/", title="Tea")).json()
    await alice.post_json("/accounts/filters/", phrase="tea")
    pages = {
        f"/lists/{made['id']}/": (f"/lists/{made['id']}/edit/", {"exclusive": "1"}, {"title": "Coffee"}),
        "/accounts/filters/": ("/accounts/filters/1/edit/", {"action": "hide"}, {"phrase": "coffee"}),
        "/accounts/notifications/": ("/accounts/notifications/", {"like": "none"}, {"boost": "followed"}),
    }
    for page, (action, elsewhere, edited) in pages.items():
        shown = form_values((await alice.get(page)).text, action)
        stale = {name.removeprefix("initial-"): value for name, value in shown.items()}
        await alice.post_json(action, **elsewhere)
        assert (await alice.post(action, **shown, **{**stale, **edited})).status_code == 303
    settings = (await alice.get_json(f"/lists/{made['id']}/")).json()["list"]
    assert (settings["title"], settings["exclusive"]) == ("Coffee", True)
    (found,) = (await alice.get_json("/accounts/filters/")).json()["filters"]
    assert (found["phrase"], found["action"]) == ("coffee", "hide")
    preferences = (await alice.get_json("/accounts/notifications/")).json()["notifications"]
    assert (preferences["like"], preferences["boost"]) == ("none", "followed")


async def test_an_invalid_profile_is_422(alice):
    answer = await alice.post_json("/accounts/settings/", display_name="", link="javascript:alert(1)")
    assert answer.status_code == 422
    answer = await alice.post_json("/accounts/settings/", link="javascript:alert(1)", bio="x" * 501)
    assert set(answer.json()["fields"]) == {"link", "bio"}
    page = await alice.post("/accounts/settings/", display_name="A", bio="", link="javascript:alert(1)")
    assert page.status_code == 422


async def test_a_new_password_ends_all_other_sessions(alice, open_browser):
    elsewhere, before = await open_browser(), alice.http.cookies["sessionid"]
    await elsewhere.log_in("alice")
    new = "even longer words 10"
    answer = await alice.post_json("/accounts/password/", old_password=PASSWORD, new_password1=new, new_password2=new)
    assert (answer.status_code, answer.json()) == (200, {})
    assert alice.http.cookies["sessionid"] != before
    assert await alice.is_signed_in()
    assert not await elsewhere.is_signed_in()
    assert (await elsewhere.log_in("alice")).status_code == 401
    assert (await elsewhere.log_in("alice", new)).status_code == 200


async def test_a_new_password_requires_the_old_one(alice):
    fields = {"new_password1": "even longer words 10", "new_password2": "even longer words 10"}
    answer = await alice.post_json("/accounts/password/", old_password="wrong", **fields)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["old_password"])
    assert (await alice.post("/accounts/password/", old_password="wrong", **fields)).status_code == 422
    assert await alice.is_signed_in()


async def test_sessions_are_listed_and_ended(alice, open_browser):
    phone = await open_browser()
    await phone.fetch_csrf_token()
    phone.http.headers["User-Agent"] = "Mozilla/5.0 (iPhone) AppleWebKit/605 Version/18 Safari/604"
    await phone.log_in("alice")
    sessions = (await alice.get_json("/accounts/sessions/")).json()["sessions"]
    assert [session["current"] for session in sessions].count(True) == 1
    phone_session = next(session for session in sessions if not session["current"])
    assert phone_session["device"] == "Safari on iPhone"
    assert "Safari on iPhone" in (await alice.get("/accounts/sessions/")).text
    for _ in range(2):
        answer = await alice.post_json("/accounts/sessions/", session=phone_session["id"])
        assert (answer.status_code, answer.json()) == (200, {})
    assert not await phone.is_signed_in()
    assert (await alice.post_json("/accounts/sessions/", session="}:{*")).status_code == 422
    page = await alice.post("/accounts/sessions/", session="all")
    assert (page.status_code, page.headers["location"]) == (303, "/")
    assert not await alice.is_signed_in()


async def test_a_deleted_account_is_gone_at_once(alice, bob, visitor):
    wrong = await alice.post_json("/accounts/delete/", password="wrong")
    assert (wrong.status_code, list(wrong.json()["fields"])) == (422, ["password"])
    answer = await alice.post_json("/accounts/delete/", password=PASSWORD)
    assert (answer.status_code, answer.json()) == (200, {})
    assert not await alice.is_signed_in()
    assert (await bob.get_json("/@alice/")).status_code == 404
    assert (await visitor.log_in("alice")).status_code == 401
    assert (await visitor.sign_up("alice")).status_code == 409


async def test_a_suspended_account_is_signed_out_at_once(alice, site):
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    assert not await alice.is_signed_in()


async def test_the_languages_that_a_reader_may_know_are_first(alice):
    await alice.post("/accounts/preferences/", languages=["", "eu"])
    alice.http.headers["Accept-Language"] = "ca,ro;q=0.5"
    near, _details, others = (await alice.get("/accounts/preferences/")).text.partition("<details")
    codes = [re.findall(r'name="languages" value="([a-z]+)"', part) for part in (near, others)]
    assert codes[0][0] == "eu"
    assert {"ca", "ro", "en", "ar", "ja"} < set(codes[0])
    assert len(codes[0]) == 11
    assert "af" in codes[1]
    assert not set(codes[0]) & set(codes[1])
