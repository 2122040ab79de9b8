"""Texts of both directions, and links in them, as Chromium sets and copies them."""

import pytest

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.visitor import HttpVisitor

STOPS_JS = """(text) => {
  const stops = [];
  const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode, range = document.createRange();
    for (const match of node.data.matchAll(/(\\p{L})\\.(?=\\s|$)/gu)) {
      const [letter, stop] = [0, match[1].length].map((offset) => {
        range.setStart(node, match.index + offset);
        range.setEnd(node, match.index + offset + 1);
        return range.getBoundingClientRect().x;
      });
      stops.push(stop < letter ? "rtl" : "ltr");
    }
  }
  return stops;
}"""
"""The direction of each line that ends with a full stop: on which side of the last letter the stop is."""
COPY_JS = "(text) => { getSelection().selectAllChildren(text); return getSelection().toString(); }"
ARABIC = "مرحبا بالعالم."


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        ("{me} " + ARABIC, ["rtl"]),
        ("#tag " + ARABIC, ["rtl"]),
        ("https://example.org/path " + ARABIC, ["rtl"]),
        (f"Hello.\n{ARABIC}\nHello again.\n{ARABIC}", ["ltr", "rtl", "ltr", "rtl"]),
        (f"{ARABIC}\n{{me}} hello.", ["rtl", "ltr"]),
        ("123 - " + ARABIC, ["rtl"]),
    ],
)
def test_each_line_of_a_post_has_the_direction_of_its_words(
    reader: OpenReader, own: HttpVisitor, text: str, directions: list[str]
) -> None:
    post = own.publishes(text.format(me=f"@{own.handle}"))
    opened = reader()
    opened.go_to(post["url"])
    assert opened.page.locator(".post-text").first.evaluate(STOPS_JS) == directions


def test_each_line_of_every_text_of_a_person_has_its_own_direction(reader: OpenReader, own: HttpVisitor) -> None:
    """The rule is one for all elements with dir="auto": profiles, quotes, announcements, reports, versions."""
    opened = reader(own)
    opened.go_to(f"/@{own.handle}/")
    texts = opened.page.evaluate(
        """() => ["p", "div", "span", "li"].map((name) => {
          const element = document.createElement(name);
          element.dir = "auto";
          document.querySelector("main").append(element);
          return getComputedStyle(element).unicodeBidi;
        })"""
    )
    assert texts == ["plaintext"] * 4


def test_a_selection_copies_whole_links(reader: OpenReader, visitor: SignUpVisitor) -> None:
    url = "https://example.org/a/very/long/path/to/the/end/of/this/page?with=query#frag"
    text = f"see {url}, http://a.org/x and example.org/{'y' * 60}."
    post = visitor().publishes(text)
    opened = reader()
    opened.go_to(post["url"])
    shown = opened.page.locator(".post-text").first
    assert shown.evaluate(COPY_JS) == text
    link = shown.locator("a").first
    assert link.evaluate("(link) => getComputedStyle(link.firstElementChild).fontSize") == "0px"
    assert link.evaluate("(link) => getComputedStyle(link.children[1], '::after').content") == '"…"'
    assert (link.bounding_box() or {})["width"] < 40 * 16


@pytest.mark.parametrize("width", [390, 1280])
def test_names_and_handles_are_beside_each_other_at_the_start_of_an_arabic_page(
    reader: OpenReader, own: HttpVisitor, width: int
) -> None:
    own.publishes("words of a name in Latin letters")
    opened = reader(own, viewport={"width": width, "height": 800}, locale="ar")
    opened.go_to(f"/@{own.handle}/")
    gaps = opened.page.locator("article .post-author").first.evaluate(
        """(author) => {
          const boxOf = (element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            return range.getBoundingClientRect();
          };
          const [name, handle] = [...author.children].map(boxOf);
          return [author.getBoundingClientRect().right - name.right, name.left - handle.right];
        }"""
    )
    assert gaps[0] < 2, gaps
    assert gaps[1] < 16, gaps
