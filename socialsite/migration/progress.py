"""Progress and results of a migration, for progress bars, reports, and tests that interrupt a migrator."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

from socialsite.store.key import Key

DUMP_TRAILER_BYTES = 10  # version and checksum at the end of a DUMP, which differ between servers


@dataclass(frozen=True, slots=True)
class MigrationProgress:
    """The last completed step, its slice (-1: all slices), and the numbers of migrated and of all slices."""

    name: str
    slice_number: int
    done_slices: int
    total_slices: int


OnProgress = Callable[[MigrationProgress], None]


class CopyStatistics:
    """The number, bytes and sum of checksums of the copied keys of each key family."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.checksums: Counter[str] = Counter()

    def add(self, key: Key, dump: bytes) -> None:
        family = key_family(key)
        self.keys[family] += 1
        self.bytes[family] += len(dump)
        self.checksums[family] = (self.checksums[family] + crc32(dump[:-DUMP_TRAILER_BYTES])) % (1 << 32)


@dataclass(slots=True)
class MigrationReport:
    statistics: CopyStatistics = field(default_factory=CopyStatistics)
    migrated_slices: int = 0
    retries: int = 0
    unreported_keys: list[Key] = field(default_factory=list)
    """Keys at a source that no process reported. They were not copied; the operator must look at them."""


@dataclass(slots=True)
class RepartitionReport:
    """The result of a repartition. `edges` maps the name of each outgoing side to its number of edges."""

    edges: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    retries: int = 0


def key_family(key: Key) -> str:
    """Return the component and the words of the key's name, for example `timelines:home`."""
    words = [part for part in key.partition("}:")[2].split(":") if part.isalpha() and not _is_hex(part)]
    return ":".join((key.component, *words))


def _is_hex(part: str) -> bool:
    return len(part) >= 16 and all(character in "0123456789abcdef" for character in part)
