"""The composer counts the length of every text as the server does, in any script."""

import unicodedata
from itertools import islice

from tests.browser.conftest import OpenReader
from tests.support.corpora import read_posts
from tests.support.hostile_input import all_payloads, select_publishable
from tests.unit.text.test_text import grapheme_cases
from timelines.text.post_text import grapheme_count, post_length

COUNTED = """async (texts) => {
  const { graphemes } = await import('/static/js/composer.js');
  return texts.map(graphemes);
}"""
COUNTED_POSTS = COUNTED.replace("graphemes", "postLength")
MARK_OF_ORDER = {"\ufeff"}
"""White space only for a browser's trim(): at either end of a text the browser counts one less."""


def test_the_browser_counts_every_text_as_the_server_does(reader: OpenReader) -> None:
    """Texts of Unicode's test cases, every emoji, naughty strings and posts in scripts that join letters."""
    texts = [text for _, text, _ in grapheme_cases()] + select_publishable(all_payloads())
    for name in ("wisesight-thai", "nsmc-korean", "arsarcasm-arabic"):
        texts += select_publishable(row["text"] for row in islice(read_posts(name), 200))
    trimmed_texts = [text for text in texts if text == text.strip() and not MARK_OF_ORDER & {text[:1], text[-1:]}]
    assert len(trimmed_texts) > 1_500
    opened = reader()
    opened.go_to("/public/")
    counts = opened.page.evaluate(COUNTED, trimmed_texts)
    wrong = {text: number for text, number in zip(trimmed_texts, counts, strict=True) if number != ours(text)}
    assert wrong.keys() <= {"\u2701\u200d\u2701"}


def test_the_composer_counts_links_as_the_server_does(reader: OpenReader) -> None:
    path = "/wiki/" + "long_" * 20
    texts = [
        f"see https://example.org{path}.",
        f"(https://example.org{path}), HTTP://EXAMPLE.ORG{path}?a=b#c!",
        f"https://fa.example.org{path}نیم\u200cفاصله و متن",
        "http://a.co and http://a.co/",
        "https://example.org/" + "x" * 600,
        "no link: https:// or http",
        "@bob@a-long-name.example, (@b.o-b@sub.site.example) bob@site.example @bob@host @@site.example",
    ]
    opened = reader()
    opened.go_to("/public/")
    assert opened.page.evaluate(COUNTED_POSTS, texts) == [post_length(text) for text in texts]


def ours(text: str) -> int:
    return grapheme_count(unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")))
