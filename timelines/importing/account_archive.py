"""Reads the archive that a person downloaded from this site, Mastodon or X as the rows of a posts file.

Mastodon: `outbox.json`, an ActivityStreams collection, and `media_attachments/`. X: `data/tweets.js` and its parts, a
JavaScript assignment each, and `data/tweets_media/<id of the tweet>-<end of the URL>`. Both are a zip or a tar.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import TextIOWrapper
from itertools import chain
from typing import IO, Any, NamedTuple, TypeVar

from timelines.exporting.repository import BOOKMARK, LIKE
from timelines.importing.archive_files import (
    MEMBER_MAX_BYTES,
    READ_ERRORS,
    ArchiveFiles,
    ArchiveUnreadable,
    readable,
    size_of,
)
from timelines.importing.json_values import Json, link_of, object_of, text_of
from timelines.importing.lines import ROW_ERRORS, Tally
from timelines.importing.mastodon_rows import parse_activity
from timelines.importing.rows import parse_date
from timelines.importing.x_rows import Notes, id_of, link_versions, parse_tweet, read_tweet, version_ids
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.text.post_text import remove_invalid

CHUNK_LENGTH, ITEM_MAX_LENGTH = 64 * 1024, 4 * 1024 * 1024
TWEETS = re.compile(r"(|.*/)(?:tweets?(?:-part\d+)?|data/js/tweets/\d{4}_\d\d)\.js", re.IGNORECASE)
"""The paths of files with tweets since 2019 (at first `tweet.js`) and before. The first group is the folder."""
NOTES = re.compile(r"note-tweets?(?:-part\d+)?\.js", re.IGNORECASE)
TWEET_FOLDERS = ("tweets_media", "tweet_media")
TWEETS_MAX_BYTES = 256 * 1024 * 1024
"""The size of the fields of all tweets, which are sorted in memory."""
NOTES_MAX_BYTES = 64 * 1024 * 1024
NO_ITEMS = re.compile(r'\s*\]\s*,\s*"orderedItems"\s*:\s*\[')
"""The end of an empty list, and the beginning of the whole list under the same name. Mastodon 4.3 writes both."""
Item = TypeVar("Item")
_decoder = json.JSONDecoder()


class MarkedPost(NamedTuple):
    """A liked or bookmarked post. `kind` is LIKE or BOOKMARK, `at_ms` is 0 if the archive does not contain the time."""

    kind: str
    url: str
    at_ms: int = 0


@dataclass(slots=True)
class AccountArchive:
    """An archive in an open file. `handle` is the account that gets the posts; the default is that of the archive.

    With the `base_url` of this site, `marked_posts` contains the boosts of its posts, and `lines` does not.
    """

    file: IO[bytes]
    handle: str = ""
    base_url: str = ""
    files: ArchiveFiles = field(init=False)
    is_mastodon: bool = field(init=False)
    _tweet_files: list[str] = field(init=False, default_factory=list)
    _note_files: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Open the archive and find the files with its posts. Raises ArchiveUnreadable."""
        self.files = ArchiveFiles(self.file)
        paths = self.files.paths()
        outboxes = [path for path in paths if path.casefold().rpartition("/")[2] == "outbox.json"]
        self.is_mastodon = bool(outboxes)
        if outboxes:
            outbox = min(outboxes, key=lambda path: (path.count("/"), path))
            self.files.folder = outbox[: outbox.rfind("/") + 1]
            return
        matches = [match for path in paths if (match := TWEETS.fullmatch(path))]
        if not matches:
            raise ArchiveUnreadable("unknown_format", "it contains neither outbox.json nor data/tweets.js")
        self.files.folder = min((match[1] for match in matches), key=lambda folder: (folder.count("/"), folder))
        skip = len(self.files.folder)
        self._tweet_files = sorted(match[0][skip:] for match in matches if match[1] == self.files.folder)
        self._note_files = sorted(path[skip:] for path in paths if NOTES.fullmatch(path[skip:]))

    def lines(self, tally: Tally, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number, row as JSON) after `offset`. Rows that are no posts of the person are refused.

        Raises ArchiveUnreadable.
        """
        if self.is_mastodon:
            self.handle = self.handle or text_of(self._read_json("actor.json"), "preferredUsername")
            items = (item for item in self._collection("outbox.json") if not self._is_own_boost(item))
            return offset_lines(items, partial(parse_activity, self.base_url), self.handle, tally, offset)
        self.handle = self.handle or text_of(object_of(self._read_json("account.js"), "account"), "username")
        self._require_size(self._note_files, NOTES_MAX_BYTES)
        notes = Notes(chain.from_iterable(self._array(name, "=") for name in self._note_files))
        return offset_lines(self._sorted_tweets(), partial(parse_tweet, notes=notes), self.handle, tally, offset)

    def marked_posts(self) -> Iterator[MarkedPost]:
        """Yield likes and bookmarks, the newest first, then boosts of posts of this site as bookmarks.

        A list that cannot be read counts as one post that does not exist. Raises ArchiveUnreadable.
        """
        for kind, name in ((LIKE, "likes.json"), (BOOKMARK, "bookmarks.json")):
            try:
                yield from (MarkedPost(kind, str(url)) for url in self._collection(name))
            except ArchiveUnreadable:
                yield MarkedPost(kind, "")
        for item in self._collection("outbox.json"):
            if self._is_own_boost(item):
                try:
                    at_ms = parse_date(item["published"])
                except ROW_ERRORS:
                    at_ms = 0
                yield MarkedPost(BOOKMARK, link_of(item, "object"), at_ms)

    def _is_own_boost(self, item: Json) -> bool:
        is_boost = bool(self.base_url) and isinstance(item, dict) and item.get("type") == "Announce"
        return is_boost and link_of(item, "object").startswith(f"{self.base_url}/@")

    def read_picture(self, name: str) -> bytes | None:
        """Return the bytes of a picture, at most one more than an upload may have, or None if it is absent."""
        paths = [name] if self.is_mastodon else [f"{folder}/{name}" for folder in TWEET_FOLDERS]
        found = [self.files.find(path) for path in paths]
        member = next((each for each in found if each), None) or self.files.find(name, anywhere=True)
        if not name or member is None:
            return None
        with readable(), self.files.open(member) as file:
            return file.read(UPLOAD_MAX_BYTES + 1)

    def _collection(self, name: str) -> Iterator[Json]:
        return self._array(name, '"orderedItems"')

    def _sorted_tweets(self) -> Iterator[Json]:
        """Yield the newest version of each tweet, with the former ones, after the tweets that it answers."""
        tweets: list[tuple[int, bytes]] = []
        first_ids: dict[int, int] = {}
        size_bytes = 0
        self._require_size(self._tweet_files, MEMBER_MAX_BYTES)
        for tweet in map(read_tweet, chain.from_iterable(self._array(name, "=") for name in self._tweet_files)):
            ids = version_ids(tweet)
            first_ids |= dict.fromkeys(ids, min(ids, default=0))
            tweets.append((int(id_of(tweet) or 0), json.dumps(tweet).encode()))
            size_bytes += len(tweets[-1][1]) + 100 * len(ids)
            if size_bytes > TWEETS_MAX_BYTES:
                raise ArchiveUnreadable("too_large", "it has too many tweets")
        tweets.sort(key=lambda each: (first_ids.get(each[0], each[0]), each))
        former: list[Json] = []
        for (id, content), (following, _) in zip(tweets, [*tweets[1:], (0, b"")], strict=True):
            tweet, first = json.loads(content), first_ids.get(id)
            if first is not None and first == first_ids.get(following):
                former.append(tweet)
                continue
            yield link_versions(tweet, former, first_ids)
            former = []

    def _require_size(self, names: list[str], max_bytes: int) -> None:
        if sum(size_of(member) for name in names if (member := self.files.find(name)) is not None) > max_bytes:
            raise ArchiveUnreadable("too_large")

    def _array(self, name: str, before: str) -> Iterator[Json]:
        """Yield the items of an array, or nothing if there is no such member. Raises ArchiveUnreadable."""
        if (member := self.files.find(name)) is None:
            return
        with readable(), self.files.open(member) as file:
            yield from iterate_array(TextIOWrapper(file, "utf-8", errors="replace"), before)

    def _read_json(self, name: str) -> Json:
        """Return the first object of a small optional member, or {} if it is absent or damaged."""
        if (member := self.files.find(name)) is None:
            return {}
        with suppress(*READ_ERRORS), self.files.open(member) as file:
            text = file.read(ITEM_MAX_LENGTH).decode("utf-8-sig")
            value = json.loads(text.partition("=")[2].strip().removesuffix(";") if name.endswith(".js") else text)
            value = value[0] if isinstance(value, list) and value else value
            return value if isinstance(value, dict) else {}
        return {}


def iterate_array(stream: IO[str], before: str) -> Iterator[Json]:
    """Yield the objects of the JSON array after the text `before`, without reading the whole array into memory.

    Raises ValueError, RecursionError.
    """
    text = stream.read(CHUNK_LENGTH)
    at = text.index("[", text.index(before) + len(before)) + 1
    if (empty := NO_ITEMS.match(text, at)) is not None:
        at = empty.end()
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
    """Yield (number, row as JSON) of the items after `offset`. Items that `parse` refuses are counted.

    Characters that no text of this site may have are removed from the texts, since the whole post would be refused.
    """
    for number, item in enumerate(items, 1):
        if number <= offset:
            continue
        try:
            row = json.dumps(_clean({"author": handle, **parse(item)})).encode()
        except ROW_ERRORS as error:
            tally.refuse_row(number, error)
        else:
            yield number, row


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return remove_invalid(value) if isinstance(value, str) else value
