"""Partitioners: the specified slots, checked bounds, no default, even shares and little movement."""

from collections import Counter
from itertools import pairwise
from random import Random
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialsite.store.partitioners import (
    PARTITIONERS,
    ConsistentHashPartitioner,
    ModuloPartitioner,
    RangePartitioner,
    TablePartitioner,
    balanced_partitioner,
)
from socialsite.store.slots import (
    BITMAP_BYTES,
    SLOT_COUNT,
    InvalidSlotMap,
    UnassignedTag,
    decode_bitmaps,
    slot_of_tag,
)

tags = st.one_of(
    st.integers(0, 2**53).map(str),
    st.integers(0, 2**53).map(lambda number: f"l{number}"),
    st.binary(min_size=8, max_size=16).map(bytes.hex),
    st.sampled_from(["ids", "public", "outbox", "map"]),
)
counts = st.integers(1, 64)
unhurried = settings(deadline=None)  # each example creates a map of 16,384 slots
PEOPLE = [str(number) for number in range(1, 20_001)]


# Slots


@pytest.mark.parametrize(
    ("tag", "slot"),
    [
        ("book:1", 759), ("book:2", 12948), ("book:3", 8885), ("book:4", 4690), ("book", 1337),
        ("123456789", 0x31C3), ("user:bob", 2036), ("bob", 8955),
    ],
)  # fmt: skip
def test_slots_are_those_of_the_specification(tag: str, slot: int) -> None:
    assert slot_of_tag(tag) == slot


# All partitioners


@pytest.mark.parametrize("kind", PARTITIONERS)
@unhurried
@given(tag=tags, count=st.integers(1, 8))
def test_every_tag_has_exactly_one_partition(kind: str, tag: str, count: int) -> None:
    place = balanced_partitioner(kind, count).partition_of(tag)
    assert 0 <= place < count
    assert balanced_partitioner(kind, count).partition_of(tag) == place


@pytest.mark.parametrize("kind", PARTITIONERS)
@pytest.mark.parametrize("text", ["", "{", "}", "a}b", "{a}"])
def test_an_invalid_tag_is_refused(kind: str, text: str) -> None:
    with pytest.raises(UnassignedTag, match="is no tag"):
        balanced_partitioner(kind, 4).partition_of(text)


@pytest.mark.parametrize("kind", PARTITIONERS)
def test_a_map_has_at_least_one_partition(kind: str) -> None:
    with pytest.raises(ValueError, match="at least one"):
        balanced_partitioner(kind, 0)


@pytest.mark.parametrize("kind", PARTITIONERS)
@pytest.mark.parametrize("count", [2, 4, 7])
def test_shares_are_even(kind: str, count: int) -> None:
    made = balanced_partitioner(kind, count)
    shares = Counter(made.partition_of(tag) for tag in PEOPLE)
    mean = len(PEOPLE) / count
    assert set(shares) == set(range(count))
    assert max(shares.values()) <= 1.2 * mean
    assert min(shares.values()) >= 0.8 * mean


# Each partitioner


@given(tags, counts)
def test_the_modulo_partitioner_uses_crc32_of_the_tag(tag: str, count: int) -> None:
    assert ModuloPartitioner(count).partition_of(tag) == crc32(tag.encode()) % count


@unhurried
@given(st.integers(1, SLOT_COUNT))
def test_ranges_follow_each_other_without_gap_or_overlap(count: int) -> None:
    made = RangePartitioner(count)
    firsts = [made.first_slot(number) for number in range(count + 1)]
    assert (firsts[0], firsts[-1]) == (0, SLOT_COUNT)
    sizes = [after - before for before, after in pairwise(firsts)]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    for number in {0, count // 2, count - 1}:
        first, last = firsts[number], firsts[number + 1] - 1
        assert made.partition_of_slot(first) == made.partition_of_slot(last) == number
        assert first == 0 or made.partition_of_slot(first - 1) == number - 1
        assert last == SLOT_COUNT - 1 or made.partition_of_slot(last + 1) == number + 1


def test_more_ranges_than_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be cut"):
        RangePartitioner(SLOT_COUNT + 1)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 16])
def test_bitmaps_agree_with_the_ranges(count: int) -> None:
    made = RangePartitioner(count)
    assert decode_bitmaps(made.bitmaps) == [made.partition_of_slot(slot) for slot in range(SLOT_COUNT)]
    made.verify_bitmaps(made.bitmaps)


@unhurried
@given(st.integers(0, SLOT_COUNT - 1), st.integers(1, 6))
def test_one_wrong_bit_is_detected(slot: int, count: int) -> None:
    made = RangePartitioner(count)
    bitmaps = [bytearray(bitmap) for bitmap in made.bitmaps]
    bitmaps[made.partition_of_slot(slot)][slot // 8] ^= 0x80 >> slot % 8
    with pytest.raises(InvalidSlotMap, match="is not slots"):
        made.verify_bitmaps([bytes(bitmap) for bitmap in bitmaps])


@unhurried
@given(st.integers(0, 2**32))
def test_tables_contain_every_assigned_slot_and_refuse_an_unassigned_slot(seed: int) -> None:
    owners = Random(seed).choices([0, 1, 2, 3, None], k=SLOT_COUNT)
    made = TablePartitioner([[slot for slot, owner in enumerate(owners) if owner == number] for number in range(4)])
    again = TablePartitioner.from_bitmaps(made.bitmaps)
    for slot in (0, 1, 2, SLOT_COUNT // 2, SLOT_COUNT - 1):
        if owners[slot] is None:
            with pytest.raises(UnassignedTag, match=f"slot {slot} is on no list"):
                again.partition_of_slot(slot)
        else:
            assert again.partition_of_slot(slot) == owners[slot]
    assert again.unassigned_slots == [slot for slot, owner in enumerate(owners) if owner is None]


def test_a_slot_on_two_lists_or_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidSlotMap, match="slot 5 belongs to the partitions 0 and 1"):
        TablePartitioner([[4, 5], [5, 6]])
    with pytest.raises(InvalidSlotMap, match="no slot 16384"):
        TablePartitioner([[SLOT_COUNT]])
    with pytest.raises(InvalidSlotMap, match="slot 0 is in the bitmaps of partitions 0 and 1"):
        TablePartitioner.from_bitmaps([b"\x80" + bytes(BITMAP_BYTES - 1)] * 2)
    with pytest.raises(InvalidSlotMap, match="3 bytes"):
        TablePartitioner.from_bitmaps([b"abc"])


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a_ring_moves_only_the_share_of_a_new_node(count: int) -> None:
    before, after = ConsistentHashPartitioner(count), ConsistentHashPartitioner(count + 1)
    moved = 0
    for tag in PEOPLE:
        old, new = before.partition_of(tag), after.partition_of(tag)
        assert new in (old, count)
        moved += new != old
    assert moved <= 1.25 * len(PEOPLE) / (count + 1)
