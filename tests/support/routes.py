"""Find every address of the site by walking the URLconf, so that tests cover all of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver, resolve

from socialsite.web.requests import is_api_path

SAMPLES = {
    "handle": "alice",
    "post_id": "7",
    "list_id": "7",
    "account_id": "7",
    "number": "7",
    "tag": "redis",
    "media_id": "7",
    "draft_id": "7",
    "report_id": "7",
    "transfer_id": "7",
    "sanction_id": "7",
    "quote_id": "7",
    "stream": "x",
    "notification_id": "7",
    "group_id": "7",
    "key": "ungrouped-7",
    "code": "7-AAAAAAAAAAAAAAAAAAAAAA",
    "name": "7-0123456789abcdef0123456789abcdef",
    "logo": "7-0123456789abcdef0123456789abcdef",
    "size": "small",
    "extension": "webp",
    "colour": "0b57d0",
    "announcement_id": "7",
}


@dataclass(frozen=True)
class Route:
    """A path with sample values, and the methods of its view (none for a view of Django).

    `pattern` is the path as in the URLconf: `/lists/<id:list_id>/`.
    """

    path: str
    methods: frozenset[str]
    pattern: str

    @property
    def is_unsafe(self) -> bool:
        return not self.methods or "POST" in self.methods


def routes() -> list[Route]:
    """Return the routes of pages and of their actions, which a browser requests with its cookies."""
    return [route for route in _walk(get_resolver().url_patterns, "/") if not is_api_path(route.path)]


def api_routes() -> list[Route]:
    """Return the routes of the API, which an app requests with its access token."""
    return [route for route in _walk(get_resolver().url_patterns, "/") if is_api_path(route.path)]


def uploads() -> list[tuple[str, str, int]]:
    """Return the method, the path and the most bytes of a body of each address that receives files."""
    return [
        (method, route.path, rules.max_bytes)
        for route in _walk(get_resolver().url_patterns, "/")
        if route.methods
        for method, rules in resolve(route.path).func.upload_rules.items()  # type: ignore[attr-defined]
    ]


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        full_pattern = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, full_pattern)
        else:
            path = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: SAMPLES[found[1]], full_pattern)
            yield Route(path, getattr(pattern.callback, "methods", frozenset()), full_pattern)
