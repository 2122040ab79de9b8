"""Parses and checks the rows of a posts file (JSON lines)."""

import hashlib
import html
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from accounts.domain import QuotePolicy
from socialsite.ids import EPOCH_MS, SEQUENCE_MASK, PostId, id_at
from socialsite.languages import parse_language
from timelines.drafts.draft import parse_time
from timelines.errors import TimeInvalid
from timelines.importing.lines import LineRefused
from timelines.posts.fields import ShortText
from timelines.posts.post import AUDIENCE_BY_NAME, NO_DETAILS, PUBLIC, SHORT_TEXTS, Poll, PostDetails, texts_of
from timelines.publishing.edits import VERSIONS_CAP
from timelines.publishing.poll_form import OPTION_MAX_LENGTH
from timelines.text.post_text import TEXT_BYTES_CAP, TextRefused, check_post_text, check_text

HANDLE_LENGTH_CAP = 20
SOURCE_ID_CAP = 200
POLL_OPTIONS_CAP = 20
ESCAPED_TEXT_LENGTH_CAP = 4 * TEXT_BYTES_CAP
_LONG_CHARACTER_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{20}")
_POST_PATH = re.compile(r"/@[A-Za-z0-9_]{1,20}/([1-9][0-9]{0,15})/")
_NOT_IN_HANDLES = re.compile(r"[^a-z0-9_]")


Coordinate = Annotated[float, msgspec.Meta(ge=-1, le=1)]


class PictureRow(msgspec.Struct, frozen=True):
    """A picture of a row: the name of its file in the archive, the text that describes it, and its focal point."""

    file: str
    description: str = ""
    focus: tuple[Coordinate, Coordinate] = (0.0, 0.0)


class _PollRow(msgspec.Struct, frozen=True):
    options: Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=POLL_OPTIONS_CAP)]
    ends_at: str
    multiple: bool = False


if TYPE_CHECKING:
    _ShortTexts = msgspec.Struct
else:
    _ShortTexts = msgspec.defstruct("_ShortTexts", [(each.name, str, "") for each in SHORT_TEXTS], kw_only=True)


class _Content(_ShortTexts, kw_only=True):
    """The fields that an edit may change."""

    text: str
    sensitive: bool = False
    language: str = ""
    media: tuple[PictureRow, ...] = ()
    poll: _PollRow | None = None
    edited_at: str | None = None


class _Row(_Content, kw_only=True):
    id: str | int
    author: str
    created_at: str
    in_reply_to: str | int | None = None
    audience: Literal["public", "unlisted", "followers"] = "public"
    quote_policy: QuotePolicy | None = None
    quoted_url: str = ""
    versions: Annotated[tuple[_Content, ...], msgspec.Meta(max_length=VERSIONS_CAP)] = ()


class _Head(msgspec.Struct):
    """The fields that are needed before an import."""

    author: str = ""
    created_at: str = ""


_decoder = msgspec.json.Decoder(_Row)
_head_decoder = msgspec.json.Decoder(_Head)


@dataclass(frozen=True, slots=True)
class RowVersion:
    """The text of a post or of one of its former versions. `details` has no pictures."""

    text: str
    details: PostDetails = NO_DETAILS
    pictures: tuple[PictureRow, ...] = ()


@dataclass(frozen=True, slots=True)
class PostRow:
    """A valid row. `handle` is the handle of the author, and `reply_to` is the source id of the parent.

    The last of `versions` is the newest.
    """

    number: int
    source_id: str
    handle: str
    at_ms: int
    reply_to: str | None
    versions: tuple[RowVersion, ...]
    audience: int = PUBLIC

    @property
    def newest(self) -> RowVersion:
        return self.versions[-1]

    @property
    def picture_count(self) -> int:
        return sum(len(version.pictures) for version in self.versions)

    @property
    def wanted_id(self) -> PostId:
        """The id that the post gets if it is free. It is the same in every run.

        The id contains the row's time, and low bits from the source id. It is never 0, because 0 cannot be negated and
        pages begin above it.
        """
        digest = hashlib.sha256(self.source_id.encode()).digest()
        return max(id_at(self.at_ms, int.from_bytes(digest[-2:]) & SEQUENCE_MASK), PostId(1))


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules by which rows are parsed.

    `shift_ms` is added to every time. Rows after `latest_ms` (now) are refused. `scope` is a prefix of all source ids,
    so that the ids of two persons differ. `refuses` returns whether the site refuses a text.
    """

    max_graphemes: int
    latest_ms: int
    unescape: bool = False
    shift_ms: int = 0
    scope: str = ""
    refuses: Callable[[str], bool] = lambda _text: False

    def parse(self, number: int, line: bytes) -> PostRow:
        """Return the row of a line. Raises LineRefused."""
        try:
            row = _decoder.decode(line)
        except msgspec.ValidationError as error:
            raise LineRefused("fields") from error
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise LineRefused("not_json") from None
        source_id = str(row.id)
        if not 0 < len(source_id) <= SOURCE_ID_CAP:
            raise LineRefused("id")
        return PostRow(
            number=number,
            source_id=self.scope + source_id,
            handle=parse_handle(row.author),
            at_ms=self._parse_time(row.created_at),
            reply_to=None if row.in_reply_to is None else f"{self.scope}{row.in_reply_to}",
            versions=tuple(self._parse_version(each, number, row) for number, each in enumerate((*row.versions, row))),
            audience=AUDIENCE_BY_NAME[row.audience],
        )

    def _parse_version(self, content: _Content, version: int, row: _Row) -> RowVersion:
        short_texts: dict[str, Any] = {
            each.name: self._parse_short(each, getattr(content, each.name)) for each in SHORT_TEXTS
        }
        details = PostDetails(
            **short_texts,
            sensitive=content.sensitive,
            language=parse_language(content.language),
            poll=None if content.poll is None else self._parse_poll(content.poll),
            version=version,
            edited_ms=self._parse_edited(content.edited_at) if version and content.edited_at else None,
            quote_policy=row.quote_policy,
        )
        text = self._parse_text(content, row.quoted_url)
        texts = [each for _form_name, each in texts_of(text, details)]
        if any(map(self.refuses, [*texts, *(each.description for each in content.media)])):
            raise LineRefused("blocked")
        pictures = {each.file: each for each in reversed(content.media)}  # each file once, as its first entry
        return RowVersion(text, details, tuple(pictures.values())[::-1])

    def _parse_text(self, content: _Content, quoted_url: str) -> str:
        """Return the text, with the URL of the quoted post in a line at its end if there is room for it."""
        if quoted_url and quoted_url not in content.text:
            with suppress(LineRefused):
                return self._check_text(f"{content.text}\n{quoted_url}", may_be_empty=False)
        return self._check_text(content.text, may_be_empty=bool(content.media))

    def _parse_poll(self, poll: _PollRow) -> Poll:
        try:
            options = tuple(check_text(option, OPTION_MAX_LENGTH) for option in poll.options)
        except TextRefused:
            raise LineRefused("poll") from None
        with suppress(LineRefused):
            return Poll(options, poll.multiple, parse_date(poll.ends_at) + self.shift_ms)
        return Poll(options, poll.multiple, self.latest_ms)  # an invalid end, such as the year 11921

    def _parse_short(self, field: ShortText, raw: str) -> str:
        return " ".join(self._check_text(raw, may_be_empty=True, max_graphemes=field.max_graphemes).split())

    def _check_text(self, raw: str, *, may_be_empty: bool, max_graphemes: int | None = None) -> str:
        if len(raw) > ESCAPED_TEXT_LENGTH_CAP or _LONG_CHARACTER_REFERENCE.search(raw):
            raise LineRefused("text_too_large")
        try:
            return check_post_text(html.unescape(raw) if self.unescape else raw, max_graphemes or self.max_graphemes)
        except TextRefused as refused:
            if may_be_empty and refused.code == "empty":
                return ""
            raise LineRefused(f"text_{refused.code}") from None

    def _parse_edited(self, edited_at: str) -> int | None:
        with suppress(LineRefused):
            return self._parse_time(edited_at)
        return None

    def _parse_time(self, created_at: str) -> int:
        at_ms = parse_date(created_at) + self.shift_ms
        if at_ms < EPOCH_MS:
            raise LineRefused("before_2000")
        if at_ms > self.latest_ms:
            raise LineRefused("in_the_future")
        return at_ms


def parse_handle(author: str) -> str:
    """Return the handle of an author: case-folded, with `_` for invalid characters, at most 20 characters long.

    Raises LineRefused.
    """
    handle = _NOT_IN_HANDLES.sub("_", author.strip().casefold())[:HANDLE_LENGTH_CAP]
    if not handle:
        raise LineRefused("author")
    return handle


def parse_post_url(url: str, base_url: str) -> PostId:
    """Return the id of a post of this site, or 0."""
    match = _POST_PATH.fullmatch(url.removeprefix(base_url)) if url.startswith(base_url) else None
    return PostId(int(match[1]) if match else 0)


def find_author(line: bytes) -> str | None:
    """Return the handle of a line's author, or None if it is unreadable. The other fields are not parsed."""
    try:
        return parse_handle(_head_decoder.decode(line).author)
    except (msgspec.MsgspecError, LineRefused, UnicodeDecodeError):
        return None


def find_newest_ms(lines: Iterable[bytes]) -> int:
    """Return the latest date in the lines as Unix ms, or 0 if no line has a date. Other fields are not parsed."""
    newest_ms = 0
    for line in lines:
        with suppress(msgspec.MsgspecError, LineRefused, UnicodeDecodeError):
            newest_ms = max(newest_ms, parse_date(_head_decoder.decode(line).created_at))
    return newest_ms


def parse_date(text: str) -> int:
    """Return the Unix ms of an ISO 8601 date from 1970 on. A date without a time zone is UTC. Raises LineRefused."""
    with suppress(TimeInvalid):
        if (at_ms := parse_time(text)) is not None:
            return at_ms
    raise LineRefused("date")
