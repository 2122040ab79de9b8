"""Turns the HTML of a post into its text, as browsers show it (HTML Standard, "rendered text collection steps")."""

import re
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from timelines.importing.lines import LineRefused

TAGS_MAX = 5_000
"""The tags of a text. A tree of more, one inside the other, takes seconds."""
FORMATS_MAX = 200_000
"""The most tags, multiplied by the number of FORMAT tags: the parser opens these again in each paragraph."""
FORMAT = re.compile(r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)\b", re.IGNORECASE)
BLOCKS = (
    "address, article, aside, blockquote, dd, div, dl, dt, figcaption, figure, footer, h1, h2, h3, h4, h5, h6, header, "
    "hr, li, main, nav, ol, section, table, tr, ul"
)
HIDDEN = "script, style, template, noscript, title, svg, math, iframe, object"
BREAK, BLOCK, PARAGRAPH, SPACE = "\x01", "\x02", "\x03", "\x04"
"""Placeholders for line ends, and for a space that is kept. The HTML is read without these characters."""
MARKS = dict.fromkeys(range(1, 5))
LINE_END = re.compile(r"[ \t\r\f]*\n[ \t\r\n\f]*")
GAP = re.compile(r"[ \t\f]*[\x01-\x03][\x01-\x03 \t\f]*")


def html_to_text(html: str, name_mention: Callable[[str, str], str]) -> str:
    """Return the text of a post. Its links contain their whole URLs.

    `name_mention` returns the name of the account for the text and the URL of a link that begins with "@".
    Raises LineRefused.
    """
    tags = html.count("<")
    if tags > TAGS_MAX or tags * sum(1 for _ in FORMAT.finditer(html)) > FORMATS_MAX:
        raise LineRefused("text_too_large")
    body = LexborHTMLParser(html.translate(MARKS)).body
    if body is None:
        return ""
    for node in _outermost(body, HIDDEN):
        node.decompose()
    for tag, text in (("img", ""), ("br", BREAK)):
        for node in body.css(tag):
            node.replace_with(node.attributes.get("alt") or text)
    for node in _outermost(body, "a"):
        node.replace_with(_link(node, name_mention))
    for node in _outermost(body, "pre"):
        node.replace_with(BLOCK + node.text().replace("\n", BREAK).replace(" ", SPACE) + BLOCK)
    for node in body.css("td, th"):
        node.insert_before(" ")
    for selector, mark in ((BLOCKS, BLOCK), ("p", PARAGRAPH)):
        for node in body.css(selector):
            node.insert_before(mark)
            node.insert_after(mark)
    return GAP.sub(_line_ends, LINE_END.sub(" ", body.text())).replace(SPACE, " ").strip()


def _outermost(body: LexborNode, selector: str) -> Iterator[LexborNode]:
    """Yield the first matching element until none is left. The caller removes each element with its content."""
    while (node := body.css_first(selector)) is not None:
        yield node


def _line_ends(gap: re.Match[str]) -> str:
    return "\n" * max(gap[0].count(BREAK), 2 if PARAGRAPH in gap[0] else 1)


def _link(node: LexborNode, name_mention: Callable[[str, str], str]) -> str:
    """Return the text of a link. Its URL follows, unless the text is a part of it, a hashtag or a mention."""
    text, url = node.text(), node.attributes.get("href") or ""
    name = LINE_END.sub(" ", text).strip()
    if name.startswith("@"):
        return name_mention(name, url)
    is_shown = not url.startswith(("https://", "http://")) or name.startswith("#") or not name
    if is_shown or name.rstrip("/").removesuffix("…") in url.rstrip("/"):
        return url if name.endswith("…") else text
    return text if url in name else f"{name} ({url})"
