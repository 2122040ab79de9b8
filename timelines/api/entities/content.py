"""Converts texts to the HTML of Mastodon: only p, br, span and a, with its classes.

Clients find mentions and hashtags in the HTML by the URLs of the entity's `mentions` and `tags`. All text is escaped.
"""

import re
from collections.abc import Collection
from html import escape

from timelines.pages.presenters import hashtag_url, profile_url
from timelines.text.token_scanner import Piece, scan

SHOWN_LENGTH = 30
"""The number of characters of a URL that are shown."""
REL = "nofollow noopener"
PARAGRAPHS = re.compile(r"\n{2,}")


def content_html(text: str, site_url: str, handles: Collection[str] = ()) -> str:
    """Return the text as HTML. A mention of a handle that is not in `handles` is no link."""
    if not text:
        return ""
    inline = inline_html(text, site_url, handles)
    paragraphs = (part.replace("\n", "<br>") for part in PARAGRAPHS.split(inline))
    return "".join(f"<p>{part}</p>" for part in paragraphs)


def inline_html(text: str, site_url: str, handles: Collection[str] = (), rel: str = REL) -> str:
    """Return the text as HTML without elements for paragraphs and line ends."""
    return "".join(_piece_html(piece, site_url, handles, rel) for piece in scan(text))


def link_html(url: str, rel: str = REL) -> str:
    """Return a link that hides its scheme and its end; a selection copies them. It never hides the host."""
    scheme, separator, rest = url.partition("://")
    end = max(SHOWN_LENGTH, len(rest.partition("/")[0]) + 1)
    shown, hidden = escape(rest[:end]), escape(rest[end:])
    text = f'<span class="ellipsis">{shown}</span><span class="invisible">{hidden}</span>' if hidden else shown
    label = f'<span class="invisible">{escape(scheme + separator)}</span>{text}'
    return f'<a href="{escape(url)}" rel="{rel}" target="_blank" translate="no">{label}</a>'


def _piece_html(piece: Piece, site_url: str, handles: Collection[str], rel: str) -> str:
    raw = escape(piece.raw)
    if piece.kind == "url":
        return link_html(piece.target, rel)
    if piece.kind == "mention" and piece.target in handles:
        url = escape(site_url + profile_url(piece.target))
        label = f"@<span>{escape(piece.target)}</span>"
        return f'<span class="h-card" translate="no"><a href="{url}" class="u-url mention">{label}</a></span>'
    if piece.kind == "hashtag":
        url = escape(site_url + hashtag_url(piece.target))
        return f'<a href="{url}" class="mention hashtag" rel="tag">#<span>{raw[1:]}</span></a>'
    return raw
