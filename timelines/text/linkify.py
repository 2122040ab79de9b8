"""Converts the text of posts to the HTML of pages; apps get that of timelines/api/entities. All text is escaped.

token_scanner.py recognizes links, mentions and hashtags in linear time (tests/unit/text/test_linkify_speed.py).
"""

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from socialsite.characters import readable_url
from timelines.text.token_scanner import Piece, scan

INDEXED_HASHTAGS_CAP = 20
REL = "nofollow ugc noopener"
DISPLAY_URL_LENGTH = 40
MIN_DISPLAY_PATH_LENGTH = 16
"""A path is never shortened below this length. A host is never shortened, because its end identifies the owner."""


def linkify(text: str) -> str:
    """Return the HTML of a stored text, with `<a>` for links, mentions and hashtags and `<br>` for line ends."""
    return "".join(_html(piece) for piece in scan(text))


def find_mentions(text: str) -> list[str]:
    """Return the mentioned handles in lower case, without duplicates, in order. The accounts may not exist."""
    return list(dict.fromkeys(_targets(text, "mention")))


def find_hashtags(text: str) -> list[str]:
    """Return the first INDEXED_HASHTAGS_CAP normalized hashtags of a text, without duplicates.

    The cap limits the memory of a post, since each hashtag takes about 350 bytes in the store.
    """
    return find_all_hashtags(text)[:INDEXED_HASHTAGS_CAP]


def find_all_hashtags(text: str) -> list[str]:
    """Return all hashtags of a text. An earlier release indexed posts under all of them."""
    if "#" not in text and "＃" not in text:
        return []
    return list(dict.fromkeys(_targets(text, "hashtag")))


def display_url(url: str) -> str:
    """Return the text that a link shows: no scheme, a readable host, and a long path without its middle."""
    address = readable_url(url.partition("://")[2] or url)
    host, slash, path = address.partition("/")
    max_length = max(DISPLAY_URL_LENGTH - len(host) - 1, MIN_DISPLAY_PATH_LENGTH)
    if len(path) <= max_length:
        return address
    tail_length = max_length // 3
    return f"{host}{slash}{path[: max_length - tail_length - 1]}…{path[-tail_length:]}"


def find_urls(text: str) -> Iterator[str]:
    """Yield the URLs of the links in a text, in order."""
    return _targets(text, "url")


def has_links(text: str) -> bool:
    """Return whether the text contains a URL."""
    return any(find_urls(text))


def _targets(text: str, kind: str) -> Iterator[str]:
    return (piece.target for piece in scan(text) if piece.kind == kind)


def _html(piece: Piece) -> str:
    if piece.kind == "text":
        return escape(piece.raw).replace("\n", "<br>")
    if piece.kind == "url":
        return _link(piece.target, display_url(piece.raw), "link")
    if piece.kind == "mention":
        return _link(f"/@{piece.target}/", piece.raw, "mention")
    return _link(f"/tags/{quote(piece.target, safe='')}/", piece.raw, "hashtag")


def _link(href: str, label: str, css_class: str) -> str:
    # An element with its own direction does not decide the direction of the text around it, which is `dir="auto"`.
    direction = ' dir="ltr"' if label.isascii() or css_class != "hashtag" else ""
    return f'<a class="{css_class}" href="{escape(href)}" rel="{REL}"{direction}>{escape(label)}</a>'
