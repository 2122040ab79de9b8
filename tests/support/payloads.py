"""Texts collected to break sites: scripting attacks and naughty strings."""

import contextlib
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from tests.support.corpora import corpus_json, corpus_text
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
    """Return the texts that may be posted. tests/unit/text/test_text_conformance.py checks the refused ones."""
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
