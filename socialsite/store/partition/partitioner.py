"""What every partitioner is, and what it says to a tag that has no place."""

from typing import Protocol


class UnassignedTag(LookupError):
    """The map gives this tag or slot to nobody."""


class Partitioner(Protocol):
    """Where tags go. `partition_of` answers 0 .. count-1 or raises Unassigned."""

    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    def partition_of(self, tag: str) -> int: ...


def validated_tag(tag: str) -> bytes:
    """The bytes of a tag. Refuses what a server would not take for one: nothing, or with a brace in it.

    Such a key would be placed by its whole name on a cluster and by its tag here.
    """
    if not tag or "{" in tag or "}" in tag:
        raise UnassignedTag(f"{tag!r} is no tag, so no partition can be chosen for it")
    return tag.encode()


def require_positive_count(count: int) -> int:
    if count < 1:
        raise ValueError(f"a map needs at least one partition, not {count}")
    return count
