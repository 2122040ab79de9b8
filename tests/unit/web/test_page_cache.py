"""The cache of pages and of parts of pages."""

import pytest
from django.core.exceptions import DisallowedHost
from django.http import HttpResponse
from django.test import AsyncRequestFactory
from django.urls import Resolver404
from django.utils.safestring import SafeString
from django.utils.translation import override
from msgspec import structs

from accounts.domain import Author
from socialsite.ids import AccountId
from socialsite.web.handler import AsyncHandler
from socialsite.web.messages import LazyCookieStorage
from socialsite.web.middleware.django_async import AsyncSecurityMiddleware
from socialsite.web.page_cache import CONTEXT_BYTES, PageCache, Placeholder, RenderedParts
from socialsite.web.requests import SiteRequest, _check_host

ALICE = Author(AccountId(1), "alice", "Alice", "active", 1)

PAGE = "{{ viewer.handle }}:{% if box.next %}<a href='{{ box.next }}'>{% endif %}{{ title }}{{ box.html }}"


@pytest.fixture
def shells(settings):
    """Return a page cache over templates that are compiled again for each test."""
    loaders = [("django.template.loaders.locmem.Loader", {"page.html": PAGE, "quoted.html": "{{ a|urlencode }}"})]
    settings.TEMPLATES = [
        {"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {"loaders": loaders}}
    ]
    return TextShells(max_bytes=6 * CONTEXT_BYTES + 2_000)


class TextShells(PageCache):
    """A page cache that renders text instead of bytes."""

    def render(self, template, context, **options):
        return super().render(template, context, **options).decode()


def context(**more):
    box = {"next": Placeholder("/?before=7"), "html": Placeholder(SafeString("<li>"))}
    return {"viewer": ALICE, "title": "A & B", "box": box, **more}


def test_a_placeholder_is_filled_at_each_rendering(shells):
    assert shells.render("page.html", context()) == "alice:<a href='/?before=7'>A &amp; B<li>"
    again = context(box={"next": Placeholder("/?before=9&limit=3"), "html": Placeholder(SafeString("<b>"))})
    assert shells.render("page.html", again) == "alice:<a href='/?before=9&amp;limit=3'>A &amp; B<b>"
    assert len(shells) == 1


def test_rendered_parts_are_inserted_as_they_are(shells):
    for parts in ([b"<i>", b"1</i>"], [], [b"&"]):
        page = context(title=Placeholder(RenderedParts(parts)))
        expected = f"alice:<a href='/?before=7'>{b''.join(parts).decode()}<li>"
        assert shells.render("page.html", page) == shells.render("page.html", page, use_cache=False) == expected
    assert len(shells) == 1


def test_an_unsafe_placeholder_is_escaped(shells):
    assert "&lt;li&gt;" in shells.render("page.html", context(box={"next": None, "html": Placeholder("<li>")}))


def test_the_presence_of_a_placeholder_is_part_of_the_cache_key(shells):
    assert shells.render("page.html", context(box={"next": None, "html": Placeholder("")})) == "alice:A &amp; B"
    assert "<a" in shells.render("page.html", context())


def test_the_fields_of_a_struct_are_part_of_the_cache_key(shells):
    shells.render("page.html", context())
    assert shells.render("page.html", context(viewer=structs.replace(ALICE, handle="bob"))).startswith("bob:")
    assert shells.render("page.html", context(viewer=None)).startswith(":")


def test_the_safety_of_a_text_is_part_of_the_cache_key(shells):
    shells.render("page.html", context(title="<b>"))
    assert "<b>" in shells.render("page.html", context(title=SafeString("<b>")))


def test_each_language_has_its_own_cached_page(shells):
    shells.render("page.html", context())
    with override("de"):
        shells.render("page.html", context())
    assert len(shells) == 2


def test_a_context_with_other_than_plain_values_is_not_cached(shells):
    assert shells.render("page.html", context(messages=[object()])).startswith("alice:<a")
    assert not len(shells)


def test_a_placeholder_under_a_filter_is_rendered_without_the_cache(shells):
    for path in ("/?a=b", "/?c=d"):
        assert shells.render("quoted.html", {"a": Placeholder(path)}) == path.replace("?", "%3F").replace("=", "%3D")


def test_a_page_rendered_without_the_cache_is_not_stored(shells):
    assert shells.render("page.html", context(), use_cache=False).startswith("alice:<a")
    assert not len(shells)


def test_the_cache_drops_pages_that_were_not_rendered_lately(shells):
    for number in range(10):
        shells.render("page.html", context(title=str(number)))
    assert len(shells) == 4  # three pages in the full half, one in the new half


async def respond(request):
    return HttpResponse("", headers=request.own_headers)


async def test_only_https_responses_have_hsts_and_a_response_keeps_its_own_headers(settings):
    settings.SECURE_HSTS_SECONDS = 60
    middleware = AsyncSecurityMiddleware(respond)
    answers = []
    for is_secure in (False, True, False, True):
        request = AsyncRequestFactory().get("/", secure=is_secure)
        request.own_headers = {"Referrer-Policy": "no-referrer"} if is_secure else {}
        answers.append((await middleware(request)).headers)
    assert [headers.get("Strict-Transport-Security") for headers in answers] == [None, "max-age=60"] * 2
    assert [headers["Referrer-Policy"] for headers in answers] == ["same-origin", "no-referrer"] * 2
    assert {headers["X-Content-Type-Options"] for headers in answers} == {"nosniff"}
    assert {headers["Content-Type"] for headers in answers} == {"text/html; charset=utf-8"}


def test_a_host_is_refused_after_another_host_was_allowed(settings):
    settings.ALLOWED_HOSTS = ["one.example"]

    def host_of(name: str) -> str:
        scope = AsyncRequestFactory().get("/").scope | {"headers": [(b"host", name.encode())]}
        return SiteRequest(scope, None).get_host()

    assert host_of("one.example:8000") == host_of("one.example:8000") == "one.example:8000"
    for _ in range(2):
        with pytest.raises(DisallowedHost):
            host_of("two.example")
    settings.ALLOWED_HOSTS = ["two.example"]
    assert host_of("two.example") == "two.example"
    with pytest.raises(DisallowedHost):
        host_of("one.example:8000")


def test_a_path_leads_to_its_view_each_time_and_an_unknown_path_to_none():
    handler = AsyncHandler()
    for _ in range(2):
        matches = [handler.resolve_request(AsyncRequestFactory().get(path)) for path in ("/@alice/", "/@bob/")]
        assert [match.kwargs for match in matches] == [{"handle": "alice"}, {"handle": "bob"}]
        with pytest.raises(Resolver404):
            handler.resolve_request(AsyncRequestFactory().get("/no/such/page/"))


def test_a_request_without_messages_computes_no_signer():
    storage = LazyCookieStorage(AsyncRequestFactory().get("/"))
    assert len(storage) == 0
    storage.update(HttpResponse())
    assert "signer" not in vars(storage)
    storage.add(20, "Saved.")
    response = HttpResponse()
    storage.update(response)
    following = AsyncRequestFactory().get("/")
    following.COOKIES["messages"] = response.cookies["messages"].value
    assert [str(message) for message in LazyCookieStorage(following)] == ["Saved."]


@pytest.mark.parametrize("port", ["0", "65536", "99999", "0" * 5_000 + "80"])
def test_a_host_with_an_impossible_port_is_refused(port: str) -> None:
    with pytest.raises(DisallowedHost):
        _check_host(f"localhost:{port}", ("localhost",))
    assert _check_host("localhost:65535", ("localhost",)) == "localhost:65535"
