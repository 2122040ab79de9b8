"""Heads of cached timelines, and the encoded pushes of a pass."""

import pytest

from socialsite.ids import PostId, id_at
from socialsite.store.errors import CommandRefused
from timelines import keys
from timelines.cached_timelines.delivery import encode_for_owners, encode_pushes, require_length, shortest_first
from timelines.cached_timelines.repository import parse_cached_head
from timelines.cached_timelines.spec import MAX_DISORDER_MS


def test_the_order_of_a_head_is_trusted_only_above_the_margin() -> None:
    """Two pushes can be stored in the wrong order if their ids are less than 5 s apart."""
    oldest, early, late = (id_at(1_900_000_000_000 + ms) for ms in (0, 2000, 5000))
    part = parse_cached_head([b"%d" % early, b"%d" % late, b"%d" % oldest], b"-0")
    assert part.ids == (late, early, oldest)
    assert not part.is_whole
    believed = [post_id for post_id in part.ids if post_id >= part.settled_id]
    assert believed == [late]
    assert part.settled_id == oldest + (MAX_DISORDER_MS << 12)


def test_repeats_and_ids_below_the_floor_are_dropped_by_the_reader() -> None:
    part = parse_cached_head([b"9", b"7", b"9", b"3", b"-4"], b"-4")
    assert part.ids == (9, 7)
    assert part.is_whole


def test_an_entry_at_the_floor_is_below_the_floor() -> None:
    """The floor is the newest id that was left out of the cache; the profile returns it next."""
    assert parse_cached_head([b"9", b"4"], b"-4").ids == (9,)
    assert parse_cached_head([b"4", b"9", b"3"], b"-4").ids == (9,)


def test_a_whole_timeline_has_no_unsettled_ids() -> None:
    assert parse_cached_head([b"9", b"7", b"-4"], b"-4").settled_id == 0
    assert parse_cached_head([b"-4"], b"-4").settled_id == 0
    assert parse_cached_head([], b"-4").settled_id == 0


def test_an_error_in_place_of_a_length_is_raised() -> None:
    assert require_length(7) == 7
    refusal = CommandRefused("ERR no")
    with pytest.raises(CommandRefused) as caught:
        require_length(refusal)
    assert caught.value is refusal


def test_the_key_patterns_of_passes_produce_the_keys() -> None:
    assert keys.home_timeline(42).encode() == keys.HOME_TIMELINE_KEY_PATTERN % 42
    assert keys.list_timeline(7).encode() == keys.LIST_TIMELINE_KEY_PATTERN % 7


def test_a_pass_is_encoded_in_the_redis_protocol() -> None:
    payload = encode_pushes(keys.HOME_TIMELINE_KEY_PATTERN, shortest_first([b"7", b"1234", b"8"]), PostId(99))
    first = b"*3\r\n$6\r\nLPUSHX\r\n$18\r\ntimelines:{7}:home\r\n$2\r\n99\r\n"
    second = b"*3\r\n$6\r\nLPUSHX\r\n$21\r\ntimelines:{1234}:home\r\n$2\r\n99\r\n"
    assert payload == first + first.replace(b"{7}", b"{8}") + second


def test_deletions_are_encoded_like_a_pass() -> None:
    payload = encode_for_owners(b"*2\r\n$3\r\nDEL\r\n", keys.LIST_TIMELINE_KEY_PATTERN, [b"7", b"8", b"12"])
    assert payload == b"".join(
        b"*2\r\n$3\r\nDEL\r\n$%d\r\n%b\r\n" % (len(key), key)
        for key in (keys.list_timeline(number).encode() for number in (7, 8, 12))
    )
