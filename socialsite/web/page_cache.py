"""A cache of rendered pages with placeholders for the values that differ between requests.

Rendering the frame of a page (navigation, texts, forms) takes 1 ms, five times as long as its 30 cached entries. A
view marks the values that differ between requests as `Placeholder`. All other values of the context are the cache
key, so a cached page is used only with exactly the values that it was rendered with. The page is split at the
placeholders and joined with the values of each request. A page is not cached if its context has values that are not
plain, or if its template applies a filter to a placeholder.
"""

import html
from collections.abc import Hashable, Mapping
from typing import Any

import msgspec
from django.template import loader
from django.utils.functional import Promise
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from socialsite.byte_cache import MB, ByteCache
from socialsite.web.patterns import mark, split_at_marks

PAGE_CACHE_BYTES, CONTEXT_BYTES = 12 * MB, 4_000
"""The homes of all readers with the same preferences are one page; each profile is another."""
PLAIN_BASE_TYPES = (str, int, type(None))
PLAIN_TYPES = frozenset((*PLAIN_BASE_TYPES, bool, SafeString))


class RenderedParts(tuple[bytes, ...]):
    """Pieces of encoded HTML, which are inserted into pages without being encoded or joined before."""

    __slots__ = ()

    def __html__(self) -> SafeString:
        return SafeString(b"".join(self).decode())


Context = Mapping[str, Any]
PlaceholderValue = str | RenderedParts
PlaceholderValues = dict[str, PlaceholderValue]
CacheKey = tuple[str, str | None, Hashable]


class Placeholder(msgspec.Struct, frozen=True):
    """A text that differs between requests. Its presence is part of the cache key, its value is not."""

    value: PlaceholderValue


PLAIN_STRUCTS: list[type] = []
"""Frozen structs of plain values that may be part of a page's cache key. accounts/apps.py adds Author."""


class _NotCacheable(Exception):
    """The context contains a value that cannot be part of a cache key."""


class PageCache:
    """The pages that this process rendered lately. A page that cannot be cached has no parts."""

    def __init__(self, max_bytes: int = PAGE_CACHE_BYTES) -> None:
        self._parts_by_key: ByteCache[CacheKey, list[Any]] = ByteCache(max_bytes, _size_of_parts, CONTEXT_BYTES)

    def __len__(self) -> int:
        return len(self._parts_by_key)

    def render(self, template: str, context: Context, *, use_cache: bool = True) -> bytes:
        values: PlaceholderValues = {}
        try:
            key = (template, get_language(), _make_cache_key(context, "", values)) if use_cache else None
        except _NotCacheable:
            key = None
        parts = self._get_parts(key, context) if key else None
        if parts is None:
            return loader.get_template(template).render(_with_values(context)).encode()
        pieces: list[bytes] = []
        for part in parts:
            if type(part) is bytes:
                pieces.append(part)
            elif isinstance(value := values[part], RenderedParts):
                pieces += value
            else:
                pieces.append(_encode_text(value))
        return b"".join(pieces)

    def _get_parts(self, key: CacheKey, context: Context) -> list[Any] | None:
        """Return alternating bytes and placeholder names, or None if a placeholder has a filter."""
        parts = self._parts_by_key.get(key)
        if parts is None:
            parts = _split(loader.get_template(key[0]).render(_with_marks(context, ""))) or []
            self._parts_by_key.put(key, parts)
        return parts or None


def _size_of_parts(parts: list[Any]) -> int:
    """Return about how many bytes a page takes. Its key has the texts of the context, which the page contains too."""
    return 2 * sum(map(len, parts))


def _encode_text(value: str) -> bytes:
    """Escape as Django's `conditional_escape` does, without its steps for lazy texts."""
    return (html.escape(value) if type(value) is str else conditional_escape(value)).encode()


def _split(page: str) -> list[Any] | None:
    parts = split_at_marks(page)
    return parts and [part if at % 2 else part.encode() for at, part in enumerate(parts)]


def _make_cache_key(context: Context, prefix: str, values: PlaceholderValues) -> Hashable:
    """Return a key of all values that the page depends on, and add the values of placeholders to `values`.

    Types are part of the key: a SafeString differs from an equal str.
    """
    names, key = tuple(context), list(context.values())
    kinds = tuple(map(type, key))
    for place in [place for place, kind in enumerate(kinds) if kind not in PLAIN_TYPES]:
        name, value = names[place], key[place]
        if isinstance(value, Placeholder):
            values[prefix + name], key[place] = value.value, None
        elif isinstance(value, dict):
            key[place] = _make_cache_key(value, f"{prefix}{name}.", values)
        else:
            key[place] = _make_plain_key(value)
    return names, kinds, tuple(key)


def _make_plain_key(value: object) -> Hashable:
    if isinstance(value, (*PLAIN_BASE_TYPES, *PLAIN_STRUCTS)):
        return value
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(each, tuple(PLAIN_STRUCTS)) for each in value):
        return tuple(value)
    raise _NotCacheable


def _with_marks(context: Context, prefix: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in context.items():
        if isinstance(value, Placeholder):
            values[name] = mark(f"{prefix}{name}")
        else:
            values[name] = _with_marks(value, f"{prefix}{name}.") if isinstance(value, dict) else value
    return values


def _with_values(context: Context) -> dict[str, Any]:
    return {name: _unwrap_value(value) for name, value in context.items()}


def _unwrap_value(value: object) -> object:
    if isinstance(value, Placeholder):
        return value.value.__html__() if isinstance(value.value, RenderedParts) else value.value
    return _with_values(value) if isinstance(value, dict) else value


render_page = PageCache().render
