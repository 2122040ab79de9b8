"""Reads the repository that a person downloaded from Bluesky (a CAR file) as the rows of a posts file.

The file contains no pictures. Its blocks are records and the nodes of a search tree with their paths
(https://atproto.com/specs/repository).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

import libipld

from timelines.importing.account_archive import offset_lines
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.json_values import Json, links_of, object_of, objects_of, text_of
from timelines.importing.lines import LineRefused, Tally
from timelines.importing.mentions import add_host
from timelines.importing.rows import SOURCE_ID_CAP

CAR_MAX_BYTES, BLOCK_MAX_BYTES, BLOCKS_CAP = 64 * 1024 * 1024, 1024 * 1024, 500_000
CID_BYTES = 36
"""Version, codec and hash (sha256) of a block."""
PATH_MAX_BYTES = 512
POSTS = "app.bsky.feed.post/"
BOOSTS = "app.bsky.feed.repost/"
SIGNATURE = b"\xa2eroots"  # the bytes after the length of the header
RECORD = re.compile(r"at://(did:[a-z]+:[A-Za-z0-9._:%-]{1,256})/([a-zA-Z.]+)/([A-Za-z0-9._~:-]{1,64})")
PAGES = {
    "app.bsky.feed.post": "profile/{}/post/{}",
    "app.bsky.feed.generator": "profile/{}/feed/{}",
    "app.bsky.graph.list": "profile/{}/lists/{}",
    "app.bsky.graph.starterpack": "starter-pack/{}/{}",
    "app.bsky.labeler.service": "profile/{}",
}
"""The kinds of records that a post can quote (app.bsky.embed.record), with their addresses on the web site."""
BARE_NAME_ENDING = ".bsky.social"
"""Added to a name without a domain, so that it names no account of this site. Names of Bluesky have a domain."""


def is_car(file: IO[bytes]) -> bool:
    file.seek(0)
    first = file.read(1 + len(SIGNATURE))
    file.seek(0)
    return first[1:] == SIGNATURE


@dataclass(slots=True)
class BlueskyArchive:
    """An open repository. `handle` is the account that gets the posts."""

    file: IO[bytes]
    handle: str
    _content: bytes = field(init=False)
    _places: dict[bytes, tuple[int, int]] = field(init=False)
    _tree: bytes = field(init=False)
    _did: str = field(init=False)

    def __post_init__(self) -> None:
        """Read the file, and find the root of its tree. Raises ArchiveUnreadable."""
        self._content = self.file.read(CAR_MAX_BYTES + 1)
        if len(self._content) > CAR_MAX_BYTES:
            raise ArchiveUnreadable("too_large")
        try:
            sections = split_car(self._content)
            header = self._decode(*next(sections, (0, 0)))
            blocks = islice(sections, BLOCKS_CAP)
            self._places = {self._content[at : at + CID_BYTES]: (at + CID_BYTES, end) for at, end in blocks}
            commit = self._find(header["roots"][0])
            self._tree, self._did = commit["data"], str(commit["did"])[:SOURCE_ID_CAP]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise ArchiveUnreadable("unreadable") from error

    def lines(self, tally: Tally, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number, row as JSON) of the posts. Raises ArchiveUnreadable."""
        return offset_lines(self._records(), self._parse, self.handle, tally, offset)

    def _find(self, link: bytes) -> Any:
        return self._decode(*self._places[link])

    def _decode(self, start: int, end: int) -> Any:
        """Decode one value. Not all are decoded together, because values take up to 80 times the memory of bytes."""
        if end - start > BLOCK_MAX_BYTES:
            raise ArchiveUnreadable("too_large")
        return libipld.decode_dag_cbor(self._content[start:end])

    def _records(self) -> Iterator[tuple[str, Json]]:
        """Yield the paths and records of posts and boosts in the order of the tree, oldest first."""
        try:
            for path, record in self._walk():
                if path.startswith((POSTS, BOOSTS)) and record in self._places:
                    yield path, self._find(record)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ArchiveUnreadable("unreadable") from error

    def _walk(self) -> Iterator[tuple[str, bytes]]:
        """Yield the paths and links of all records, each record once. No recursion: a hostile tree can be deep."""
        pending: list[bytes | tuple[str, bytes]] = [self._tree]
        visited: set[bytes] = set()
        while pending:
            link = pending.pop()
            if isinstance(link, tuple):
                if link[1] not in visited:
                    visited.add(link[1])
                    yield link
                continue
            if link in visited:
                raise ArchiveUnreadable("unreadable")
            visited.add(link)
            node, path, following = self._find(link), b"", []
            following += [node["l"]] if node.get("l") else []
            for entry in node["e"]:
                path = path[: entry["p"]] + entry["k"]
                if len(path) > PATH_MAX_BYTES:
                    raise ArchiveUnreadable("unreadable")
                following.append((path.decode(), entry["v"]))
                following += [entry["t"]] if entry.get("t") else []
            pending += reversed(following)

    def _parse(self, item: tuple[str, Json]) -> Json:
        path, record = item
        if path.startswith(BOOSTS):
            raise LineRefused("boost")
        embed = object_of(record, "embed")
        images = objects_of(embed, "images") or objects_of(object_of(embed, "media"), "images")
        text = add_host(_full_text(record, embed), BARE_NAME_ENDING)
        return {
            "id": f"at://{self._did}/{path}",
            "created_at": record["createdAt"],
            "text": text,
            "in_reply_to": text_of(object_of(object_of(record, "reply"), "parent"), "uri") or None,
            "language": next(iter(links_of(record, "langs")), ""),
            "media": [
                {"file": f"absent {number}", "description": text_of(each, "alt")} for number, each in enumerate(images)
            ],
        }


def split_car(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the header and of each block of a CAR file. Raises ValueError, IndexError."""
    at = 0
    while at < len(content):
        size, shift = 0, 0
        while content[at] & 128:
            size, shift, at = size | (content[at] & 127) << shift, shift + 7, at + 1
            if shift > 28:
                raise ValueError("a size of more than five bytes")
        end = at + 1 + (size | content[at] << shift)
        if end > len(content):
            raise ValueError("a block is cut off")
        yield at + 1, end
        at = end


def _full_text(record: Json, embed: Json) -> str:
    """Return the text with the whole URLs of its links, and with the URLs of its preview and of the quoted post."""
    text, parts, at = text_of(record, "text").encode(errors="replace"), list[bytes](), 0
    for start, end, url in sorted(_links(record)):
        if at <= start <= end <= len(text):
            parts += text[at:start], url.encode(errors="replace")
            at = end
    full = b"".join((*parts, text[at:])).decode(errors="replace")
    preview = object_of(embed, "external") or object_of(object_of(embed, "media"), "external")
    quoted = object_of(embed, "record")
    for url in (
        text_of(preview, "uri"),
        _web_address(text_of(quoted, "uri") or text_of(object_of(quoted, "record"), "uri")),
    ):
        full = full if url in full else f"{full}\n{url}".strip()
    return full


def _web_address(uri: str) -> str:
    """Return the URL of the page that shows a record of Bluesky, or ""."""
    match = RECORD.fullmatch(uri)
    return "https://bsky.app/" + PAGES[match[2]].format(match[1], match[3]) if match and match[2] in PAGES else ""


def _links(record: Json) -> Iterator[tuple[int, int, str]]:
    """Yield the first and last byte of each link in the text, and its URL."""
    for facet in objects_of(record, "facets"):
        index = object_of(facet, "index")
        start, end = index.get("byteStart"), index.get("byteEnd")
        url = next(filter(None, (text_of(each, "uri") for each in objects_of(facet, "features"))), "")
        if url and isinstance(start, int) and isinstance(end, int):
            yield start, end, url
