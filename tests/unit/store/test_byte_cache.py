"""A cache that is bounded in bytes keeps what was used lately, and never more than its bytes."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.byte_cache import ByteCache, byte_cached

VALUES = st.tuples(st.integers(0, 30), st.integers(0, 3_000))


@given(steps=st.lists(VALUES, max_size=200), max_bytes=st.sampled_from([0, 1_000, 10_000]))
def test_the_values_of_a_cache_have_at_most_its_bytes(steps: list[tuple[int, int]], max_bytes: int) -> None:
    cache: ByteCache[int, bytes] = ByteCache(max_bytes, len, entry_bytes=100)
    stored: dict[int, bytes] = {}
    for number, size in steps:
        if cache.get(number) is None:
            stored[number] = bytes(size)
            cache.put(number, stored[number])
        kept = cache._old | cache._new
        assert all(kept[key] is stored[key] for key in kept)
        assert len(cache) == len(kept)
        assert sum(len(value) + 100 for value in kept.values()) <= max_bytes


def test_a_value_that_is_used_stays_while_others_are_dropped() -> None:
    cache: ByteCache[int, bytes] = ByteCache(10_000, len, entry_bytes=0)
    cache.put(0, b"used")
    for number in range(1, 100):
        cache.put(number, bytes(1_000))
        assert cache.get(0) == b"used"
    assert cache.get(1) is None
    assert cache.get(99) is not None


def test_a_dropped_or_too_large_value_is_not_in_the_cache() -> None:
    cache: ByteCache[str, bytes] = ByteCache(10_000, len, entry_bytes=0)
    cache.put("small", b"1")
    cache.put("large", bytes(5_001))
    assert len(cache) == 1
    cache.drop("small")
    cache.drop("large")
    assert len(cache) == 0


def test_a_cached_function_is_called_again_when_its_result_was_dropped() -> None:
    calls: list[tuple[str, int]] = []

    @byte_cached(4_000, entry_bytes=0)
    def repeat(text: str, times: int) -> str:
        calls.append((text, times))
        return text * times

    assert repeat("ab", 500) == repeat("ab", 500) == "ab" * 500
    assert repeat("", 1) == repeat("", 1) == ""
    assert calls == [("ab", 500), ("", 1)]
    for times in range(1_500, 1_510):
        repeat("a", times)
    repeat("ab", 500)
    assert calls.count(("ab", 500)) == 2


@pytest.mark.parametrize("letter", ["a", "é", "ก", "🙂"])
def test_the_results_and_texts_of_a_cached_function_take_at_most_the_bytes_of_the_cache(letter: str) -> None:
    @byte_cached(1_000_000)
    def decorate(number: int, text: str) -> str:
        return f"<p>{text}{number}</p>"

    tracemalloc.start()
    try:
        for number in range(5_000):
            decorate(10**15 + number, letter * 300 + str(number))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 250_000 < used < 1_000_000


def test_a_keyword_argument_is_refused_because_it_would_not_be_part_of_the_key() -> None:
    @byte_cached(4_000)
    def double(text: str) -> str:
        return text * 2

    with pytest.raises(TypeError):
        double(text="a")
