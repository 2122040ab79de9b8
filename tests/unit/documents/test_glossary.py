"""docs/glossary.md defines every term of module names, once and alphabetically."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("accounts", "socialsite", "timelines")
DEFINITION = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)
PLAIN = frozenset(
    """
    accents access actions activity address affected after algebra and aof apps asgi async atom
    authentication autocomplete backends barrier base batched batches binaries bluesky boosters
    bootstrap broadcaster browsers
    cached characters check checks child clock cluster command commands config connection consumer context control
    changes compression content copier counts create csrf current dashboard dates deadletters deadline delete diff
    directory disable event frames
    dispatcher django domain dump errors estimate factory families fanouts fields flow flush followed formats
    forms
    forwarding gate gc graceful graph guard handler headers health hosts html identity ids indexing init
    initial instance inventory json
    labels lag lines mastodon linkify links listener load lookup mail map memory merge merging menu message messages
    meter metrics middleware mirrors missed models multiprocess names page pagination pair paragraphs parsers
    partial password passwords
    periodic plan pool ports postgres presenters process progress prometheus pubsub purge queue quickstart
    reader registrations rebuild registry repartitioner replacement responses restore router routing rows
    rules
    sampler scanner scanning security sentinel server servers set settings shared shutdown size socket sockets
    spec sqlite standalone startup state static stats storage stored streaming subscriptions supervisor suspend
    switcher task
    tasks text time tokenizer translations trial trim trimming try tuning twemproxy types unknown urls validation values
    view views watch websocket work writer wrong x zset
    """.split()  # noqa: SIM905 - a list of words
)
"""Words of module names that are plain English or Django's, Redis' and the Web's own."""


def definitions() -> list[tuple[str, str]]:
    text = re.sub(r"\n  +", " ", (ROOT / "docs" / "glossary.md").read_text())
    return DEFINITION.findall(text)


def terms() -> set[str]:
    """Return the words of all defined terms."""
    return {word for term, _ in definitions() for word in re.split(r"[ -]", term.lower())}


def words_of_modules() -> Iterator[tuple[str, str]]:
    """Yield each word of a module's name with the module's path."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            yield from ((word, name) for word in path.stem.split("_") if word)


def singulars(word: str) -> set[str]:
    """Return the word and what it may be the plural of."""
    endings = {"ies": "y", "es": "", "s": ""}
    return {word, *(word.removesuffix(end) + new for end, new in endings.items() if word.endswith(end))}


def test_every_word_of_a_module_name_is_a_term_or_plain() -> None:
    known = terms() | PLAIN
    unknown = {f"{word} ({path})" for word, path in words_of_modules() if not singulars(word) & known}
    assert unknown == set(), "define it in docs/glossary.md, or use a term that is there"


def test_plain_words_are_used_and_not_defined() -> None:
    used = {each for word, _ in words_of_modules() for each in singulars(word)}
    assert PLAIN - used == set()
    assert PLAIN & terms() == set()


def test_terms_are_alphabetical_and_each_is_defined_in_one_sentence() -> None:
    names = [term.lower() for term, _ in definitions()]
    assert names == sorted(set(names))
    assert [text for _, text in definitions() if not text.endswith(".") or ". " in text] == []
