"""The preview of a link: the choice of the link in a post, and the parser of the linked page."""

import hashlib
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.utils.http import is_same_domain

from socialsite.characters import readable_url, shorten
from timelines.posts.post import MediaAttachment, Post
from timelines.previews.page import decode_page, read_elements
from timelines.text.linkify import find_urls
from timelines.text.post_text import TextRefused, normalize_text, remove_invalid

TITLE_MAX_LENGTH, DESCRIPTION_MAX_LENGTH = 150, 300
_ISOLATES = dict.fromkeys(range(0x2066, 0x206A))  # directions of text, which apps may show unisolated
NAMES: Final = {
    "title": ("og:title", "twitter:title"),
    "description": ("og:description", "twitter:description", "description"),
    "picture": ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
}


class LinkPreview(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The title, text and picture of a link, as pages show them. A preview without a title is a failure. New fields are
    added at the end."""

    url: str
    title: str = ""
    description: str = ""
    fetched_ms: int = 0
    picture: MediaAttachment | None = None

    @property
    def host(self) -> str:
        """The host of the link, which no page can imitate."""
        return readable_url(self.url).partition("://")[2].partition("/")[0].removeprefix("www.")


@lru_cache(maxsize=2_048)
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
    title, metas = read_elements(decode_page(body, content_type))
    values: dict[str, str] = {}
    for meta in metas:
        if content := meta.get("content", "").strip():
            for name in f"{meta.get('property', '')} {meta.get('name', '')}".lower().split():  # RDFa: a list
                values.setdefault(name, content)
    texts = {part: next(filter(None, map(values.get, names)), "") for part, names in NAMES.items()}
    preview = LinkPreview(
        url,
        _clean(texts["title"] or title, TITLE_MAX_LENGTH),
        _clean(texts["description"], DESCRIPTION_MAX_LENGTH),
        now_ms,
    )
    return preview, texts["picture"]


def _clean(text: str, max_length: int) -> str:
    """Return a text of a page in one line, cleaned as the text of a post, or "" if it is invalid."""
    try:
        visible = remove_invalid(text[: 10 * max_length].translate(_ISOLATES))
        return shorten(normalize_text(" ".join(visible.split())), max_length)
    except TextRefused:
        return ""
