"""The site's own addresses, and the pages for unknown addresses and refusals."""

import pytest

from socialsite.web.middleware.errors import HANDLED_ERRORS, STATUS_BY_ERROR, get_error_status
from tests.support.browser import JSON_HEADERS


async def test_robots_txt_excludes_private_pages(visitor):
    answer = await visitor.get("/robots.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "Disallow: /accounts/" in answer.text


async def test_security_txt_is_valid_for_half_a_year(visitor):
    answer = await visitor.get("/.well-known/security.txt")
    assert answer.text.startswith("Contact: http")
    assert "\nExpires: 20" in answer.text


async def test_security_txt_names_the_contact_of_the_settings(visitor, settings):
    settings.SECURITY_CONTACT = "mailto:security@social.example.org"
    answer = await visitor.get("/.well-known/security.txt")
    assert answer.text.startswith("Contact: mailto:security@social.example.org\n")


@pytest.mark.parametrize(
    ("contact", "line"),
    [
        ("", "https://example.org/about/"),
        ("+1 555 0100", "https://example.org/about/"),
        ("http://example.org/help", "https://example.org/about/"),  # RFC 9116, 2.5.3: not without TLS
        ("https://example.org/help", "https://example.org/help"),
        ("help@example.org", "mailto:help@example.org"),
    ],
)
async def test_security_txt_names_the_contact_of_the_site(visitor, site, settings, contact, line):
    settings.HTTPS, settings.SITE_URL = True, "https://example.org"
    await site.site.change(contact=contact)
    answer = await visitor.get("/.well-known/security.txt", Host="example.org")
    assert answer.text.startswith(f"Contact: {line}\n")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("example.org:8443", "https://example.org"),
        ("EXAMPLE.org:1", "https://example.org"),
        ("www.example.org:8443", "http://www.example.org:8443"),  # another of ALLOWED_HOSTS
    ],
)
async def test_addresses_have_the_port_of_the_site_and_not_that_of_host(visitor, alice, settings, host, address):
    settings.HTTPS, settings.SITE_URL = True, "https://example.org"
    for path in ("/.well-known/nodeinfo", "/.well-known/oauth-authorization-server", "/@alice/feed.atom", "/about/"):
        text = (await visitor.get(path, Host=host)).text
        assert f"{address}/" in text, path
        assert address.endswith(":8443") or ":8443" not in text, path


async def test_a_password_manager_finds_the_page_of_the_password(visitor, alice):
    """Browsers use the address only if an unknown name beside it is 404."""
    answer = await visitor.get("/.well-known/change-password")
    assert (answer.status_code, answer.headers["location"]) == (302, "/accounts/password/")
    assert (await alice.get(answer.headers["location"])).status_code == 200
    unknown = "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200"
    assert (await visitor.get(unknown)).status_code == 404


async def test_browsers_find_the_icon_and_the_manifest(visitor):
    answer = await visitor.get("/favicon.ico")
    assert (answer.status_code, answer.headers["location"]) == (301, "/static/favicon.ico")
    manifest = (await visitor.get("/manifest.webmanifest")).json()
    for address in (answer.headers["location"], *(icon["src"] for icon in manifest["icons"])):
        assert (await visitor.get(address)).status_code == 200


async def test_an_unknown_address_is_404_in_the_requested_format(visitor):
    page = await visitor.get("/nothing/here/")
    assert page.status_code == 404
    assert "/nothing/here" not in page.text.partition("<main")[2].partition("</main>")[0]
    answer = await visitor.get_json("/nothing/here/")
    assert (answer.status_code, answer.json()["error"], answer.json()["fields"]) == (404, "not_found", {})


async def test_refusals_use_the_readers_language(visitor):
    headers = {**JSON_HEADERS, "Accept-Language": "de"}
    assert (await visitor.http.get("/nothing/here/", headers=headers)).headers["content-language"] == "de"


async def test_a_405_names_the_allowed_methods(visitor):
    answer = await visitor.get("/posts/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "<h1>" in answer.text


def test_an_exception_outside_the_table_is_a_defect():
    assert get_error_status(ZeroDivisionError()) == 500
    assert ZeroDivisionError not in HANDLED_ERRORS


def test_the_table_contains_only_refusals():
    assert all(400 <= status < 600 and status != 500 for status in STATUS_BY_ERROR.values())
