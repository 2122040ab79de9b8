"""The steps after a sign-up: a name and a picture, people to follow, and a first post."""

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.pictures import encode_meanwhile, picture
from tests.support.visitor import PASSWORD

CARD = 'action="/welcome/"'


async def sign_up_by_form(browser: HttpBrowser, handle: str, **fields: str) -> str:
    answer = await browser.post("/accounts/signup/", handle=handle, password1=PASSWORD, password2=PASSWORD, **fields)
    return answer.headers["location"]


@pytest.fixture
async def newcomer(visitor: HttpBrowser) -> HttpBrowser:
    assert await sign_up_by_form(visitor, "newcomer") == "/welcome/"
    return visitor


async def step_after(browser: HttpBrowser, path: str, **fields: object) -> str:
    answer = await browser.post(path, **fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def next_step(browser: HttpBrowser) -> str:
    return (await browser.get("/welcome/")).headers["location"]


async def test_the_steps_lead_to_a_profile_to_people_and_to_a_post(newcomer, alice, bob):
    await alice.publish("I write about tea")
    await bob.post_json("/accounts/settings/", bio="I write about cake")
    await bob.publish("hello")
    assert await next_step(newcomer) == "/welcome/profile/"
    assert "Step 1 of 3" in (await newcomer.get("/welcome/profile/")).text
    fields = {"display_name": "New Comer", "bio": "I write"}
    assert await step_after(newcomer, "/welcome/profile/", **fields) == "/welcome/people/"
    page = (await newcomer.get("/welcome/people/")).text
    assert "I write about tea" in page
    assert "I write about cake" in page
    assert await step_after(newcomer, "/welcome/people/", follow=["alice", "bob", "nobody"]) == "/welcome/post/"
    assert await step_after(newcomer, "/welcome/post/", text="hello from me") == "/"
    home = (await newcomer.get("/")).text
    assert "hello from me" in home
    assert "I write about tea" in home
    assert CARD not in home
    assert "New Comer" in (await newcomer.get("/@newcomer/")).text


async def test_a_chosen_list_follows_its_people(newcomer, alice, bob, open_browser):
    carol = await open_browser("carol")
    path = f"/lists/{(await carol.post_json('/lists/', title='Bakers')).json()['id']}/"
    for handle in ("alice", "bob"):
        await carol.post_json(f"{path}members/", handle=handle)
    assert "Bakers" not in (await newcomer.get("/welcome/people/")).text
    await carol.post_json(f"{path}edit/", public="1", description="They write about cake")
    page = (await newcomer.get("/welcome/people/")).text
    for text in ("Bakers", "by @carol", "2 people", "They write about cake"):
        assert text in page
    assert await step_after(newcomer, "/welcome/people/", list=[path.split("/")[2], "1", "x"]) == "/welcome/post/"
    for handle, follows in (("alice", True), ("bob", True), ("carol", False)):
        assert (await newcomer.get_json(f"/@{handle}/")).json()["viewer"]["follows"] is follows


async def test_skipped_steps_change_nothing_and_come_back(newcomer):
    home = (await newcomer.get("/")).text
    assert "step 1 of 3" in home
    assert await step_after(newcomer, "/welcome/profile/", skip="1", display_name="ignored") == "/welcome/people/"
    assert "step 2 of 3" in (await newcomer.get("/")).text
    assert await next_step(newcomer) == "/welcome/people/"
    assert "newcomer" in (await newcomer.get("/welcome/profile/")).text
    assert await step_after(newcomer, "/welcome/people/", skip="1", follow="alice") == "/welcome/post/"
    assert await step_after(newcomer, "/welcome/post/", skip="1", text="ignored") == "/"
    home = (await newcomer.get("/")).text
    assert CARD not in home
    assert "ignored" not in home


async def test_a_step_counts_wherever_it_was_done(newcomer, alice):
    await newcomer.publish("hello from the composer")
    assert "step 1 of 3" in (await newcomer.get("/")).text
    await newcomer.post("/accounts/settings/", bio="I write")
    assert "step 2 of 3" in (await newcomer.get("/")).text
    assert await next_step(newcomer) == "/welcome/people/"
    await newcomer.post("/@alice/follow/")
    assert CARD not in (await newcomer.get("/")).text


async def test_a_dismissed_card_stays_away_and_the_steps_stay_reachable(newcomer):
    assert await step_after(newcomer, "/welcome/") == "/"
    assert CARD not in (await newcomer.get("/")).text
    assert await step_after(newcomer, "/welcome/profile/", display_name="Still Me") == "/welcome/people/"
    assert CARD not in (await newcomer.get("/")).text


async def test_accounts_of_programs_and_of_earlier_releases_see_no_card(alice):
    assert CARD not in (await alice.get("/")).text
    assert await step_after(alice, "/welcome/profile/", skip="1") == "/welcome/people/"
    assert CARD not in (await alice.get("/")).text


async def test_the_page_that_a_sign_up_came_from_still_wins(visitor):
    assert await sign_up_by_form(visitor, "newcomer", next="/public/") == "/public/"
    assert CARD in (await visitor.get("/")).text


async def test_another_preference_keeps_the_step(newcomer):
    await newcomer.post("/accounts/preferences/", open_warnings="1")
    assert await next_step(newcomer) == "/welcome/profile/"


@pytest.mark.parametrize("fields", [{"display_name": "x" * 51}, {"display_name": ""}, {"bio": "x" * 501}])
async def test_a_refused_profile_stays_in_the_form_with_the_reason(newcomer, fields):
    sent = {"display_name": "Typed", "bio": "typed"} | fields
    page = await newcomer.post("/welcome/profile/", **sent)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert ("Typed" in page.text) or ("typed" in page.text)
    assert await next_step(newcomer) == "/welcome/profile/"


async def test_a_file_that_is_no_picture_is_refused_with_a_sentence(newcomer, site: Services):
    headers = {"X-CSRFToken": newcomer.csrf_token}
    data = {"display_name": "Typed", "bio": ""}
    for file, status in ((b"no picture", 422), (picture() + b"x" * 10, 303)):
        sending = newcomer.http.post("/welcome/profile/", data=data, files={"file": ("x.png", file)}, headers=headers)
        answer = await encode_meanwhile(site, sending)
        assert answer.status_code == status, answer.text
    assert 'src="/media/' in (await newcomer.get("/welcome/profile/")).text


async def test_a_refused_first_post_stays_in_the_form_with_the_reason(newcomer):
    page = await newcomer.post("/welcome/post/", text="x" * 501)
    assert page.status_code == 422
    assert "at most 500 characters" in page.text
    assert "x" * 501 in page.text


async def test_a_first_post_that_is_sent_twice_is_published_once(newcomer):
    for _ in range(2):
        assert await step_after(newcomer, "/welcome/post/", text="once", idempotency_key="k" * 20) == "/"
    assert len((await newcomer.get_json("/@newcomer/")).json()["posts"]) == 1


async def test_a_visitor_is_redirected_to_the_log_in(visitor):
    for path in ("/welcome/", "/welcome/profile/", "/welcome/people/", "/welcome/post/"):
        assert (await visitor.get(path)).headers["location"].startswith("/accounts/login/")
        assert (await visitor.post_json(path)).status_code == 401
