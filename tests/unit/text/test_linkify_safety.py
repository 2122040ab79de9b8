"""Collections of attack texts pass through the linkifier without becoming markup."""

import re

import pytest

from tests.support.corpora import corpus_json, corpus_text
from tests.support.markup import Markup
from timelines.text.linkify import linkify

ADDRESS = re.compile(r"https?://[^\s\"'<>@]+(?:[/?#][^\s\"<>]*)?|/@[a-z0-9_]{1,20}/|/tags/[^/\s]+/", re.IGNORECASE)


def payloads(name: str) -> list[str]:
    match name:
        case "dompurify":
            return [row["payload"] for row in corpus_json("conformance/xss/dompurify-expect.json")]
        case "h5sc":
            return [row["data"] for row in corpus_json("conformance/xss/h5sc-vectors.json")]
        case "fuzzdb":
            return corpus_text("conformance/xss/fuzzdb-xss-rsnake.txt").splitlines()
        case "fuzzdb-uri":
            return corpus_text("conformance/xss/fuzzdb-xss-uri.txt").splitlines()
    strings: list[str] = corpus_json("conformance/naughty/blns.json")
    return strings


@pytest.mark.parametrize("name", ["dompurify", "h5sc", "fuzzdb", "fuzzdb-uri", "naughty"])
def test_attacks_stay_text(name: str) -> None:
    texts = payloads(name)
    assert texts
    for text in texts:
        markup = Markup(linkify(text))
        assert markup.problems == [], text
        for anchor in markup.anchors:
            assert ADDRESS.fullmatch(anchor.attributes["href"]), text


@pytest.mark.parametrize("name", ["dompurify", "h5sc", "fuzzdb", "fuzzdb-uri", "naughty"])
def test_attacks_hidden_in_addresses_tags_and_mentions_stay_there(name: str) -> None:
    for payload in payloads(name):
        for text in (f"http://example.com/{payload}", f"#x{payload}", f"@x{payload}", f"https://{payload}.com/"):
            markup = Markup(linkify(text))
            assert markup.problems == [], text
            assert all(ADDRESS.fullmatch(anchor.attributes["href"]) for anchor in markup.anchors), text
