"""The preview of a link: which link of a post has one, and what is read from the page of the link."""

import codecs
import hashlib
import html
import re
from contextlib import suppress
from functools import lru_cache
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.utils.http import is_same_domain

from socialsite.characters import readable_url
from timelines.posts.post import MediaAttachment, Post
from timelines.text.linkify import find_urls
from timelines.text.post_text import TextRefused, normalize_text

TITLE_MAX_LENGTH, DESCRIPTION_MAX_LENGTH = 150, 300
MAX_TAGS = 500
_TAG = re.compile(r"""<meta\b(?:[^<>"']|"[^"]{0,2000}"|'[^']{0,2000}'){0,200}+>""", re.IGNORECASE)
"""A whole tag. Each tag is parsed alone, so that no page makes the parser slow."""
_TITLE = re.compile(r"<title\b[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined"})
"""Codecs of Python for other texts than pages. They raise other errors, or take quadratic time."""
_ISOLATES = dict.fromkeys(range(0x2066, 0x206A))  # directions of text, which apps may show unisolated
NAMES: Final = {
    "title": ("og:title", "twitter:title"),
    "description": ("og:description", "twitter:description", "description"),
    "picture": ("og:image:secure_url", "og:image", "twitter:image"),
}


class LinkPreview(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What pages show of a link. A preview without a title is a failure. New fields are added at the end."""

    url: str
    title: str = ""
    description: str = ""
    fetched_ms: int = 0
    picture: MediaAttachment | None = None

    @property
    def host(self) -> str:
        """The host of the link, which no page can imitate."""
        return readable_url(self.url).partition("://")[2].partition("/")[0].removeprefix("www.")


class _MetaParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        name = (values.get("property") or values.get("name") or "").lower()
        self.values.setdefault(name, values.get("content", ""))


@lru_cache(maxsize=20_000)
def find_link(text: str) -> str | None:
    """Return the first link with http or https that leads to another site, or None."""
    own_hosts = [urlsplit(settings.SITE_URL).hostname or "", *settings.ALLOWED_HOSTS]
    for url in find_urls(text):
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            continue
        if not any(is_same_domain(host, own) for own in own_hosts):
            return url
    return None


def link_of(post: Post) -> str | None:
    return find_link(post.text) if "://" in post.text else None


def digest_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:32]


def parse_page(url: str, body: bytes, content_type: str, now_ms: int) -> tuple[LinkPreview, str]:
    """Return the preview of a page, and the address of its picture or "". Without a title it is a failure."""
    text = _decode(body, content_type)
    parser = _MetaParser()
    for number, match in enumerate(_TAG.finditer(text)):
        if number == MAX_TAGS:
            break
        parser.feed(match[0])
    texts = {part: next(filter(None, map(parser.values.get, names)), "") for part, names in NAMES.items()}
    title = _TITLE.search(text)
    preview = LinkPreview(
        url,
        _clean(texts["title"] or (html.unescape(title[1]) if title else ""), TITLE_MAX_LENGTH),
        _clean(texts["description"], DESCRIPTION_MAX_LENGTH),
        now_ms,
    )
    return preview, texts["picture"].strip()


def _decode(body: bytes, content_type: str) -> str:
    """Return the text in the character set of the header or of the page, if Python knows it, else in UTF-8."""
    for declared in filter(None, map(_CHARSET.search, (content_type.encode(), body[:4096]))):
        with suppress(LookupError):
            if (name := codecs.lookup(declared[1].decode()).name) not in _NO_CHARSETS:
                return body.decode(name, "replace")
    return body.decode(errors="replace")


def _clean(text: str, max_length: int) -> str:
    """Return a text of a page in one line, cleaned as the text of a post, or "" if that refuses it."""
    try:
        line = normalize_text(" ".join(text[: 10 * max_length].translate(_ISOLATES).split()))
    except TextRefused:
        return ""
    return line if len(line) <= max_length else line[:max_length].rstrip() + "…"
