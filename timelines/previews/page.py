"""Reads the title and the `meta` elements of a page as browsers do (HTML Standard, 13.2; Encoding Standard).

A whole tree of a hostile page would take seconds. The tags alone take time in proportion to their number.
"""

import html
import re
from collections.abc import Callable, Collection, Iterator
from html.entities import html5
from itertools import chain
from typing import Any

import webencodings

_find_encoding: Callable[[str], Any] = webencodings.lookup
_decode: Callable[[bytes, Any, str], tuple[str, Any]] = webencodings.decode
STEPS_MAX = 50_000
"""The tags and attributes of a page that are read. Pages have these elements at their beginning."""
TITLE_READ_LENGTH = 4_000  # `int` refuses longer numbers, as in `&#…;`
_TAG = re.compile(r"<(?:(!--)|(/?[a-z][^\s/>]*+))", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(?:(?P<end>>)|(?P<name>[^\s/>][^\s/>=]*+)
        (?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s"'>][^\s>]*+))?+)?+)""",
    re.VERBOSE,
)
_COMMENT_END = re.compile(r"--!?>|(?<=<!--)-?>")
_RAW_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in (
        "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp", "svg", "math", "template",
    )
}  # fmt: skip
"""The ends of elements whose content has no `meta` of the page."""
_REFERENCE = re.compile(r"&(?:#\w{1,12}|[a-zA-Z0-9]{1,40});?(=?)")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';>]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s{0,9}<\?xml\b[^>]{0,200}\bencoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})""")
_CODECS = {"gbk": "gb18030", "euc-jp": "euc_jis_2004"}
"""The codecs of Python with all characters of these encodings."""


def read_elements(text: str) -> tuple[str, list[dict[str, str]]]:
    """Return the text of the first `title`, and the attributes of each `meta`."""
    title, metas = "", []
    for name, attributes, content in _elements(text):
        if name == "meta":
            metas.append(attributes)
        elif name == "title":
            title = title or html.unescape(content)
    return title, metas


def read_links(text: str, relation: str) -> list[str]:
    """Return the addresses of each `a` and `link` whose `rel` contains the relation."""
    elements = _elements(text, ("a", "link"))
    return [link.get("href", "") for _, link, _ in elements if relation in link.get("rel", "").lower().split()]


def decode_page(body: bytes, content_type: str) -> str:
    """Return the decoded text. The encoding is named by its byte order mark, the header or the page, or is guessed."""
    of_header = _CHARSET.search(content_type)
    labels = chain([of_header[1]] if of_header else [], _labels_of_page(body))
    encoding = next(filter(None, map(_find_encoding, labels)), None)
    if encoding is None or encoding.name == "replacement":
        text = body.decode(errors="replace")
        is_damaged = 2 * text.count("\ufffd") > len(text) - len(text.encode("ascii", "ignore"))
        encoding = _find_encoding("windows-1252" if is_damaged else "utf-8")
    text, used = _decode(body, encoding, "replace")
    return body.decode(_CODECS[used.name], "replace") if used.name in _CODECS else text


def _labels_of_page(body: bytes) -> Iterator[str]:
    """Yield the labels of encodings in the page. A page whose label can be read as ASCII is not in UTF-16."""
    metas = read_elements(body.decode("latin-1"))[1]
    for meta in metas:
        is_type = meta.get("http-equiv", "").lower() == "content-type"
        of_type = _CHARSET.search(meta.get("content", "")) if is_type else None
        if label := meta.get("charset") or (of_type[1] if of_type else ""):
            encoding = _find_encoding(label)
            yield {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(
                encoding.name if encoding else "", label
            )
    if match := _XML_ENCODING.match(body):
        yield match[1].decode()


def _elements(text: str, names: Collection[str] = ("meta",)) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield each element of these names with its attributes, and each raw element with the beginning of its content."""
    at, steps = 0, 0
    while steps < STEPS_MAX and (tag := _TAG.search(text, at)) is not None:
        steps += 1
        if tag[1]:
            end = _COMMENT_END.search(text, tag.end())
        else:
            attributes: dict[str, str] = {}
            end = _ATTRIBUTE.match(text, tag.end())
            while end is not None and not end["end"] and steps < STEPS_MAX:
                value = end["double"] or end["single"] or end["bare"] or ""
                attributes.setdefault(end["name"].lower(), value)
                end = _ATTRIBUTE.match(text, end.end())
                steps += 1
        if end is None:
            return
        at, name = end.end(), (tag[2] or "").lower()
        if name in _RAW_ENDS:
            closing = _RAW_ENDS[name].search(text, at)
            content_end, after = closing.span() if closing else (len(text), len(text))
            yield name, {}, text[at : min(content_end, at + TITLE_READ_LENGTH)]
            at = after
        elif name in names:
            yield name, {key: _unescape_attribute(value) for key, value in attributes.items()}, ""


def _unescape_attribute(value: str) -> str:
    """Unescape references, except those without a semicolon before a letter, a digit or "=" (`?a=1&copy=2`)."""
    return _REFERENCE.sub(_unescape_reference, value) if "&" in value else value


def _unescape_reference(match: re.Match[str]) -> str:
    name = match[0].removesuffix("=")
    if match[0].startswith("&#") or name.endswith(";"):
        return html.unescape(name) + match[1]
    return match[0] if match[1] or name[1:] not in html5 else html5[name[1:]]
