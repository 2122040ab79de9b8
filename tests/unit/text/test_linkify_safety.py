"""Collections of attack texts pass through the linkifier without becoming markup."""

import re

import pytest

from tests.support.hostile_input import read_naughty_strings, read_script_payloads
from tests.support.markup import Markup
from timelines.text.linkify import linkify

ADDRESS = re.compile(r"https?://[^\s\"'<>@]+(?:[/?#][^\s\"<>]*)?|/@[a-z0-9_]{1,20}/|/tags/[^/\s]+/", re.IGNORECASE)


def payloads(name: str) -> list[str]:
    return read_naughty_strings() if name == "naughty" else read_script_payloads(name)


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
