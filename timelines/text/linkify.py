"""Converts the text of posts to the HTML of pages; apps get other HTML (timelines/api/entities). All text is escaped.

token_scanner.py recognizes links, mentions and hashtags in linear time (tests/unit/text/test_linkify_speed.py).
"""

import re
from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from socialsite.characters import readable_url
from timelines.text.token_scanner import Piece, scan

INDEXED_HASHTAGS_CAP = 20
REL = "nofollow ugc noopener"
REL_ME = "me nofollow noopener"
"""The links of a profile, with which other sites verify that they link back."""
DISPLAY_URL_LENGTH = 40
MIN_DISPLAY_PATH_LENGTH = 16
"""A path is never shortened below this length. A host is never shortened, because its end identifies the owner."""
_SCHEME = re.compile("https?://", re.IGNORECASE)


def linkify(text: str, rel: str = REL) -> str:
    """Return the HTML of a stored text, with `<a>` for links, mentions and hashtags and `<br>` for line ends."""
    return "".join(_html(piece, rel) for piece in scan(text))


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
    _scheme, head, middle, tail = _split_url(url)
    return f"{head}…{tail}" if middle else head


def _split_url(url: str) -> tuple[str, str, str, str]:
    """Return the hidden scheme, the visible beginning, the hidden middle and the visible end of an address."""
    scheme = _SCHEME.match(url)
    start = scheme.end() if scheme else 0
    address = readable_url(url[start:])
    host, _slash, path = address.partition("/")
    max_length = max(DISPLAY_URL_LENGTH - len(host) - 1, MIN_DISPLAY_PATH_LENGTH)
    if len(path) <= max_length:
        return url[:start], address, "", ""
    tail_start, middle_start = len(address) - max_length // 3, len(host) + max_length - max_length // 3
    return url[:start], address[:middle_start], address[middle_start:tail_start], address[tail_start:]


def find_urls(text: str) -> Iterator[str]:
    """Yield the URLs of the links in a text, in order."""
    return _targets(text, "url")


def has_links(text: str) -> bool:
    """Return whether the text contains a URL."""
    return any(find_urls(text))


def _targets(text: str, kind: str) -> Iterator[str]:
    return (piece.target for piece in scan(text) if piece.kind == kind)


def _html(piece: Piece, rel: str) -> str:
    if piece.kind == "text":
        return escape(piece.raw).replace("\n", "<br>")
    if piece.kind == "url":
        return _link(piece.target, _url_label(piece.raw), "link", rel)
    if piece.kind == "mention":
        return _link(f"/@{piece.target}/", escape(piece.raw), "mention")
    return _link(f"/tags/{quote(piece.target, safe='')}/", escape(piece.raw), "hashtag")


def _url_label(url: str) -> str:
    """Return the whole address, so that a selection copies it. Style sheets hide its parts as in apps."""
    scheme, head, middle, tail = map(escape, _split_url(url))
    label = f'<span class="ellipsis">{head}</span><span class="invisible">{middle}</span>{tail}' if middle else head
    return f'<span class="invisible">{scheme}</span>{label}' if scheme else label


def _link(href: str, label: str, css_class: str, rel: str = REL) -> str:
    # An element with its own direction does not decide the direction of the text around it, which is `dir="auto"`.
    direction = ' dir="ltr"' if label.isascii() or css_class != "hashtag" else ""
    return f'<a class="{css_class}" href="{escape(href)}" rel="{rel}"{direction}>{label}</a>'
