"""The shapes of queues, and the messages of workers."""

import pytest

from socialsite.recipes.job import parse_payload
from socialsite.recipes.job_queue import DeadLetter, QueueDepth, RetryPolicy, parse_dead_letter, validated_stream_id
from socialsite.recipes.job_worker import MAX_REASON_LENGTH, backoff_s, format_reason


def test_the_number_of_tries_is_one_more_than_the_number_of_delays() -> None:
    patience = RetryPolicy(retry_delays_ms=(500, 1_000, 2_000))
    assert patience.max_tries == 4
    assert patience.redelivery_delays == "0,1000,2000"


def test_a_queue_is_empty_without_waiting_and_pending_jobs() -> None:
    assert QueueDepth(waiting=0, pending=0, dead=3, oldest_ms=0).is_empty
    assert not QueueDepth(waiting=1, pending=0, dead=0, oldest_ms=0).is_empty
    assert not QueueDepth(waiting=0, pending=1, dead=0, oldest_ms=0).is_empty


def test_a_payload_is_found_at_any_position_of_the_fields() -> None:
    assert parse_payload([b"payload", b"one", b"other", b"two"]) == b"one"
    assert parse_payload([b"other", b"two", b"payload", b"one"]) == b"one"
    assert parse_payload([b"other", b"payload"]) == b""


def test_a_dead_letter_has_its_time() -> None:
    fields = [b"job", b"17-2", b"payload", b"one", b"reason", b"no \xff", b"tries", b"5"]
    letter = parse_dead_letter("1763650440000-3", fields)
    assert letter == DeadLetter("1763650440000-3", "17-2", b"one", "no \ufffd", 5)
    assert letter.at_ms == 1_763_650_440_000


@pytest.mark.parametrize("text", ["", "1", "1-", "-1", "1-1-1", "a-b", "1-1 ", "9" * 21 + "-1"])
def test_an_invalid_dead_letter_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        validated_stream_id(text)


def test_a_valid_dead_letter_id_is_returned_unchanged() -> None:
    assert validated_stream_id("1763650440000-0") == "1763650440000-0"


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
