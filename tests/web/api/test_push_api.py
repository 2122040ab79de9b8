"""The push subscription of an access token in the API, and the page of this browser's notifications."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.push_device import PushDevice
from tests.support.visitor import PASSWORD
from tests.web.api.conftest import OpenApi

PATH, PAGE = "/api/v1/push/subscription", "/accounts/notifications/device/"


async def test_an_app_subscribes_reads_changes_and_ends_its_subscription(site, world, open_api: OpenApi) -> None:
    await world.person("alice")
    api, other = await open_api("alice"), await open_api("alice", "read write")
    assert (await api.get(PATH)).status_code == 404
    device = PushDevice("https://push.example.com/abc")
    fields = {
        "subscription": {"endpoint": device.endpoint, "keys": device.keys},
        "data": {
            "alerts": {"mention": True, "follow": "1", "reblog": False, "admin.report": True},
            "policy": "followed",
        },
    }
    made = (await api.post(PATH, **fields)).json()
    assert (made["endpoint"], made["policy"], made["standard"]) == (device.endpoint, "followed", False)
    assert {name for name, is_on in made["alerts"].items() if is_on} == {"mention", "follow"}
    instance = (await api.get("/api/v2/instance")).json()
    assert made["server_key"] == instance["configuration"]["vapid"]["public_key"] != ""
    app = (await api.post("/api/v1/apps", client_name="App", redirect_uris="https://app.example/")).json()
    assert app["vapid_key"] == made["server_key"]
    assert (await api.get(PATH)).json() == made
    changed = await api.http.put(PATH, json={"data": {"alerts": {"poll": True, "update": True}}})
    assert {name for name, is_on in changed.json()["alerts"].items() if is_on} == {"poll", "update"}
    assert changed.json()["policy"] == "followed"
    assert (await other.get(PATH)).status_code == 403
    assert (await (await open_api()).get(PATH)).status_code == 401
    assert (await api.http.delete(PATH)).json() == {}
    assert (await api.get(PATH)).status_code == 404
    assert (await api.http.put(PATH, json={"data": {"alerts": {"poll": True}}})).status_code == 404
    fields["subscription"]["endpoint"] = "http://127.0.0.1:6379/"
    assert (await api.post(PATH, **fields)).status_code == 422
    fields["subscription"] |= {"endpoint": device.endpoint, "standard": True}
    assert (await api.post(PATH, **fields)).json()["standard"] is True


async def test_a_browser_subscribes_chooses_kinds_and_turns_it_off(alice: HttpBrowser) -> None:
    browser = alice
    page = await browser.get(PAGE)
    assert "data-push-on" in page.text
    assert "data-push-off" not in page.text
    device = PushDevice("https://push.example.com/abc")
    made = await browser.post_json(PAGE, endpoint=device.endpoint, **device.keys)
    assert made.json()["device"]["endpoint"] == device.endpoint
    assert "data-push-off" in (await browser.get(PAGE)).text
    await browser.post_json(PAGE, kinds=["mention", "nonsense"], text="full")
    shown = (await browser.get_json(PAGE)).json()
    assert (shown["device"]["kinds"], shown["text"]) == (["mention"], "full")
    refused = await browser.post_json(PAGE, endpoint="https://10.0.0.1/", **device.keys)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["endpoint"])
    await browser.post(f"{PAGE}remove/")
    assert (await browser.get_json(PAGE)).json()["device"] is None


async def test_only_the_session_with_a_subscription_renews_it(alice: HttpBrowser, bob: HttpBrowser) -> None:
    former, renewed, other = (PushDevice(f"https://push.example.com/{name}") for name in ("former", "new", "other"))
    for browser, device in ((alice, former), (bob, other)):
        await browser.post_json(PAGE, endpoint=device.endpoint, **device.keys)
    await alice.post_json(PAGE, kinds=["mention"])
    fields = {"endpoint": renewed.endpoint, **renewed.keys}
    for endpoint in (former.endpoint, "https://push.example.com/unknown"):
        assert (await bob.post_json(PAGE, replaces=endpoint, **fields)).status_code == 404
    assert (await bob.get_json(PAGE)).json()["device"]["endpoint"] == other.endpoint
    for _ in range(2):
        answer = await alice.post_json(PAGE, replaces=former.endpoint, **fields)
        assert answer.json()["device"] == {"endpoint": renewed.endpoint, "kinds": ["mention"]}
    await alice.post(f"{PAGE}remove/")
    assert (await alice.post_json(PAGE, replaces="", **fields)).status_code == 404


async def test_the_service_worker_belongs_to_the_whole_site_and_names_no_reader(alice: HttpBrowser) -> None:
    worker, offline = await alice.get("/sw.js"), await alice.get("/offline/")
    assert worker.headers["Content-Type"].startswith("text/javascript")
    assert "alice" not in worker.text + offline.text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/accounts/confirm/", {"password": PASSWORD}),
        (
            "/accounts/password/",
            {"old_password": PASSWORD, "new_password1": "quite another 7", "new_password2": "quite another 7"},
        ),
    ],
)
async def test_a_device_whose_session_gets_a_new_token_keeps_its_notifications(
    site: Services, alice: HttpBrowser, path: str, fields: dict[str, str]
) -> None:
    device = PushDevice("https://push.example.com/abc")
    await alice.post_json(PAGE, endpoint=device.endpoint, **device.keys)
    assert (await alice.post_json(path, **fields)).status_code == 200
    assert (await alice.get_json(PAGE)).json()["device"]["endpoint"] == device.endpoint
    assert len(await site.repositories.push_subscriptions.find_all(AccountId(1))) == 1
    await alice.post("/accounts/logout/")
    assert await site.repositories.push_subscriptions.find_all(AccountId(1)) == {}


async def test_a_log_in_of_another_account_ends_the_notifications_of_the_browser(
    site: Services, alice: HttpBrowser, bob: HttpBrowser
) -> None:
    device = PushDevice("https://push.example.com/abc")
    await alice.post_json(PAGE, endpoint=device.endpoint, **device.keys)
    assert (await alice.log_in("bob")).status_code < 400
    assert await site.repositories.push_subscriptions.find_all(AccountId(1)) == {}
    assert (await alice.get_json(PAGE)).json()["device"] is None
    fields = {"endpoint": "https://push.example.com/renewed", **device.keys}
    assert (await alice.post_json(PAGE, replaces=device.endpoint, **fields)).status_code == 404


async def test_a_revoked_app_has_no_subscription(site: Services, world, open_api: OpenApi, alice: HttpBrowser) -> None:
    api = await open_api("alice")
    device = PushDevice("https://push.example.com/abc")
    fields = {"subscription": {"endpoint": device.endpoint, "keys": device.keys}}
    assert (await api.post(PATH, **fields)).status_code == 200
    (token_id,) = await site.repositories.push_subscriptions.find_all(AccountId(1))
    assert (await alice.post("/accounts/sessions/", session=token_id)).status_code < 400
    assert await site.repositories.push_subscriptions.find_all(AccountId(1)) == {}
    assert (await api.get(PATH)).status_code == 401
