"""Finds links, mentions and hashtags in a text; the grammar follows twitter-text where it fits.

Links are http and https only, with a known top-level domain or an IPv4 address, and no user name (it
dresses up another host). A bare domain counts where it is ASCII and does not look like a file name, a call
or a lost space. Linear: patterns are possessive, a refused candidate is consumed, hosts are at most 253
long, and a path is read only after its host was accepted (docs/reference/decisions/linkifier.md).
"""

import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

import regex

from timelines.text.hosts import host_length, is_bare_host

TAG_LENGTH_CAP = 100
HANDLE_LENGTH_CAP = 20
URL_LENGTH_CAP = 4096
LINKS_CAP = 500
"""Links, mentions and hashtags of one text; what follows stays text. More than fit into a post."""

Kind = Literal["text", "url", "mention", "hashtag"]


class Piece(NamedTuple):
    """A part of a text; the `raw` of all pieces joined is the text. `target`: address, handle or tag."""

    kind: Kind
    raw: str
    target: str = ""


_NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\u3000-\u303f\uff00-\uffef"
_PATH_CHARACTER = rf"[^\s\p{{C}}<>\"`{{}}|\\^()\[\]{_NO_SPACES}]"
_TAG_MARKS = r"_\u200c\u200d\u00b7\u05be\u05f3\u05f4\u0f0b\u0f0c\u30a0\u30fb\u3003\u301c\uff5e"
_TAG = rf"\p{{L}}\p{{M}}\p{{Nd}}{_TAG_MARKS}--[\ufe00-\ufe0f\u20e3]"

_CANDIDATE = regex.compile(
    r"(?<![A-Za-z0-9@＠$#＃])[Hh][Tt][Tt][Pp][Ss]?://(?P<host>[\p{L}\p{M}\p{N}\p{So}_.-]{1,253}+)"
    r"|(?<![@＠$#＃_./\-0-9\p{Latin}\p{Cyrillic}\p{Greek}])"
    r"(?P<bare>[A-Za-z0-9][A-Za-z0-9-]*+(?:\.(?!https?://)[A-Za-z0-9-]++)++)"
    r"|(?<![A-Za-z0-9_!@＠#＃$%&*])[@＠](?P<handle>[A-Za-z0-9_]++)"
    rf"|(?<![&{_TAG}])[#＃](?P<tag>[{_TAG}]++)",
    regex.VERSION1,
)
_PORT = regex.compile(r"(?::[0-9]{1,5}+)?+")
# Brackets belong to a path in pairs, at most two deep: an attempt that finds no partner has read only as far
# as the third opening bracket, which bounds how often one character is read.
_PATH = regex.compile(
    rf"(?:[/?#](?:{_PATH_CHARACTER}++|\((?:{_PATH_CHARACTER}++|\({_PATH_CHARACTER}*+\))*+\)"
    rf"|\[{_PATH_CHARACTER}*+\])*+)?+",
    regex.VERSION1,
)
_REFUSED_REST = regex.compile(rf"[^\s<>\"{_NO_SPACES}]*+", regex.VERSION1)
_TAG_ONLY = regex.compile(rf"[{_TAG}]{{1,{TAG_LENGTH_CAP}}}", regex.VERSION1)
_LETTER = regex.compile(r"\p{L}")
_NOT_A_HOST_END = regex.compile(r"[@%\\0-9]|:[^\s\p{P}]|://")
_NOT_A_BARE_END = regex.compile(r"[@%\\0-9_(\p{Latin}\p{Cyrillic}\p{Greek}\p{M}]|:[^\s\p{P}]|://|-")
_MENTION_GOES_ON = regex.compile(r"[@＠\p{Latin}\p{M}]|://")
_TAG_GOES_ON = regex.compile(r"[#＃]|://")
_nfkc = partial(unicodedata.normalize, "NFKC")
_PATH_TRAILERS = "?!.,:;'*@…’”»"


def scan(text: str) -> Iterator[Piece]:
    """The pieces of a text, in order."""
    done = position = found = 0
    while found < LINKS_CAP and (match := _CANDIDATE.search(text, position)) is not None:
        position, piece = _judge(text, match)
        if piece is None:
            continue
        found += 1
        if match.start() > done:
            yield Piece("text", text[done : match.start()])
        yield piece
        done = position
    if done < len(text):
        yield Piece("text", text[done:])


def normalize_tag(raw: str) -> str | None:
    """The tag as it stands in `/tags/<tag>/` (NFKC, case-folded), or None where `raw` is no tag."""
    if len(raw) > TAG_LENGTH_CAP:
        return None
    # The full-width tilde stands for the wave dash in Japanese text; NFKC would make it a plain "~".
    tag = raw.lower() if raw.isascii() else _nfkc(_nfkc(raw.replace("\uff5e", "\u301c")).casefold())
    return tag if _TAG_ONLY.fullmatch(tag) and _LETTER.search(tag) else None


def _judge(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    """Where to go on reading, and the piece if the candidate is one. The piece ends where reading goes on."""
    if match["host"] is not None:
        return _judge_url(text, match)
    if match["bare"] is not None:
        return _judge_bare(text, match)
    if match["handle"] is not None:
        return _judge_mention(text, match)
    return _judge_tag(text, match)


def _judge_url(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    host = match["host"]
    length = host_length(host)
    host_end = match.start("host") + length
    if length and host[length:].strip("."):  # the sentence goes on: no path belongs to it
        return host_end, _url_piece(text[match.start() : host_end])
    path_start = _PORT.match(text, host_end).end()
    end = _path_end(text, path_start)
    if not length or _NOT_A_HOST_END.match(text, path_start) or end - match.start() > URL_LENGTH_CAP:
        return max(_REFUSED_REST.match(text, match.end()).end(), end), None
    return end, _url_piece(text[match.start() : end])


def _judge_bare(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
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


def _judge_mention(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    handle = match["handle"]
    if len(handle) > HANDLE_LENGTH_CAP or _MENTION_GOES_ON.match(text, match.end()):
        return match.end(), None
    return match.end(), Piece("mention", match.group(), handle.lower())


def _judge_tag(text: str, match: regex.Match[str]) -> tuple[int, Piece | None]:
    tag = None if _TAG_GOES_ON.match(text, match.end()) else normalize_tag(match["tag"])
    return match.end(), None if tag is None else Piece("hashtag", match.group(), tag)


def _url_piece(raw: str) -> Piece:
    return Piece("url", raw, raw)


def _path_end(text: str, start: int) -> int:
    """Where the path at `start` ends, without the punctuation of the sentence around it."""
    end: int = _PATH.match(text, start).end()
    while end > start and text[end - 1] in _PATH_TRAILERS:
        end -= 1
    return end
