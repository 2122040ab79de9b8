"""What both imports share: the lines of a file, plain or gzipped, as a stream, and a tally of their fates."""

import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

GZIP_MAGIC = b"\x1f\x8b"
LINE_BYTES_CAP = 1 << 20

Item = TypeVar("Item")
OnRefused = Callable[[int, str], None]
OnBytes = Callable[[int], None]


class LineRefused(ValueError):
    """A line that cannot be imported; `reason` is a short code, counted and reported."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def ignore_refused(number: int, reason: str) -> None:
    """Nobody wants the single lines."""


def ignore_bytes(position: int) -> None:
    """Nobody watches."""


@dataclass(slots=True)
class Tally:
    """What became of the lines. `on_refused` hears of each refused one (number from 1, reason)."""

    on_refused: OnRefused = ignore_refused
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def refuse(self, number: int, reason: str) -> None:
        self.refused[reason] += 1
        self.on_refused(number, reason)


@dataclass(frozen=True, slots=True)
class LineFile:
    """A file of lines. `on_bytes` hears how far into it (as it lies on the disk) reading has come."""

    path: Path
    on_bytes: OnBytes = ignore_bytes

    def lines(self, tally: Tally) -> Iterator[tuple[int, bytes]]:
        """(number, line) without blank lines and `#` comments; overlong ones are refused unread.

        Raises OSError, EOFError or zlib.error where the file cannot be read to its end.
        """
        with self.path.open("rb") as raw, _unpacked(raw) as stream:
            number = 0
            while line := stream.readline(LINE_BYTES_CAP):
                number += 1
                if number % 1000 == 0:
                    self.on_bytes(raw.tell())
                if len(line) == LINE_BYTES_CAP and not line.endswith(b"\n"):
                    _skip_line(stream)
                    tally.refuse(number, "line_too_long")
                elif (line := line.strip()) and not line.startswith(b"#"):
                    yield number, line
            self.on_bytes(raw.tell())


def _unpacked(raw: BinaryIO) -> BinaryIO:
    magic = raw.read(2)
    raw.seek(0)
    if magic == GZIP_MAGIC:
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=raw)))
    return raw


def _skip_line(stream: BinaryIO) -> None:
    while (piece := stream.readline(LINE_BYTES_CAP)) and not piece.endswith(b"\n"):
        pass
