"""Turns the HTML of a post into its text, as browsers show it (HTML Standard, "rendered text collection steps")."""

import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from timelines.importing.lines import LineRefused

TAGS_MAX = 5_000
"""The tags of a text. A tree of more, one inside the other, takes seconds."""
FORMATS_MAX = 200_000
"""The tags multiplied by those that the parser opens again in each paragraph, as the HTML Standard demands."""
FORMAT = re.compile(r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)\b", re.IGNORECASE)
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "figcaption", "figure", "footer", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "pre", "section", "table", "tr", "ul",
})  # fmt: skip
HIDDEN = frozenset({"head", "script", "style", "template", "noscript", "title", "svg", "math", "iframe", "object"})
LINE_ENDS = re.compile(r"[ \t\r\f]*\n[ \t\r\n\f]*")


def html_to_text(html: str, name_mention: Callable[[str, str], str]) -> str:
    """Return the text of a post. Its links contain their whole URLs.

    `name_mention` returns the name of the account for the text and the URL of a link that begins with "@".
    Raises LineRefused.
    """
    tags = html.count("<")
    if tags > TAGS_MAX or tags * sum(1 for _ in FORMAT.finditer(html)) > FORMATS_MAX:
        raise LineRefused("text_too_large")
    body = LexborHTMLParser(html).body
    writer = _Writer(name_mention)
    node, enters = body, True
    while body is not None and node is not None:  # no recursion: a hostile tree can be deep
        skips = writer.enter(node) if enters else writer.leave(node)
        if enters and not skips and node.child is not None:
            node = node.child
        elif enters and not skips:
            enters = False
        elif node.mem_id == body.mem_id:
            break
        elif node.next is not None:
            node, enters = node.next, True
        else:
            node, enters = node.parent, False
    return writer.text()


class _Writer:
    """Collects texts and the line ends that blocks require between them."""

    def __init__(self, name_mention: Callable[[str, str], str]) -> None:
        self._name_mention = name_mention
        self._parts: list[str] = []
        self._required = self._pre_depth = 0

    def enter(self, node: LexborNode) -> bool:
        """Write a text, or begin an element. Return True if its children are not read."""
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            self._write(text if self._pre_depth else LINE_ENDS.sub(" ", text))
        elif tag == "br":
            self._parts.append("\n")
        elif tag == "img":
            self._write(node.attributes.get("alt") or "")
        elif tag in ("td", "th"):
            self._write(" ")
        elif tag == "a":
            self._write(self._link(node))
            return True
        elif tag in HIDDEN:
            return True
        self._require(tag)
        self._pre_depth += tag == "pre"
        return False

    def leave(self, node: LexborNode) -> bool:
        self._require(node.tag or "")
        self._pre_depth -= node.tag == "pre"
        return True

    def text(self) -> str:
        lines = "".join(self._parts).split("\n")
        return "\n".join(line.rstrip(" \t\r\f") for line in lines).strip()

    def _require(self, tag: str) -> None:
        if tag == "p" or tag in BLOCKS:
            self._required = max(self._required, 2 if tag == "p" else 1)

    def _write(self, text: str) -> None:
        begins_line = self._required or not self._parts or self._parts[-1].endswith("\n")
        if begins_line and not self._pre_depth:
            text = text.lstrip(" \t\r\n\f")
        if not text:
            return
        if self._required:
            self._parts.append("\n" * self._required if self._parts else "")
            self._required = 0
        self._parts.append(text)

    def _link(self, node: LexborNode) -> str:
        """Return the text of a link, with its URL if the text is neither a part of it, a hashtag nor a mention."""
        text, url = node.text(), node.attributes.get("href") or ""
        name = LINE_ENDS.sub(" ", text).strip()
        if name.startswith("@"):
            return self._name_mention(name, url)
        is_shown = not url.startswith(("https://", "http://")) or name.startswith("#") or not name
        if is_shown or name.rstrip("/").removesuffix("…") in url.rstrip("/"):
            return url if name.endswith("…") else text
        return text if url in name else f"{name} ({url})"
