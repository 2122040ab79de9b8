"""The service worker: the page without a connection, what it stores, and the notifications that it shows."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import CHROMIUM_FLAGS, BrowserPage
from tests.support.programs import need
from tests.support.push_device import PushDevice
from tests.support.visitor import HttpVisitor

STORED = """async () => {
  const found = [];
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      found.push([new URL(request.url).pathname, await (await cache.match(request)).text()]);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def chromium(chromium: Browser) -> Iterator[Browser]:
    """A Chromium that can show notifications: chromium-headless-shell cannot."""
    browser = chromium.browser_type.launch(executable_path=need("chromium"), args=list(CHROMIUM_FLAGS))
    yield browser
    browser.close()


def install(me: BrowserPage) -> BrowserPage:
    """Open home, and wait until the service worker handles the pages."""
    me.go_to("/")
    me.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    me.wait_for(lambda: me.page.evaluate("async () => (await caches.match('/offline/')) !== undefined"))
    me.go_to("/")
    me.wait_for(lambda: me.page.evaluate("navigator.serviceWorker.controller?.state === 'activated'"))
    return me


@pytest.mark.nightly
def test_a_page_without_a_connection_says_so_and_is_tried_again(reader: OpenReader, visitor: SignUpVisitor) -> None:
    me = install(reader(visitor(), service_workers="allow"))
    me.context.set_offline(True)
    me.go_to("/notifications/")
    expect(me.page.get_by_role("heading", name="No connection")).to_be_visible()
    assert me.page.evaluate("getComputedStyle(document.querySelector('.btn')).backgroundColor") != "rgba(0, 0, 0, 0)"
    me.context.set_offline(False)
    me.page.get_by_role("link", name="Try again").click()
    expect(me.page.get_by_role("heading", name="Notifications", exact=True)).to_be_visible()
    me.complaints[:] = [text for text in me.complaints if "ERR_INTERNET_DISCONNECTED" not in text]


def test_no_page_of_a_reader_is_in_a_cache_after_the_log_out(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("a post for nobody else")
    me = install(reader(own, service_workers="allow"))
    for path in ("/", f"/@{own.handle}/", "/accounts/settings/", "/notifications/", "/bookmarks/"):
        me.go_to(path)
    stored = me.page.evaluate(STORED)
    assert len(stored) == 4
    assert [path for path, _ in stored if not path.startswith("/static/")] == ["/offline/"]
    assert not any(own.handle in text or "a post for" in text for _, text in stored)
    me.go_to("/accounts/logout/")
    me.page.locator("main form[action='/accounts/logout/'] [type=submit]").click()
    me.page.wait_for_url(lambda url: "logout" not in url)
    assert me.page.evaluate(STORED) == []


def test_a_push_message_becomes_a_notification(reader: OpenReader, visitor: SignUpVisitor) -> None:
    me = install(reader(visitor(), service_workers="allow", permissions=["notifications"]))
    registrations: list[str] = []
    session = me.context.new_cdp_session(me.page)
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(each["registrationId"] for each in event["registrations"]),
    )
    session.send("ServiceWorker.enable")
    me.wait_for(lambda: registrations)
    message = {"title": "Bob mentioned you", "body": "hello", "icon": "", "url": "/@bob/1/", "notification_id": "7"}
    session.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": me.url, "registrationId": registrations[-1], "data": json.dumps(message)},
    )
    shown = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
      .map(({ title, body, tag, data }) => [title, body, tag, data.url])"""
    me.wait_for(lambda: me.page.evaluate(shown) == [["Bob mentioned you", "hello", "7", "/@bob/1/"]])


RENEW = """async ([former, device]) => {
  const event = new Event("pushsubscriptionchange");
  event.oldSubscription = { endpoint: former };
  event.newSubscription = { toJSON: () => device };
  event.waitUntil = (work) => (event.work = work);  // a browser accepts it for its own events only
  self.dispatchEvent(event);
  await event.work;
}"""


@pytest.mark.nightly
def test_the_service_worker_sends_a_renewed_subscription_to_the_site(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    me = install(reader(visitor(), service_workers="allow"))
    path = "/accounts/notifications/device/"
    former, renewed = (PushDevice(f"https://push.example.com/{name}") for name in ("former", "new"))
    subscribe = """async ([path, fields]) => {
      const [, token] = (await (await fetch(path)).text()).match(/csrfmiddlewaretoken" value="(\\w+)"/);
      const headers = { Accept: "application/json", "X-CSRFToken": token };
      return (await fetch(path, { method: "POST", body: new URLSearchParams(fields), headers })).status;
    }"""
    assert me.page.evaluate(subscribe, [path, {"endpoint": former.endpoint, **former.keys}]) == 200
    (worker,) = me.context.service_workers
    worker.evaluate(RENEW, [former.endpoint, {"endpoint": renewed.endpoint, "keys": renewed.keys}])
    stored = "async (path) => (await (await fetch(path, { headers: { Accept: 'application/json' } })).json()).device"
    assert me.page.evaluate(stored, path)["endpoint"] == renewed.endpoint


@pytest.mark.nightly
def test_a_browser_with_push_offers_the_switch_and_others_say_why_not(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, permissions=["notifications"])
    me.go_to("/accounts/notifications/device/")
    expect(me.page.get_by_role("button", name="Turn on for this device")).to_be_visible()
    expect(me.page.get_by_text("This browser cannot show")).to_be_hidden()
    plain = reader(own, java_script_enabled=False)
    plain.go_to("/accounts/notifications/device/")
    expect(plain.page.get_by_text("This browser cannot show")).to_be_visible()
    expect(plain.page.get_by_role("button", name="Turn on for this device")).to_be_hidden()
