"""Parse the linkifier's HTML strictly: tags, attributes, text."""

from html.parser import HTMLParser
from typing import NamedTuple


class Anchor(NamedTuple):
    attributes: dict[str, str]
    text: str


class Markup(HTMLParser):
    """The content of an HTML fragment as a parser reads it. `problems` lists what a post must not contain.

    `text` is what a selection copies, `visible_text` what style sheets show.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = self.visible_text = ""
        self._span_classes: list[str] = []
        self.anchors: list[Anchor] = []
        self.problems: list[str] = []
        self._open: dict[str, str] | None = None
        self._start = 0
        self.feed(html)
        self.close()
        if self._is_open():
            self.problems.append("unclosed a")

    def _is_open(self) -> bool:
        return self._open is not None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "br" and not attrs:
            self.text += "\n"
            self.visible_text += "\n"
        elif tag == "span" and self._is_open() and attributes.get("class") in ("invisible", "ellipsis"):
            self._span_classes.append(attributes["class"])
        elif tag == "a" and self._open is None and set(attributes) - {"dir"} == {"class", "href", "rel"}:
            self._open, self._start = attributes, len(self.text)
        else:
            self.problems.append(f"<{tag} {attributes}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "span" and self._span_classes:
            self.visible_text += "…" * (self._span_classes.pop() == "ellipsis")
            return
        if tag != "a" or self._open is None or self._span_classes:
            self.problems.append(f"</{tag}>")
            return
        self.anchors.append(Anchor(self._open, self.text[self._start :]))
        self._open = None

    def handle_data(self, data: str) -> None:
        self.text += data
        self.visible_text += "" if self._span_classes[-1:] == ["invisible"] else data

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"<?{data}>")
