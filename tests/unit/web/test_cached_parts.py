"""The parts of responses that a process computes once: headers of Django, checked hosts, and the views of paths."""

import pytest
from django.core.exceptions import DisallowedHost
from django.http import HttpResponse
from django.test import AsyncRequestFactory
from django.urls import Resolver404

from socialsite.web.handler import AsyncHandler
from socialsite.web.messages import LazyCookieStorage
from socialsite.web.middleware.django_async import AsyncSecurityMiddleware
from socialsite.web.requests import SiteRequest, _check_host


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
    request = AsyncRequestFactory().get("/")
    storage = LazyCookieStorage(request)
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
