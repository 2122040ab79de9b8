"""The one place where a post's text becomes HTML: every piece is escaped, links are made of what was scanned.

Which strings are links, mentions and hashtags is said in scanning.py, in time linear in the text
(tests/unit/text/test_linkify_speed.py holds it to that); this module only writes them.
"""

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from timelines.text.token_scanner import Piece, scan

REL = "nofollow ugc noopener"
SHOWN_URL_LENGTH = 40
SHOWN_PATH_LENGTH = 16
"""A path is not cut below this, however long the host is. The host is never cut: its end says whose it is."""


def linkify(text: str) -> str:
    """The HTML of a stored text: escaped; `<a>` for links, mentions and hashtags, `<br>` for line ends."""
    return "".join(_html(piece) for piece in scan(text))


def mentions(text: str) -> list[str]:
    """The handles mentioned, normalized, each once, in the order of the text. They need not exist."""
    return list(dict.fromkeys(_targets(text, "mention")))


def hashtags(text: str) -> list[str]:
    """The tags of the text as they stand in `/tags/<tag>/`, each once, in the order of the text."""
    if "#" not in text and "＃" not in text:
        return []
    return list(dict.fromkeys(_targets(text, "hashtag")))


def shown_url(url: str) -> str:
    """How a link reads: no scheme, a long path cut in its middle."""
    bare = url.partition("://")[2] or url
    host, slash, path = bare.partition("/")
    room = max(SHOWN_URL_LENGTH - len(host) - 1, SHOWN_PATH_LENGTH)
    if len(path) <= room:
        return bare
    tail = room // 3
    return f"{host}{slash}{path[: room - tail - 1]}…{path[-tail:]}"


def has_links(text: str) -> bool:
    """Whether the text has a link to the web; mentions and hashtags are none."""
    return any(_targets(text, "url"))


def _targets(text: str, kind: str) -> Iterator[str]:
    return (piece.target for piece in scan(text) if piece.kind == kind)


def _html(piece: Piece) -> str:
    if piece.kind == "text":
        return escape(piece.raw).replace("\n", "<br>")
    if piece.kind == "url":
        return _link(piece.target, shown_url(piece.raw), "link")
    if piece.kind == "mention":
        return _link(f"/@{piece.target}/", piece.raw, "mention")
    return _link(f"/tags/{quote(piece.target, safe='')}/", piece.raw, "hashtag")


def _link(href: str, shown: str, css_class: str) -> str:
    return f'<a class="{css_class}" href="{escape(href)}" rel="{REL}">{escape(shown)}</a>'
