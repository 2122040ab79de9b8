"""docs/glossary.md or another document uses every term of module names; the glossary is alphabetical."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("accounts", "socialsite", "timelines")
DEFINITION = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)
PLAIN = frozenset(
    """
    affected algebra aof authentication autocomplete backends barrier base batched binaries bootstrap broadcaster
    concurrency config copier deadletters diff disable dispatcher gate gc graceful health indexing init initial
    inventory listener lookup merging meter mirrors multiprocess pagination partial plan postgres presenters pubsub
    purge repartitioner router routing sampler scanning spec standalone startup streaming switcher tokenizer trim
    trimming tuning validation
    """.split()  # noqa: SIM905 - a list of words
)
"""Words of module names that no document uses, and that are plain English or Django's, Redis' and the Web's own."""


def definitions() -> list[tuple[str, str]]:
    text = re.sub(r"\n  +", " ", (ROOT / "docs" / "glossary.md").read_text())
    return DEFINITION.findall(text)


def terms() -> set[str]:
    """Return the words of all defined terms."""
    return {word for term, _ in definitions() for word in re.split(r"[ -]", term.lower())}


def words_of_documents() -> set[str]:
    """Return the words of the other documents, without code."""
    texts = (path.read_text().lower() for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md")
    return {word for text in texts for word in re.findall(r"[a-z]+", re.sub(r"`[^`]*`", "", text))}


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
    known = {each for word in terms() | words_of_documents() | PLAIN for each in singulars(word)}
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
