"""Finds links, mentions and hashtags in a text. The grammar is mostly the grammar of twitter-text.

A link has the scheme http or https, a known top-level domain or an IPv4 address, and no user name (which could imitate
another host). A domain without a scheme is a link if it is ASCII and does not look like a file name, a method call or a
missing space.

The time is linear in the text: patterns are possessive, an invalid candidate is skipped as a whole, hosts have at most
253 characters, and a path is read only after a valid host (docs/reference/decisions/linkifier.md).
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

from socialsite.characters import JOINERS, fold_hashtag
from socialsite.site_host import own_hosts
from timelines.text.hosts import host_length, is_bare_host

TAG_LENGTH_CAP = 100
HANDLE_LENGTH_CAP = 20
URL_LENGTH_CAP = 4096
LINKS_CAP = 500
"""The maximum number of links, mentions and hashtags in one text. A post cannot contain as many."""

Kind = Literal["text", "url", "mention", "hashtag"]


class Piece(NamedTuple):
    """A part of a text. `raw` has its characters. `target` is the URL, handle or hashtag."""

    kind: Kind
    raw: str
    target: str = ""


_WIDE_SIGNS = r"\u3000-\u3004\u3008-\u3020\u3030\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
# Letters of every script and JOINERS belong to a path. Marks of direction do not.
_PATH_CHARACTER = rf"[[^\s\p{{C}}<>\"`{{}}\\()\[\]{_WIDE_SIGNS}]{JOINERS}]"
_TAG_MARKS = r"_\u200c\u200d\u00b7\u05be\u05f3\u05f4\u0f0b\u0f0c\u30a0\u30fb\u3003\u301c\uff5e"
_TAG = rf"\p{{L}}\p{{M}}\p{{Nd}}{_TAG_MARKS}--[\ufe00-\ufe0f\u20e3]"

_CANDIDATE = regex.compile(
    r"(?<![A-Za-z0-9@＠$#＃])[Hh][Tt][Tt][Pp][Ss]?://(?P<host>[\p{L}\p{M}\p{N}\p{So}_.-]{1,253}+)"
    r"|(?<![@＠$#＃_./\-0-9\p{Latin}\p{Cyrillic}\p{Greek}])"
    r"(?P<bare>[A-Za-z0-9][A-Za-z0-9-]*+(?:\.(?!https?://)[A-Za-z0-9-]++)++)"
    r"|(?<![A-Za-z0-9_@＠#＃$%&])[@＠](?P<handle>[A-Za-z0-9_]++)"
    rf"|(?<![&{_TAG}])[#＃](?P<tag>[{_TAG}]++)",
    regex.VERSION1,
)
_PORT = regex.compile(r"(?::[0-9]{1,5}+)?+")
# A path may contain pairs of brackets, nested at most twice. An attempt without a closing bracket ends at the third
# opening bracket. This limits how often one character is read.
_PATH = regex.compile(
    rf"(?:[/?#](?:{_PATH_CHARACTER}++|\((?:{_PATH_CHARACTER}++|\({_PATH_CHARACTER}*+\))*+\)"
    rf"|\[{_PATH_CHARACTER}*+\]|\{{{_PATH_CHARACTER}*+\}})*+)?+",
    regex.VERSION1,
)
_REST_OF_INVALID_URL = regex.compile(rf"[^\s<>\"{_WIDE_SIGNS}]*+", regex.VERSION1)
_TAG_ONLY = regex.compile(rf"[{_TAG}]{{1,{TAG_LENGTH_CAP}}}", regex.VERSION1)
_LETTER = regex.compile(r"\p{L}")
_NOT_A_HOST_END = regex.compile(r"[@%\\0-9]|:[^\s\p{P}]|://")
_NOT_A_BARE_END = regex.compile(r"[@%\\0-9_(\p{Latin}\p{Cyrillic}\p{Greek}\p{M}]|:[^\s\p{P}]|://|-")
_MENTION_CONTINUES = regex.compile(  # also names that others use: @name.example, @name:example.org, @name/package
    r"[@＠\p{Latin}\p{M}]|://|[./-][A-Za-z0-9_]|[.:][\p{L}\p{M}\p{N}-]{1,63}+\.\p{L}"
)
_OWN_HOST_CONTINUES = regex.compile(r"[\p{L}\p{M}\p{N}_@＠-]|\.[\p{L}\p{N}]|:[0-9/]")
_TAG_CONTINUES = regex.compile(r"[#＃]|://")
_PATH_TRAILER = regex.compile(rf"[\p{{Terminal_Punctuation}}\p{{Line_Break=Quotation}}*@…|^{JOINERS}]")  # UTS 58: soft


def remove_begun_host(name: str) -> str:
    """Return `name` for `name@host` if the own host starts with `host`, which a person is still typing."""
    handle, at, host = name.partition("@")
    is_own = at and any(own.startswith(host.lower()) for own in own_hosts())
    return handle if is_own else name


def scan(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text in order. All `raw` parts together are the text."""
    end_of_last_piece = position = count = 0
    while count < LINKS_CAP and (match := _CANDIDATE.search(text, position)) is not None:
        position, piece = _parse_candidate(text, match)
        if piece is None:
            continue
        count += 1
        if match.start() > end_of_last_piece:
            yield Piece("text", text[end_of_last_piece : match.start()])
        yield piece
        end_of_last_piece = position
    if end_of_last_piece < len(text):
        yield Piece("text", text[end_of_last_piece:])


def normalize_tag(raw: str) -> str | None:
    """Return the hashtag in NFKC and case-folded, as in `/tags/<tag>/`. Returns None if `raw` is not a hashtag."""
    if len(raw) > TAG_LENGTH_CAP:
        return None
    tag = fold_hashtag(raw)
    return tag if _TAG_ONLY.fullmatch(tag) and _LETTER.search(tag) else None


def _parse_candidate(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    """Return the position after the candidate, and its piece or None. A piece ends at this position."""
    if match["host"] is not None:
        return _parse_url(text, match)
    if match["bare"] is not None:
        return _parse_bare_host(text, match)
    if match["handle"] is not None:
        return _parse_mention(text, match)
    return _parse_hashtag(text, match)


def _parse_url(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    host = match["host"]
    length = host_length(host)
    host_end = match.start("host") + length
    if length and host[length:].strip("."):  # the sentence continues directly after the host, so there is no path
        return host_end, _url_piece(text[match.start() : host_end])
    path_start = _PORT.match(text, host_end).end()
    end = _path_end(text, path_start)
    if not length or _NOT_A_HOST_END.match(text, path_start) or end - match.start() > URL_LENGTH_CAP:
        return max(_REST_OF_INVALID_URL.match(text, match.end()).end(), end), None
    return end, _url_piece(text[match.start() : end])


def _parse_bare_host(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    host, host_end = match["bare"], match.end()
    path_start = _PORT.match(text, host_end).end()
    has_path = text[path_start : path_start + 1] == "/"
    if _NOT_A_BARE_END.match(text, path_start) or not is_bare_host(host, has_path=has_path):
        return host_end, None
    end = _path_end(text, path_start)
    if end - match.start() > URL_LENGTH_CAP:
        return end, None
    raw = text[match.start() : end]
    return end, Piece("url", raw, "https://" + raw)


def _parse_mention(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    handle, end = match["handle"], _own_host_end(text, match.end())
    if len(handle) > HANDLE_LENGTH_CAP or (end == match.end() and _MENTION_CONTINUES.match(text, end)):
        return end, None
    return end, Piece("mention", text[match.start() : end], handle.lower())


def _own_host_end(text: str, start: int) -> int:
    """Return the end of `@host` at `start` if this is the own host, else `start`."""
    if text[start : start + 1] in ("@", "＠"):
        for host in own_hosts():
            end = start + 1 + len(host)
            if text[start + 1 : end].lower() == host and not _OWN_HOST_CONTINUES.match(text, end):
                return end
    return start


def _parse_hashtag(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    tag = None if _TAG_CONTINUES.match(text, match.end()) else normalize_tag(match["tag"])
    return match.end(), None if tag is None else Piece("hashtag", match.group(), tag)


def _url_piece(raw: str) -> Piece:
    return Piece("url", raw, raw)


def _path_end(text: str, start: int) -> int:
    """Return the end of the path at `start`, without punctuation that belongs to the sentence around it."""
    end: int = _PATH.match(text, start).end()
    while end > start and _PATH_TRAILER.match(text, end - 1):
        end -= 1
    return end
