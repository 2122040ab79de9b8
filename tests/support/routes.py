"""Find every address of the site and the fields that it reads, so that tests cover all of them."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.urls.converters import get_converters

from socialsite.web.requests import is_api_path

SAMPLE_BY_CONVERTER = {"id": "7", "int": "7", "handle": "alice", "media_name": f"7-{'0123456789abcdef' * 2}"}
SAMPLES = {
    "tag": "redis",
    "key": "ungrouped-7",
    "code": f"7-{'A' * 22}",
    "colour": "0b57d0",
    "logo": f"7-{'01234567' * 4}",
}
"""The values of texts that a view checks. A text that no view checks is "x"."""
FIELD_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\[[a-z0-9_]*\])*")
FIELD_TYPES = ("SiteRequest", "FormFields", "Mapping[str, str]", "dict[str, str]")
"""Types of parameters in annotations. A function with one of them reads fields."""
PACKAGES = ("accounts.", "timelines.", "socialsite.admin.", "socialsite.site.")


@dataclass(frozen=True)
class Route:
    """A path with sample values, and the methods of its view (none for a view of Django).

    `pattern` is the path as in the URLconf: `/lists/<id:list_id>/`.
    """

    path: str
    methods: frozenset[str]
    pattern: str
    views: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_unsafe(self) -> bool:
        return not self.methods or "POST" in self.methods

    @property
    def fields(self) -> list[str]:
        """Return the names of the fields that the views of POST, PUT, PATCH and DELETE read, as their source says."""
        views = [view for method, view in self.views.items() if method not in ("GET", "HEAD")]
        return sorted({name for view in views for name in _names_read(inspect.unwrap(view))})


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
            views = getattr(pattern.callback, "views", {})
            yield Route(_with_samples(full_pattern), frozenset(views), full_pattern, views)


def _with_samples(pattern: str) -> str:
    """Return the path of a pattern, with a sample for each of its parameters."""

    return fill_pattern(pattern, SAMPLES)


def fill_pattern(pattern: str, values: Mapping[str, str]) -> str:
    """Return the path of a pattern, with a sample for each parameter that has no value."""

    def value(found: re.Match[str]) -> str:
        converter, name = found.groups()
        regex = getattr(get_converters().get(converter or ""), "regex", "")
        choice = regex.split("|")[0] if "|" in regex else "x"
        return values.get(name) or SAMPLE_BY_CONVERTER.get(converter) or choice

    return re.sub(r"<(?:(\w+):)?(\w+)>", value, pattern)


@cache
def _names_read(function: Callable[..., Any], depth: int = 4) -> frozenset[str]:
    """Return the names of fields in the source of a function, and of the functions that it calls with fields.

    A name is what is read from a mapping, or a constant beside it in a call. Names that a loop computes are absent.
    """
    if isinstance(function, type):
        return frozenset(getattr(function, "base_fields", ()))  # a form
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    names, called = set[str](), list[object]()
    space = vars(sys.modules[function.__module__])
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Call()), args=[ast.Constant(value=str(name)), *_]):
                names.add(name)
            case ast.Call(args=[ast.Name(), ast.Constant(value=str(name)), *_]):
                names.add(name)
            case ast.Subscript(value=ast.Name() | ast.Call(), slice=ast.Constant(value=str(name))):
                names.add(name)
            case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()]):
                names.add(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                called.append(getattr(space.get(owner), attribute, None))
            case ast.Name(id=name):
                called.append(space.get(name))
    for each in called:
        if isinstance(each, str):
            names.add(each)
        elif depth and callable(each) and _reads_fields(each):
            names |= _names_read(inspect.unwrap(each), depth - 1)
    return frozenset(filter(FIELD_NAME.fullmatch, names))


def _reads_fields(function: Callable[..., Any]) -> bool:
    if not (getattr(function, "__module__", None) or "").startswith(PACKAGES):
        return False
    if isinstance(function, type):
        return hasattr(function, "base_fields")
    annotations = getattr(inspect.unwrap(function), "__annotations__", {}).values()
    return any(name in str(annotation) for annotation in annotations for name in FIELD_TYPES)
