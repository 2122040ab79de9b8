"""NodeLookupCache caches the node of each owner and agrees with the map."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.store import Key, Node
from socialsite.store.address import Address
from socialsite.store.node_lookup import MAX_CACHED_OWNER_ID, NodeGroups, NodeLookupCache, group_by_node

NODES = [Node(Address.parse(f"redis://server:{number}")) for number in range(1, 5)]


def key_of(owner: int) -> Key:
    return Key("timelines", tag=str(owner), name="home")


class Map:
    """Assign owners to nodes in turn, shifted by `turned`; a test changes `turned` to move owners."""

    def __init__(self) -> None:
        self.turned = 0
        self.asked = 0

    def node_for(self, tag: str) -> Node:
        self.asked += 1
        return NODES[(int(tag) + self.turned) % len(NODES)]


def as_sets(groups: NodeGroups[int]) -> dict[Node, set[int]]:
    return {node: set(owners) for node, owners in groups}


@given(st.lists(st.lists(st.integers(0, 2 * MAX_CACHED_OWNER_ID), max_size=50), max_size=4))
def test_the_cache_groups_owners_as_the_map_does(passes: Sequence[list[int]]) -> None:
    places = Map()
    cache = NodeLookupCache(places.node_for)
    for owners in passes:
        assert as_sets(cache.group_by_node(owners, key_of)) == as_sets(group_by_node(places.node_for, owners, key_of))


@given(st.lists(st.integers(0, 2 * MAX_CACHED_OWNER_ID), max_size=50))
def test_owners_as_digits_are_grouped_like_their_numbers(owners: list[int]) -> None:
    places = Map()
    named = NodeLookupCache(places.node_for).group_by_node([b"%d" % owner for owner in owners], key_of)
    assert {node: {int(name) for name in names} for node, names in named} == as_sets(
        NodeLookupCache(places.node_for).group_by_node(owners, key_of)
    )


def test_the_map_is_read_once_for_each_owner_until_it_changes() -> None:
    places = Map()
    cache = NodeLookupCache(places.node_for)
    for _ in range(3):
        cache.group_by_node(range(100), key_of)
    assert places.asked == 100
    places.turned = 1
    cache.clear()
    assert as_sets(cache.group_by_node([4], key_of)) == {NODES[1]: {4}}


def test_each_kind_of_key_is_cached_separately() -> None:
    cache = NodeLookupCache(lambda tag: NODES[1 if tag.startswith("l") else 0])
    assert as_sets(cache.group_by_node([7], key_of)) == {NODES[0]: {7}}
    assert as_sets(cache.group_by_node([7], lambda owner: Key("timelines", tag=f"l{owner}", name="posts"))) == {
        NODES[1]: {7}
    }


def test_an_owner_that_occurs_twice_in_a_pass_is_returned_twice() -> None:
    cache = NodeLookupCache(lambda tag: NODES[0])
    assert [list(owners) for _, owners in cache.group_by_node([3, 3], key_of)] == [[3, 3]]


def test_no_owners_give_no_groups() -> None:
    assert NodeLookupCache(Map().node_for).group_by_node([], key_of) == []


def test_a_slot_without_a_master_raises_an_error() -> None:
    def nobody(tag: str) -> Node:
        raise LookupError(tag)

    with pytest.raises(LookupError):
        NodeLookupCache(nobody).group_by_node([1], key_of)
