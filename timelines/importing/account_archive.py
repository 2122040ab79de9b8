"""Reads the archive that a person downloaded from this site, Mastodon or X (a zip) as the rows of a posts file.

Mastodon: `outbox.json`, an ActivityStreams collection, and `media_attachments/`. X: `data/tweets.js` and its parts, a
JavaScript assignment each, and `data/tweets_media/<id of the tweet>-<end of the URL>`.
"""

import html
import json
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from io import SEEK_END, TextIOWrapper
from itertools import chain
from typing import IO, Any, NamedTuple, TypeVar

from django.core.exceptions import SuspiciousOperation
from django.utils.html import strip_tags

from timelines.exporting.repository import BOOKMARK, LIKE
from timelines.importing.lines import LineRefused, Tally
from timelines.importing.rows import parse_date
from timelines.media.media import UPLOAD_MAX_BYTES

MEMBERS_CAP = 100_000
DIRECTORY_MAX_BYTES = 32 * 1024 * 1024
"""The largest list of members. It is read at once."""
MEMBER_MAX_BYTES = 1024 * 1024 * 1024
"""The largest member, and the largest size of all members with tweets."""
RATIO_MAX = 200
"""How often a member that is read may be larger than its compressed form, above RATIO_FREE_BYTES."""
RATIO_FREE_BYTES = 16 * 1024 * 1024
CHUNK_LENGTH, ITEM_MAX_LENGTH = 64 * 1024, 4 * 1024 * 1024
EVERYBODY = "https://www.w3.org/ns/activitystreams#Public"
TWEETS = re.compile(r"(.*/)?data/tweets?(-part\d+)?\.js")
TWEET_ID = re.compile(r"[0-9]{1,20}")
TWEET_FIELDS = (
    "id_str", "created_at", "full_text", "text", "lang", "in_reply_to_status_id_str", "possibly_sensitive", "entities",
    "extended_entities",
)  # fmt: skip
TWEETS_MAX_BYTES = 256 * 1024 * 1024
"""The size of these fields of all tweets, which are sorted in memory."""
TWEET_DATE = "%a %b %d %H:%M:%S %z %Y"
TEXT_MAX_LENGTH, URL_MAX_LENGTH = 256 * 1024, 2_048
"""The longest text that is parsed, with tags and before URLs become longer, and the longest URL in it."""
SHORT_URL = re.compile(r"https?://[a-z0-9.-]+/[A-Za-z0-9]+")
PARAGRAPH, BREAK = re.compile(r"<p\b[^<>]*>", re.IGNORECASE), re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
END_OF_ZIP = re.compile(rb"PK\x05\x06(?=.{8}(.{4}))|PK\x06\x06(?=.{36}(.{8}))", re.DOTALL)
"""The record at the end of a zip, or of a large zip, with the number of bytes of the list of members."""
END_MAX_BYTES = 66_000  # with the longest comment
READ_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError, LookupError, TypeError,
)  # fmt: skip
Json = dict[str, Any]
Item = TypeVar("Item")
_decoder = json.JSONDecoder()


class ArchiveUnreadable(OSError):
    """The file is no archive of a known kind, is damaged, or is larger than this site reads. `code` says which."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(text or code)
        self.code = code


class MarkedPost(NamedTuple):
    """A liked or bookmarked post. `kind` is LIKE or BOOKMARK, `at_ms` is 0 if the archive does not contain the time."""

    kind: str
    url: str
    at_ms: int = 0


@dataclass(slots=True)
class AccountArchive:
    """An archive in an open file. `handle` is the account that gets the posts; by default the one it names.

    With the `base_url` of this site, boosts of its posts are no lines, but among the marked posts.
    """

    file: IO[bytes]
    handle: str = ""
    base_url: str = ""
    _zip: zipfile.ZipFile = field(init=False)
    _members: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Raises ArchiveUnreadable."""
        with _readable():
            self._zip = open_zip(self.file)
        self._members = {name.rpartition("/")[2]: name for name in self._zip.namelist()}
        if "outbox.json" not in self._members and not self._tweet_files():
            raise ArchiveUnreadable("unknown_format", "it contains neither outbox.json nor data/tweets.js")

    def lines(self, tally: Tally, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number, row as JSON) after `offset`. Rows that are no posts of the person are refused.

        Raises ArchiveUnreadable.
        """
        if "outbox.json" in self._members:
            self.handle = self.handle or str(self._read_json("actor.json", {}).get("preferredUsername", ""))
            items = (item for item in self._collection("outbox.json") if not self._is_own_boost(item))
            return offset_lines(items, _parse_activity, self.handle, tally, offset)
        if not self.handle and (accounts := self._read_json("account.js", [])):
            self.handle = str(accounts[0]["account"]["username"])
        tweets = self._sorted_tweets()
        return offset_lines(tweets, lambda tweet: _parse_tweet(json.loads(tweet[1])), self.handle, tally, offset)

    def marked_posts(self) -> Iterator[MarkedPost]:
        """Yield likes and bookmarks, the newest first, then boosts of posts of this site as bookmarks.

        Raises ArchiveUnreadable.
        """
        for kind, name in ((LIKE, "likes.json"), (BOOKMARK, "bookmarks.json")):
            yield from (MarkedPost(kind, str(url)) for url in self._collection(name))
        for item in self._collection("outbox.json"):
            if self._is_own_boost(item):
                with _readable():
                    at_ms = parse_date(item["published"])
                yield MarkedPost(BOOKMARK, item["object"], at_ms)

    def _is_own_boost(self, item: Json) -> bool:
        is_boost = bool(self.base_url) and isinstance(item, dict) and item.get("type") == "Announce"
        return is_boost and str(item.get("object")).startswith(f"{self.base_url}/@")

    def read_picture(self, name: str) -> bytes | None:
        """Return the bytes of a picture, at most one more than an upload may have, or None if it is absent."""
        member = self._members.get(name.rpartition("/")[2])
        if member is None:
            return None
        with _readable(), self._open(member) as file:
            return file.read(UPLOAD_MAX_BYTES + 1)

    def _tweet_files(self) -> list[str]:
        return sorted(name for name in self._zip.namelist() if TWEETS.fullmatch(name))

    def _collection(self, name: str) -> Iterator[Json]:
        """Yield the items of a member, or nothing if there is no such member."""
        return self._array(self._members[name], '"orderedItems"') if name in self._members else iter(())

    def _sorted_tweets(self) -> list[tuple[int, bytes]]:
        """Return the ids and the JSON of all tweets, which X does not sort, so that each follows what it answers."""
        tweets: list[tuple[int, bytes]] = []
        size_bytes = 0
        if sum(self._zip.getinfo(name).file_size for name in self._tweet_files()) > MEMBER_MAX_BYTES:
            raise ArchiveUnreadable("too_large")
        for each in chain.from_iterable(self._array(name, "=") for name in self._tweet_files()):
            tweet = each.get("tweet", each) if isinstance(each, dict) else None
            fields = {name: tweet.get(name) for name in TWEET_FIELDS} if isinstance(tweet, dict) else {}
            id = str(fields.get("id_str"))
            tweets.append((int(id) if TWEET_ID.fullmatch(id) else 0, json.dumps(fields).encode()))
            size_bytes += len(tweets[-1][1])
            if size_bytes > TWEETS_MAX_BYTES:
                raise ArchiveUnreadable("too_large", "it has too many tweets")
        return sorted(tweets)

    def _array(self, name: str, before: str) -> Iterator[Json]:
        with _readable(), self._open(name) as file:
            yield from iterate_array(TextIOWrapper(file, "utf-8"), before)

    def _read_json(self, name: str, default: Any) -> Any:
        """Return the JSON of a small member; of a JavaScript file what follows the first "="."""
        if name not in self._members:
            return default
        with _readable(), self._open(self._members[name]) as file:
            text = file.read(ITEM_MAX_LENGTH).decode()
            return json.loads(text.partition("=")[2].strip().removesuffix(";") if name.endswith(".js") else text)

    def _open(self, name: str) -> IO[bytes]:
        """Open a member that is no bomb. Raises ArchiveUnreadable."""
        info = self._zip.getinfo(name)
        is_bomb = info.file_size > max(RATIO_FREE_BYTES, RATIO_MAX * info.compress_size)
        if is_bomb or info.file_size > MEMBER_MAX_BYTES or stat.S_ISLNK(info.external_attr >> 16):
            raise ArchiveUnreadable("too_large", f"{name} is too large")
        return self._zip.open(info)


@contextmanager
def _readable() -> Iterator[None]:
    """Raise ArchiveUnreadable for the errors of a damaged or encrypted member."""
    try:
        yield
    except ArchiveUnreadable:
        raise
    except READ_ERRORS as error:
        raise ArchiveUnreadable("unreadable", str(error)) from error


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """Open a zip file whose list of members is small enough. Raises ArchiveUnreadable, BadZipFile."""
    file.seek(max(0, file.seek(0, SEEK_END) - END_MAX_BYTES))
    ends = END_OF_ZIP.finditer(file.read(END_MAX_BYTES))
    sizes = [int.from_bytes(end[1] or end[2], "little") for end in ends]
    if any(size > DIRECTORY_MAX_BYTES and size != 0xFFFFFFFF for size in sizes):  # 0xFFFFFFFF: see the other record
        raise ArchiveUnreadable("too_large", "it has too many members")
    opened = zipfile.ZipFile(file)
    if len(opened.namelist()) > MEMBERS_CAP:
        raise ArchiveUnreadable("too_large", "it has too many members")
    return opened


def iterate_array(stream: IO[str], before: str) -> Iterator[Json]:
    """Yield the objects of the JSON array after the text `before`, without reading the whole array into memory.

    Raises ValueError, RecursionError.
    """
    text = stream.read(CHUNK_LENGTH)
    at = text.index("[", text.index(before) + len(before)) + 1
    while True:
        at, step = _skip_separators(text, at), CHUNK_LENGTH
        while at == len(text) or text[at] != "]":
            try:
                item, end = _decoder.raw_decode(text, at)
                break
            except ValueError:
                more = stream.read(step)
                if not more or len(text) - at > ITEM_MAX_LENGTH:
                    raise
                text, step = text[at:] + more, 2 * step
                at = _skip_separators(text, 0)
        else:
            return
        yield item
        at = end


def _skip_separators(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def offset_lines(
    items: Iterable[Item], parse: Callable[[Item], Json], handle: str, tally: Tally, offset: int
) -> Iterator[tuple[int, bytes]]:
    """Yield (number, row as JSON) of the items after `offset`. Items that `parse` refuses are counted."""
    for number, item in enumerate(items, 1):
        if number <= offset:
            continue
        try:
            row = json.dumps({"author": handle, **parse(item)}).encode()
        except LineRefused as refused:
            tally.refuse(number, refused.reason)
        except (KeyError, TypeError, ValueError, AttributeError, StopIteration, RecursionError, SuspiciousOperation):
            tally.refuse(number, "fields")
        else:
            yield number, row


def _parse_activity(item: Json) -> Json:
    """Return the row of a Mastodon activity. Raises LineRefused for boosts and messages."""
    note = item["object"]
    if item["type"] != "Create":
        raise LineRefused("boost")
    to, cc = note.get("to", []), note.get("cc", [])
    if EVERYBODY in to:
        audience = "public"
    elif EVERYBODY in cc:
        audience = "unlisted"
    elif any(each.rstrip("/").endswith("/followers") for each in to):
        audience = "followers"
    else:
        raise LineRefused("private_message")
    return {
        "id": note["id"],
        "created_at": note["published"],
        "in_reply_to": note.get("inReplyTo"),
        "audience": audience,
        "quote_policy": note.get("quotePolicy"),
        "versions": [_parse_content(each) for each in note.get("versions", [])],
        **_parse_content(note),
    }


def _parse_content(note: Json) -> Json:
    """Return what an edit may change. The text of this site's own archive is used as it is."""
    source = note.get("source") or {}
    options = note.get("oneOf") or note.get("anyOf")
    return {
        "text": source["content"] if source.get("mediaType") == "text/plain" else _html_to_text(note["content"]),
        "spoiler_text": note.get("summary") or "",
        "sensitive": bool(note.get("sensitive")),
        "language": next(iter(note.get("contentMap") or {}), ""),
        "edited_at": note.get("updated"),
        "media": [
            {"file": each["url"], "description": each.get("name") or "", "focus": each.get("focalPoint") or [0, 0]}
            for each in note.get("attachment", [])
        ],
        "poll": options
        and {
            "options": [option["name"] for option in options],
            "multiple": "anyOf" in note,
            "ends_at": note["endTime"],
        },
    }


def _parse_tweet(tweet: Json) -> Json:
    """Return the row of a tweet, with full URLs in its text. Raises LineRefused for reposts."""
    text = _check_length(tweet["text"] if tweet["full_text"] is None else tweet["full_text"])
    if text.startswith("RT @"):
        raise LineRefused("boost")
    entities: Json = tweet.get("entities") or {}
    media = (tweet.get("extended_entities") or entities).get("media", [])
    urls = {each["url"]: each.get("expanded_url") or each["url"] for each in entities.get("urls", [])}
    urls |= {each["url"]: "" for each in media}
    text = SHORT_URL.sub(lambda match: urls.get(match[0], match[0])[:URL_MAX_LENGTH], text)
    return {
        "id": tweet["id_str"],
        "created_at": datetime.strptime(tweet["created_at"], TWEET_DATE).isoformat(),
        "text": html.unescape(text),
        "in_reply_to": tweet.get("in_reply_to_status_id_str"),
        "sensitive": bool(tweet.get("possibly_sensitive")),
        "language": tweet.get("lang") or "",
        "media": [
            {
                "file": f"{tweet['id_str']}-{each['media_url'].rpartition('/')[2]}",
                "description": each.get("ext_alt_text") or "",
            }
            for each in media
        ],
    }


def _html_to_text(content: str) -> str:
    """Return the text of a post of Mastodon. Its links contain their whole URLs."""
    lines = BREAK.sub("\n", PARAGRAPH.sub("\n\n", _check_length(content)))
    return html.unescape(strip_tags(lines)).strip()


def _check_length(text: str) -> str:
    """Return a text that is short enough to be parsed. Raises LineRefused."""
    if len(text) > TEXT_MAX_LENGTH:
        raise LineRefused("text_too_large")
    return text
