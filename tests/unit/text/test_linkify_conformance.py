"""The linkifier against twitter-text's cases; a table gives the reason for each intended difference."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from tests.support.corpora import twitter_text
from timelines.text.linkify import find_hashtags, find_mentions
from timelines.text.token_scanner import normalize_tag, scan

NO_PROTOCOL = "autolink leaves hosts without a protocol alone, extract finds them: ours links them"
T_CO = "t.co's own rules for slugs: no host is special here"
RT = "`rt@name` is a convention of old Twitter clients; elsewhere a letter before @ means an e-mail address"

EXCEPTIONS = {
    ("urls", "DO NOT Autolink url without protocol (with www)"): NO_PROTOCOL,
    ("urls", "DO NOT Autolink url without protocol (with WWW)"): NO_PROTOCOL,
    ("urls", "DO NOT Autolink URL without protocol and without www (ending in .com)"): NO_PROTOCOL,
    ("urls", "DO NOT Autolink URL without protocol and without www (ending in .gov)"): NO_PROTOCOL,
    ("urls", "DO NOT Autolink URL without protocol and without www (ending in .edu)"): NO_PROTOCOL,
    (
        "urls",
        "DO NOT Autolink URL without protocol and without www not ending in /.(edu|com|gov|org|net)/",
    ): NO_PROTOCOL,
    ("urls", "Autolink raw domain followed by domain only links the first"): NO_PROTOCOL,
    ("urls", "Autolink URL should NOT link URLs with domains beginning in a non-breaking space (U+00A0)"): NO_PROTOCOL,
    ("urls", "Autolink URL should not link URL without protocol"): NO_PROTOCOL,
    ("urls", "Autolink t.co URL followed by punctuation"): T_CO,
    ("urls", "Extract a t.co URL with a trailing apostrophe"): T_CO,
    ("urls", "Extract a t.co URL with a trailing hyphen"): T_CO,
    ("urls", "DO NOT extract URLs with > 40 characters in a t.co slug"): T_CO,
    ("urls_with_indices", "Extract t.co URLs skipping trailing characters and adjusting indices correctly"): T_CO,
    ("urls", "Extract domain followed by Japanese characters"): "bare domains are ASCII, against look-alikes",
    ("urls", "Extract long URL without protocol surrounded by CJK characters"): "a path has letters of every script",
    (
        "all",
        "Autolink @mention if followed by . and TLD",
    ): "a name with a domain is an account elsewhere, as in Mastodon",
    ("urls", "Extract URL before newline"): "`it.so` alone is taken for a file name, `it.so/abcde` is not",
    ("urls", "Valid url: port and userinfo"): "a user name dresses up another host",
    ("urls", "Valid url: ipv6"): "no IPv6 addresses",
    ("mentions", "Extract mentions after 'rt'"): RT,
    ("mentions", "Extract mentions after 'Rt'"): RT,
    ("mentions", "Extract mentions after 'rT'"): RT,
    ("mentions", "DO NOT extract username preceded by *"): "writers of Markdown emphasize names, as in Mastodon",
}

RETIRED_DOMAINS = (
    "active aigo an bl blanco bnl boots bq cartier chloe chrysler dodge doha doosan duns eh epost "
    "esurance everbank flsmidth goodhands honeywell htc iinet intel iselect iwc jlc ladbrokes lancome "
    "liaison mcd mcdonalds meo metlife mf mobily montblanc mopar movistar mtpc mutuelle nadex onion "
    "orientexpress pamperedchef panerai piaget rightathome sapo scor spiegel srt starhub statoil "
    "symantec telecity telefonica tp uconnect um vista vistaprint warman xperia zippo موبايلي 工行 手表 "
    "珠宝"
)
"""Top-level domains that IANA withdrew after the table was made, or never delegated (onion, an, um ...)."""

ANCHOR = re.compile(r"<a (?P<attributes>[^>]*?)>(?P<text>.*?)</a>", re.DOTALL)
HREF = re.compile(r'href="([^"]*)"')

Case = dict[str, Any]
Answer = tuple[Any, Any]
"""(The linkifier's result, the expected result of the case)."""


def found(text: str, kind: str) -> list[str]:
    return [piece.raw for piece in scan(text) if piece.kind == kind]


def anchors(case: Case, css_class: str) -> Iterator[tuple[str, str]]:
    """Return (address, text) of the expected anchors of a class; "" selects plain links."""
    for anchor in ANCHOR.finditer(case["expected"]):
        named = re.search(r'class="tweet-url (\w+)', anchor["attributes"])
        href = HREF.search(anchor["attributes"])
        assert href is not None
        if (named[1] if named else "") == css_class:
            yield unescape(href[1]), unescape(anchor["text"])


def once(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(values))


def autolink_answer(section: str, case: Case) -> Answer:
    urls = [href for href, _ in anchors(case, "")]
    names = once(text.lower() for _, text in anchors(case, "username"))
    tags = once(normalize_tag(text[1:]) or "" for _, text in anchors(case, "hashtag"))
    ours = (found(case["text"], "url"), find_mentions(case["text"]), find_hashtags(case["text"]))
    expected = (urls, names, tags)
    looked_at = {"urls": [0], "usernames": [1], "hashtags": [2], "all": [0, 1, 2]}[section]
    return [ours[i] for i in looked_at], [expected[i] for i in looked_at]


def extract_answer(section: str, case: Case) -> Answer:
    kind, key = {"urls": ("url", "url"), "tco": ("url", "url"), "hash": ("hashtag", "hashtag")}.get(
        section[:4].rstrip("_"), ("mention", "screen_name")
    )
    expected_texts = [one if isinstance(one, str) else one[key] for one in case["expected"]]
    skip = 0 if kind == "url" else 1
    return [raw[skip:] for raw in found(case["text"], kind)], expected_texts


def validate_answer(section: str, case: Case) -> Answer:
    kind = {"usernames": "mention", "hashtags": "hashtag"}.get(section, "url")
    return found(case["text"], kind) == [case["text"]], case["expected"]


SUITES = {
    "autolink": (autolink_answer, ["usernames", "hashtags", "urls", "all"]),
    "extract": (
        extract_answer,
        [
            "mentions",
            "mentions_with_indices",
            "urls",
            "urls_with_indices",
            "urls_with_directional_markers",
            "tco_urls_with_params",
            "hashtags",
            "hashtags_from_astral",
            "hashtags_with_indices",
        ],
    ),
    "validate": (validate_answer, ["usernames", "hashtags", "urls", "urls_without_protocol"]),
}
"""Suites omitted: lists, cash tags, replies, json and weighted lengths, which only Twitter has."""


@pytest.mark.parametrize("suite", SUITES)
def test_every_case_has_the_expected_result_or_is_in_the_table(suite: str) -> None:
    answer, sections = SUITES[suite]
    cases = twitter_text(suite)
    for section in sections:
        for case in cases[section]:
            ours, wanted = answer(section, case)
            excepted = (section, case["description"]) in EXCEPTIONS
            assert (ours == wanted) != excepted, (section, case["description"], ours, wanted)


def test_top_level_domains_of_the_table_are_known() -> None:
    cases = [case for section in twitter_text("tlds").values() for case in section]
    unknown = [case for case in cases if found(case["text"], "url") != case["expected"]]
    assert len(cases) == 1574
    retired = RETIRED_DOMAINS.split()
    assert sorted(case["text"].removeprefix("https://twitter.") for case in unknown) == sorted(retired)
