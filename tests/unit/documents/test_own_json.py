"""The JSON of the site's own addresses is as in docs/reference/interface.md, and undeclared JSON fails a test."""

from types import ModuleType
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path

from socialsite.urls import urlpatterns
from socialsite.web.requests import SiteRequest, dispatch_by_method
from socialsite.web.responses import json_response, respond
from tests.support.browser import HttpBrowser
from tests.support.own_json import (
    ENTITIES,
    OwnJson,
    UndeclaredJson,
    answering_addresses,
    declared_addresses,
    describes,
)


def test_exactly_the_declared_addresses_answer_json() -> None:
    assert answering_addresses() == declared_addresses()


def test_a_view_with_undeclared_json_is_found_by_its_source_and_by_the_client() -> None:
    async def show_mood(request: SiteRequest) -> HttpResponse:
        return respond(request, "mood.html", page=dict, data=lambda: {"mood": "calm"})

    urls = ModuleType("tests.urls_with_mood")
    urls.urlpatterns = [path("mood/", dispatch_by_method(GET=show_mood)), *urlpatterns]  # type: ignore[attr-defined]
    with override_settings(ROOT_URLCONF=urls):
        assert answering_addresses() - declared_addresses() == {("GET", "/mood/")}


class AnswersJson:
    """An ASGI application that answers the same JSON to every request."""

    def __init__(self, data: object) -> None:
        self.body = json_response(data).content

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": self.body})


@pytest.mark.parametrize(
    ("address", "data"),
    [("/compose/", {}), ("/bookmarks/", {"posts": [], "next": None, "previous": None, "mood": 1}), ("/lists/", {})],
    ids=["undeclared address", "further member", "missing members"],
)
async def test_an_answer_that_is_not_declared_fails_the_test(address: str, data: object) -> None:
    async with HttpBrowser(AnswersJson(data)) as browser:
        with pytest.raises(UndeclaredJson, match=address):
            await browser.get_json(address)


async def test_a_declared_answer_passes() -> None:
    async with HttpBrowser(AnswersJson({"posts": [], "next": None, "previous": None})) as browser:
        assert (await browser.get_json("/bookmarks/")).json()["posts"] == []


def test_a_member_may_be_absent_only_with_a_question_mark() -> None:
    declared = OwnJson("account pinned? Filter")
    filter_members = set(ENTITIES["Filter"].split())
    assert describes(declared, {"account", *filter_members})
    assert describes(declared, {"account", "pinned", *filter_members})
    assert not describes(declared, {"pinned", *filter_members})
    assert not describes(declared, {"account", "mood", *filter_members})
