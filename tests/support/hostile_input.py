"""Texts that break sites, arbitrary requests to every address, and arbitrary socket frames."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from urllib.parse import quote

from hypothesis import strategies as st

from tests.support.corpora import corpus_json, corpus_text
from tests.support.routes import Route, api_routes, routes
from timelines.text.post_text import TextRefused, check_post_text

OWN_PAYLOADS = (
    '"><img src=x onerror=alert(1)>', "'><svg/onload=alert(1)>", "</script><script>alert(1)</script>",
    "{{7*7}}{% debug %}<%= 7*7 %>${7*7}", "javascript:alert(1)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    '" autofocus onfocus=alert(1) x="', "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<a href=javascript:alert(1)>x</a>", "&lt;script&gt;alert(1)&lt;/script&gt;", "<!--<script>alert(1)//-->",
    "\u202e<script>alert(1)</script>\u202c", "<math><mi xlink:href='javascript:alert(1)'>", "-->]]>{{}}\\",
    "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=alert() )//%0D%0A%0d%0a//</stYle/</titLe/"
    "</teXtarEa/</scRipt/--!>\\x3csVg/<sVg/oNloAd=alert()//>\\x3e",
)  # fmt: skip
"""Attributes, elements that close others, templates, entities, comments, directions, and 0xsobky's polyglot."""


def read_script_payloads(name: str) -> list[str]:
    match name:
        case "dompurify":
            return [row["payload"] for row in corpus_json("conformance/xss/dompurify-expect.json")]
        case "h5sc":
            return [row["data"] for row in corpus_json("conformance/xss/h5sc-vectors.json")]
        case "fuzzdb":
            return corpus_text("conformance/xss/fuzzdb-xss-rsnake.txt").splitlines()
    return corpus_text("conformance/xss/fuzzdb-xss-uri.txt").splitlines()


def read_naughty_strings() -> list[str]:
    strings: list[str] = corpus_json("conformance/naughty/blns.json")
    return strings


def select_publishable(texts: Iterable[str]) -> list[str]:
    """Return the texts that may be posted. tests/unit/text/test_text.py checks the refused ones."""
    publishable = []
    for text in texts:
        with contextlib.suppress(TextRefused):
            publishable.append(check_post_text(text, 500))
    return publishable


COLLECTIONS = ("dompurify", "h5sc", "fuzzdb", "fuzzdb-uri")


def all_payloads() -> list[str]:
    """Return every distinct text of all collections."""
    return list(dict.fromkeys(chain(OWN_PAYLOADS, *map(read_script_payloads, COLLECTIONS), read_naughty_strings())))


def fields_first() -> Iterator[str]:
    """Yield the distinct texts, our own first, then alternately from each collection: any prefix is a fair sample."""
    turns = zip_longest(*map(read_script_payloads, COLLECTIONS), read_naughty_strings())
    yield from dict.fromkeys(chain(OWN_PAYLOADS, (text for turn in turns for text in turn if text)))


TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
FIELD_OF_PAGE = re.compile(r"""<(?:input|select|textarea|button)\b[^>]*\sname="([\w-]+)\"""")
FIELDS = sorted(
    {
        *(name for path in TEMPLATES.rglob("*.html") for name in FIELD_OF_PAGE.findall(path.read_text())),
        *(name for route in (*routes(), *api_routes()) for name in route.fields),
        *(
            "auth",
            "p256dh",
            "mention",
            "like",
            "state",
            "redirect_uri",
            "response_type",
            "code_challenge",
            "code_verifier",
        ),
        *(
            "code_challenge_method",
            "status",
            "status_id",
            "in_reply_to_id",
            "notify",
            "reblogs",
            "data[alerts][mention]",
        ),
        *("fields_attributes[0][value]", "media_attributes[][id]", "media_attributes[][focus_x]", "part-1"),
    }
)
"""The fields of pages, the fields that views read, and names that loops of the API compute."""

QUERIES = (
    "before", "after", "limit", "cursor", "q", "date", "tab", "range", "next", "x",
    "by", "target", "action", "since", "until", "kind", "report", "post", "show",
    "max_id", "since_id", "min_id", "id[]", "acct", "any[]", "none[]", "tagged", "only_media", "pinned", "remote",
)  # fmt: skip

HOSTILE_TEXTS = (
    "", " ", "\x00", "\ud800", "\udfff\ud800", "\ufffe", "\U0010ffff", "a\u0301" * 300, "\u202e", "0", "-1",
    "1", "9007199254740991", "9007199254740992", "1" * 400, "1e309", "NaN", "null", "true", "[]", "{}",
    "home", "list:1", "list:" + "0" * 15 + "1" + "9" * 40, "profile:alice", "tag:x", "alice", "@alice",
    "fuzzer", "all", "public", "followers", "union", "1 1", "2024-02-30", "9999-12-31", "%00",
    "../../etc/passwd", "{x}:y*", "\r\nX: y", "a" * 5_000, "\N{GRINNING FACE}" * 600, "<script>", "٣", "²",
    "１", "ﬀ" * 40, "İ" * 30, "ß" * 30,
)  # fmt: skip

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=60)

TEXTS = st.one_of(st.sampled_from(HOSTILE_TEXTS), ANY_TEXT, st.integers().map(str))

SCALARS = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats())

VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)

NAMES = st.one_of(st.sampled_from(FIELDS), st.sampled_from(FIELDS).map("{}[]".format), TEXTS)

DEEP_JSON = st.sampled_from(
    [b"[" * 30_000, b'{"a":' * 9_000, b"[" * 30_000 + b"]" * 30_000, b'{"text":' + b"9" * 4_400 + b"}"]
)

RAW_BODIES = st.one_of(
    st.binary(max_size=200), DEEP_JSON, st.sampled_from([b"text=\xc0\xaf", b"text=\xed\xa0\x80", b"\xff" * 70_000])
)


def encode_json(value: object) -> bytes:
    return json.dumps(value).encode()  # half surrogates become \udXXX; NaN and Infinity stay as they are


def encode_form(pairs: list[tuple[str, str]]) -> bytes:
    return "&".join(f"{quote(n, errors='surrogatepass')}={quote(v, errors='surrogatepass')}" for n, v in pairs).encode()


def encode_multipart(pairs: list[tuple[str, str]]) -> bytes:
    lines = [
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
        % (name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass"))
        for name, value in pairs
    ]
    return b"".join(lines) + b"--x--\r\n"


@dataclass(frozen=True)
class FuzzRequest:
    """One request. Hypothesis prints all of it if it fails a test."""

    method: str
    path: str
    content_type: str
    body: bytes
    wants_json: bool


FORM, PARTS, JSON_TYPE = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"


@cache
def bodies(fields: tuple[str, ...]) -> st.SearchStrategy[tuple[str, bytes]]:
    """Return bodies with their media types. Every other name is one of `fields`, if there are any."""
    names = st.one_of(st.sampled_from(fields), NAMES) if fields else NAMES
    pairs = st.lists(st.tuples(names, TEXTS), max_size=6)
    objects = st.dictionaries(names, VALUES, max_size=6)
    return st.one_of(
        st.tuples(st.just(JSON_TYPE), st.one_of(objects, VALUES).map(encode_json)),
        st.tuples(st.just(FORM), pairs.map(encode_form)),
        st.tuples(st.just(PARTS), pairs.map(encode_multipart)),
        st.tuples(st.sampled_from([FORM, PARTS, JSON_TYPE, "text/plain", f"{JSON_TYPE}; charset=utf-16"]), RAW_BODIES),
    )


EXCLUDED_PATHS = ("/accounts/delete/", "/accounts/logout/")
"""Paths that would end the session by accident."""

ROUTES = [route for route in routes() if route.path not in EXCLUDED_PATHS]

API_ROUTES = [route for route in api_routes() if route.path.startswith("/api/") and "streaming" not in route.path]
"""Paths that apps request with a token, without the endless ones."""

STAFF_ROUTES = [route for route in ROUTES if route.path.startswith("/ops/")]
"""Paths that only staff can open."""


@st.composite
def fuzz_requests(draw: st.DrawFn, among: Sequence[Route] = ROUTES) -> FuzzRequest:
    route = draw(st.sampled_from(among))
    route_path = route.pattern if draw(st.booleans()) else route.path
    pieces = [
        quote(draw(TEXTS), safe="", errors="surrogatepass") if piece.startswith("<") else piece
        for piece in route_path.replace("<", "\0<").replace(">", ">\0").split("\0")
    ]
    path = "".join(pieces)[:3_000]
    method = draw(st.sampled_from(sorted(route.methods) or ["GET"]))
    if method in ("GET", "HEAD"):
        query = encode_form(draw(st.lists(st.tuples(st.sampled_from(QUERIES), TEXTS), max_size=3))).decode()
        return FuzzRequest(method, f"{path}?{query}"[:6_000], "", b"", draw(st.booleans()))
    content_type, body = draw(bodies(tuple(route.fields)))
    return FuzzRequest(method, path, content_type, body, draw(st.booleans()))


def decode_frame(frame: tuple[bytes, bool]) -> str | bytes:
    raw, is_text = frame
    return raw.decode("utf-8", "replace") if is_text else raw


def is_accepted_frame(said: str | bytes) -> bool:
    """Return whether the frame is at most 4 kB: a larger frame correctly closes the socket."""
    return len(said.encode() if isinstance(said, str) else said) <= 4_096


TIMELINES = st.one_of(
    st.sampled_from(["home", "public", "tags", "notifications", "list:1", "profile:alice", "tag:x"]),
    st.tuples(st.sampled_from(["list:", "profile:", "tag:", "home:", ""]), TEXTS).map("".join),
)

MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["subscribe", "unsubscribe"]), "timeline": TIMELINES},
        optional={"after": st.one_of(SCALARS, st.integers(0, 2**53))},
    ),
    st.fixed_dictionaries({"type": st.just("watch"), "ids": st.lists(SCALARS, max_size=110)}),
    st.dictionaries(st.sampled_from(["type", "timeline", "after", "ids", "x"]), VALUES, max_size=4),
    VALUES,
).map(encode_json)

BYTES = st.one_of(MESSAGES, st.binary(max_size=300), st.sampled_from([b"[" * 4_000, b'{"a":' * 800, b'"\\ud800"', b""]))

FRAMES = st.tuples(BYTES, st.booleans()).map(decode_frame).filter(is_accepted_frame)
