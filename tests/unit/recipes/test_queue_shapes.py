"""What a queue hands out, and what it waits for: pure shapes and their parsing."""

import pytest

from socialsite.recipes.job_queue import (
    DeadLetter,
    QueueDepth,
    RetryPolicy,
    parse_dead_letter,
    parse_payload,
    validated_stream_id,
)


def test_a_try_comes_after_each_wait_and_one_before_them() -> None:
    patience = RetryPolicy(retry_delays_ms=(500, 1_000, 2_000))
    assert patience.max_tries == 4
    assert patience.redelivery_delays == "0,1000,2000"


def test_a_queue_is_empty_when_nothing_waits_and_nothing_is_under_way() -> None:
    assert QueueDepth(waiting=0, pending=0, dead=3, oldest_ms=0).is_empty
    assert not QueueDepth(waiting=1, pending=0, dead=0, oldest_ms=0).is_empty
    assert not QueueDepth(waiting=0, pending=1, dead=0, oldest_ms=0).is_empty


def test_a_payload_is_found_wherever_it_stands() -> None:
    assert parse_payload([b"payload", b"one", b"other", b"two"]) == b"one"
    assert parse_payload([b"other", b"two", b"payload", b"one"]) == b"one"
    assert parse_payload([b"other", b"payload"]) == b""


def test_a_dead_letter_says_when_it_was_buried() -> None:
    fields = [b"job", b"17-2", b"payload", b"one", b"reason", b"no \xff", b"tries", b"5"]
    letter = parse_dead_letter("1763650440000-3", fields)
    assert letter == DeadLetter("1763650440000-3", "17-2", b"one", "no \ufffd", 5)
    assert letter.at_ms == 1_763_650_440_000


@pytest.mark.parametrize("text", ["", "1", "1-", "-1", "1-1-1", "a-b", "1-1 ", "9" * 21 + "-1"])
def test_what_is_no_id_of_a_letter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        validated_stream_id(text)


def test_an_id_stays_as_it_is() -> None:
    assert validated_stream_id("1763650440000-0") == "1763650440000-0"
