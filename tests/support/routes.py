"""Every address of the site, found by walking the URLconf: none can be forgotten by a test."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

SAMPLES = {
    "handle": "alice",
    "post_id": "7",
    "list_id": "7",
    "account_id": "7",
    "number": "7",
    "tag": "redis",
}


@dataclass(frozen=True)
class Route:
    """A path with sample values in it, and the methods its view answers; none known: a stock view.

    `pattern` is the path as the URLconf writes it: `/lists/<id:list_id>/`.
    """

    path: str
    methods: frozenset[str]
    pattern: str

    @property
    def is_unsafe(self) -> bool:
        return not self.methods or "POST" in self.methods


def routes() -> list[Route]:
    return list(_walk(get_resolver().url_patterns, "/"))


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        written = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, written)
        else:
            path = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: SAMPLES[found[1]], written)
            yield Route(path, getattr(pattern.callback, "methods", frozenset()), written)
