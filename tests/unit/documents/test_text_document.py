"""docs/reference/text.md has the numbers of cases and exceptions of the conformance tests."""

import re
from pathlib import Path

from tests.support.corpora import corpus_json, corpus_text, twitter_text
from tests.support.hostile_input import COLLECTIONS, read_naughty_strings, read_script_payloads
from tests.unit.text.test_linkify_conformance import EXCEPTIONS, RETIRED_DOMAINS, SUITES
from tests.unit.text.test_text import CHANGED_SINCE_15_0, grapheme_cases

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "text.md").read_text()


def row(start: str) -> list[str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_counts_cases_and_exceptions_as_the_tests_do() -> None:
    for suite, (_, sections) in SUITES.items():
        cases = twitter_text(suite)
        all_of = [(section, case["description"]) for section in sections for case in cases[section]]
        excepted = [each for each in all_of if each in EXCEPTIONS]
        assert row(f"twitter-text {suite}")[1:3] == [str(len(all_of)), str(len(excepted))], suite
    tlds = sum(len(section) for section in twitter_text("tlds").values())
    assert row("twitter-text tlds")[1:3] == [f"{tlds:,}", str(len(RETIRED_DOMAINS.split()))]
    assert row("Unicode GraphemeBreakTest")[1:3] == [str(len(grapheme_cases())), str(len(CHANGED_SINCE_15_0))]
    emoji = re.findall(r"^[0-9A-F].*;", corpus_text("conformance/unicode/emoji-test-16.txt.gz"), re.MULTILINE)
    assert row("Unicode emoji-test")[1] == f"{len(emoji):,}"
    hostile = sum(len(read_script_payloads(name)) for name in COLLECTIONS) + len(read_naughty_strings())
    assert row("DOMPurify")[1] == str(hostile)
    assert corpus_json("conformance/handles/reserved-usernames.json")
    assert all(rule in PAGE for rule in CHANGED_SINCE_15_0)
