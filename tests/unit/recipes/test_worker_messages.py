"""The backoff of a worker and the text of a failure's reason."""

from socialsite.recipes.job_worker import MAX_REASON_LENGTH, backoff_s, format_reason


def test_the_backoff_doubles_from_50_ms_with_random_jitter() -> None:
    for attempt in range(12):
        longest = 0.05 * 2 ** min(attempt, 6)
        delays_s = [backoff_s(attempt) for _ in range(2_000)]
        assert longest / 2 <= min(delays_s) < 0.55 * longest
        assert 0.95 * longest < max(delays_s) <= longest


def test_a_reason_is_one_short_line() -> None:
    assert format_reason(ValueError("a\nb\x1b[1m \u00e9")) == r"ValueError: a\nb\x1b[1m \xe9"
    assert format_reason(RuntimeError("x" * 900)) == "RuntimeError: " + "x" * (MAX_REASON_LENGTH - 14)
    assert MAX_REASON_LENGTH == 500
