"""Reads the lines of a plain or gzipped import file as a stream, and counts the results."""

import gzip
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import BinaryIO, cast

import msgspec

from socialsite.errors import ApiError

TEXT_MAX_LENGTH = 256 * 1024
"""The longest text that is parsed, with tags and before URLs become longer."""
GZIP_MAGIC = b"\x1f\x8b"
LINE_BYTES_CAP = 1 << 20
REASONS_CAP = 30
_QUOTED = re.compile(r"'.*'", re.DOTALL)


ROW_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, msgspec.MsgspecError)
"""Errors of one odd row, which is refused. Errors of the store, of the disk and of the file end the import."""


class LineRefused(ValueError):
    """A line cannot be imported. `reason` is a short code, which is counted and reported."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def check_length(text: str) -> str:
    """Return the text. Raises LineRefused if it is too long to be parsed."""
    if len(text) > TEXT_MAX_LENGTH:
        raise LineRefused("text_too_large")
    return text


class SliceEnded(Exception):
    """The time of a job is over. Another job continues after the row `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class Tally:
    """Counts the results.

    `on_refused` is called for each refused line with its number (from 1) and the reason. It may raise SliceEnded.
    """

    on_refused: Callable[[int, str], None] = lambda number, reason: None
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    """Why rows were refused for their fields, without values of the rows."""

    def refuse(self, number: int, reason: str) -> None:
        self.refused[reason] += 1
        if reason != "repeated_id" and not reason.startswith("picture_"):  # the line was read
            self.on_refused(number, reason)

    def refuse_row(self, number: int, error: Exception) -> None:
        """Refuse a row. The reason is that of a LineRefused, the code of an ApiError, or else "fields"."""
        reason = "fields"
        if isinstance(error, LineRefused | ApiError):
            reason = error.reason if isinstance(error, LineRefused) else error.code
        if reason == "fields" and len(self.causes) < REASONS_CAP:
            self.causes[_describe(error.__cause__ or error)] += 1
        self.refuse(number, reason)

    def stored(self) -> dict[str, dict[str, int]]:
        """Return the counts as fields of a transfer or of its job."""
        return {"counts": dict(self.counts), "refused": dict(self.refused.most_common(REASONS_CAP))}


def _describe(error: BaseException) -> str:
    if isinstance(error, msgspec.MsgspecError):
        return _QUOTED.sub("'…'", str(error))
    *_, (frame, line) = walk_tb(error.__traceback__)
    return f"{type(error).__name__} in {frame.f_code.co_name}, line {line}"


@dataclass(frozen=True, slots=True)
class LineFile:
    """A file of lines, whose pictures are in the folder `pictures`.

    `on_bytes` is called with the number of bytes read from the disk so far.
    """

    path: Path
    on_bytes: Callable[[int], None] = lambda position: None
    pictures: Path | None = None

    def read_picture(self, name: str) -> bytes | None:
        """Return the bytes of a picture, or None if the file has no folder of pictures."""
        return None if self.pictures is None else (self.pictures / name).read_bytes()

    def lines(self, tally: Tally, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number, line) after `offset`, without blank lines and `#` comments.

        Overlong lines are refused and not kept in memory. Raises OSError, EOFError or zlib.error if the file cannot be
        read to its end.
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
                elif (line := line.strip()) and number > offset and not line.startswith(b"#"):
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
