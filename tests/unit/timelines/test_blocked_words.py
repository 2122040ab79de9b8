"""Blocked words match as filters of whole words do, at a small price."""

import random
import string
import time
from types import SimpleNamespace
from typing import Any

import pytest

from socialsite.site.settings import SiteSettings
from timelines.publishing.blocked_content import BlockedContent
from timelines.visibility.filter import KeywordFilter, find_filters

PHRASES = ("Casino", "easy money", "c++", "🖕", "ärger", "坏话", "don't", "a-b", "🅰️", "$5", "❤️ tea", "کتاب", "กาแฟ")
TEXTS = (
    "casino", "the CASINO!", "ｃａｓｉｎｏ", "ca\u00adsino", "casinos", "easy money", "easy  Money.", "easy, money",
    "c", "I like c++ most", "no 🖕 please", "Ärger", "arger", "说坏话了", "坏,话", "don't", "don t", "a-b", "a b", "",
    "use c++17", "great🅰️", "US$5", "US$50", "so❤️ tea", "so❤️ teas", "don’t", "كتاب", "كتابها", "ดื่มกาแฟเย็น", "กาแฟ่",
)  # fmt: skip


def content(**fields: Any) -> BlockedContent:
    return BlockedContent(site=SimpleNamespace(settings=SiteSettings(**fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_refused_if_and_only_if_a_filter_of_the_words_matches(text: str) -> None:
    filters = [KeywordFilter(1, phrase, "hide") for phrase in PHRASES]
    is_filtered = bool(find_filters(filters, text, 0))
    assert bool(content(blocked_words=PHRASES).find_reason(text)) == is_filtered


def test_five_hundred_words_cost_a_post_at_most_twenty_microseconds() -> None:
    """Compare with the word count of a text of the usual length, in CPU time, as the least of some measurements."""
    numbers = random.Random(7)
    words = tuple("".join(numbers.choices(string.ascii_lowercase, k=7)) for _ in range(500))
    blocked, text = content(blocked_words=words), "An ordinary post about the weather of this morning. " * 4
    blocked.find_reason(text)

    def measure() -> float:
        start = time.process_time_ns()
        for _ in range(1_000):
            blocked.find_reason(text)
        return (time.process_time_ns() - start) / 1e6

    assert min(measure() for _ in range(7)) < 20
