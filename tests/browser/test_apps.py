"""Apps that a person allows in Chromium: in a popup, and by an address that redirects once more."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor

OPENER_PAGE = """<script>
  addEventListener("message", (event) => { document.title = "told " + event.data; });
  const openPopup = () => open(decodeURIComponent(location.hash.slice(1)), "popup", "width=500,height=500");
</script><button onclick="openPopup()">Log in</button>"""
CALLBACK_PAGE = """<title>arrived</title><script>
  const code = new URLSearchParams(location.search).get("code");
  if (window.opener) window.opener.postMessage(code ? "a code" : "no code", "*");
</script>"""


@dataclass
class AppServer:
    """The pages of an app: `/callback`, others that redirect to it or to the scheme `anapp:`, and an opener."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_origin(self) -> str:
        return f"http://localhost:{self.port}"


@pytest.fixture
def app() -> Iterator[AppServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            targets = {
                "/bridge": f"{app.other_origin}/callback?{query}",
                "/hop": f"{app.other_origin}/scheme?{query}",
                "/scheme": f"anapp://done?{query}",
            }
            self.send_response(302 if path in targets else 200)
            self.send_header("Location" if path in targets else "Content-Type", targets.get(path, "text/html"))
            self.end_headers()
            if path not in targets:
                self.wfile.write((CALLBACK_PAGE if path == "/callback" else OPENER_PAGE).encode())

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    app = AppServer(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield app
    server.shutdown()
    server.server_close()
    thread.join()


def consent_url(site: QuickstartSite, person: HttpVisitor, redirect_uri: str) -> str:
    fields = {"client_name": "An app", "redirect_uris": redirect_uri, "scopes": "read"}
    client_id = person.http.post("/api/v1/apps", data=fields).json()["client_id"]
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": redirect_uri, "scope": "read"}
    return f"{site.url}/oauth/authorize?{urlencode(query)}"


def allow(page: Page) -> None:
    page.click("main button[name=decision][value=allow]")


@pytest.mark.parametrize("is_signed_in", [True, False])
def test_the_page_that_opened_a_popup_hears_from_the_callback(
    reader: OpenReader, visitor: SignUpVisitor, site: QuickstartSite, app: AppServer, is_signed_in: bool
) -> None:
    person = visitor()
    opener = reader(person if is_signed_in else None).page
    opener.goto(f"{app.other_origin}/#{quote(consent_url(site, person, f'{app.url}/callback'))}")
    with opener.expect_popup() as opened:
        opener.click("button")
    popup = opened.value
    if not is_signed_in:
        popup.fill("[name=username]", person.handle)
        popup.fill("[name=password]", "a wrong password")
        popup.keyboard.press("Enter")
        popup.locator(".error, [role=alert]").first.wait_for()
        popup.fill("[name=password]", PASSWORD)
        popup.keyboard.press("Enter")
    allow(popup)
    expect(opener).to_have_title("told a code")


def test_a_callback_may_redirect_to_another_origin(
    reader: OpenReader, own: HttpVisitor, site: QuickstartSite, app: AppServer
) -> None:
    page = reader(own).page
    page.goto(consent_url(site, own, f"{app.url}/bridge"))
    allow(page)
    expect(page).to_have_title("arrived")
    assert page.url.startswith(f"{app.other_origin}/callback?code=")


def test_a_callback_may_redirect_to_a_page_that_opens_an_app(
    reader: OpenReader, own: HttpVisitor, site: QuickstartSite, app: AppServer
) -> None:
    """No program here handles the scheme, so the navigation ends there."""
    page = reader(own).page
    page.goto(consent_url(site, own, f"{app.url}/hop"))
    with page.expect_event("requestfailed") as failed:
        allow(page)
    assert failed.value.url.startswith("anapp://done?code=")
