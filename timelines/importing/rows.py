"""One row of a posts file (JSON lines), checked: what it says, when, by whom, and why it is refused."""

import hashlib
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from socialsite.ids import EPOCH_MS, SEQUENCE_MASK, PostId, id_at
from timelines.importing.lines import LineRefused
from timelines.text.post_text import TextRefused, check_post_text

HANDLE_LENGTH_CAP = 20
SOURCE_ID_CAP = 200
_NOT_IN_HANDLES = re.compile(r"[^a-z0-9_]")


class _Row(msgspec.Struct):
    id: str | int
    author: str
    created_at: str
    text: str
    in_reply_to: str | int | None = None


class _AuthorOfRow(msgspec.Struct):
    author: str = ""


class _DateOfRow(msgspec.Struct):
    created_at: str = ""


_decoder = msgspec.json.Decoder(_Row)
_author_decoder = msgspec.json.Decoder(_AuthorOfRow)
_date_decoder = msgspec.json.Decoder(_DateOfRow)


@dataclass(frozen=True, slots=True)
class PostRow:
    """A row that can become a post. `handle` is the author's, `reply_to` the source id of the parent."""

    number: int
    source_id: str
    handle: str
    at_ms: int
    text: str
    reply_to: str | None

    @property
    def wanted_id(self) -> PostId:
        """The id the row asks for: its time, and low bits from its source, the same in every run.

        Never 0, which has no sign and lies on the edge that pages begin at.
        """
        digest = hashlib.sha256(self.source_id.encode()).digest()
        return max(id_at(self.at_ms, int.from_bytes(digest[-2:]) & SEQUENCE_MASK), PostId(1))


@dataclass(frozen=True, slots=True)
class RowRules:
    """`shift_ms` is added to every time; `latest_ms` is now: nothing is published in the future."""

    max_graphemes: int
    latest_ms: int
    unescape: bool = False
    shift_ms: int = 0

    def row_of(self, number: int, line: bytes) -> PostRow:
        """The row of a line. Raises LineRefused."""
        row = _decoded(line)
        source_id = str(row.id)
        if not 0 < len(source_id) <= SOURCE_ID_CAP:
            raise LineRefused("id")
        return PostRow(
            number=number,
            source_id=source_id,
            handle=handle_of(row.author),
            at_ms=self._at_ms(row.created_at),
            text=self._text(row.text),
            reply_to=None if row.in_reply_to is None else str(row.in_reply_to),
        )

    def _text(self, raw: str) -> str:
        try:
            return check_post_text(html.unescape(raw) if self.unescape else raw, self.max_graphemes)
        except TextRefused as refused:
            raise LineRefused(f"text_{refused.code}") from None

    def _at_ms(self, created_at: str) -> int:
        at_ms = ms_of_date(created_at) + self.shift_ms
        if at_ms < EPOCH_MS:
            raise LineRefused("before_2000")
        if at_ms > self.latest_ms:
            raise LineRefused("in_the_future")
        return at_ms


def handle_of(author: str) -> str:
    """The handle of an author: case-folded, other characters become `_`, cut to 20. Raises LineRefused."""
    handle = _NOT_IN_HANDLES.sub("_", author.strip().casefold())[:HANDLE_LENGTH_CAP]
    if not handle:
        raise LineRefused("author")
    return handle


def author_of(line: bytes) -> str | None:
    """The handle of a line's author, without looking at the rest; None where there is none to be read."""
    try:
        return handle_of(_author_decoder.decode(line).author)
    except (msgspec.MsgspecError, LineRefused, UnicodeDecodeError):
        return None


def newest_ms(lines: Iterable[bytes]) -> int | None:
    """The latest date in the lines, looking at nothing else; None where there is none."""
    newest: int | None = None
    for line in lines:
        try:
            newest = max(newest or 0, ms_of_date(_date_decoder.decode(line).created_at))
        except (msgspec.MsgspecError, LineRefused, UnicodeDecodeError):
            continue
    return newest


def ms_of_date(text: str) -> int:
    """Unix milliseconds of an ISO 8601 date; without a zone it is UTC. Raises LineRefused."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise LineRefused("date") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    return round(seconds * 1000)


def _decoded(line: bytes) -> _Row:
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        raise LineRefused("fields") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LineRefused("not_json") from None
