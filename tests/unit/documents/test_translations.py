"""The translations of the interface: complete, compiled, and with the placeholders and plural forms of the texts."""

import gettext
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.translation import get_language_info

from tests.support.programs import needs

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]
SOURCES = ("accounts", "socialsite", "templates", "timelines")
FIELD = re.compile(r'^(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?) ((?:".*"\n?)+)', re.MULTILINE)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")
POSITIONAL = {"%s", "%d"}
MAX_NUMBER = 1_000
INSERTED = re.compile(r'(⁦|⁨|<bdi>|dir="ltr">|/@|href="|">)?[@#]?(?:%\((\w+)\)s|\{(\w+)\})')
"""What stands before a placeholder that is isolated, and its name."""
NEEDS_NO_ISOLATION = {
    "choices", "count", "date", "day", "days", "decision", "files", "id", "left", "max", "month", "most", "n", "number",
    "onboarding_step", "people", "percent", "posts", "reason", "shown", "step", "time", "top", "total", "until", "used",
    "votes", "week",
}  # fmt: skip
"""Placeholders for numbers, times, and texts in the language of the page."""

pytestmark = needs("msgfmt")


def po_file(language: str) -> Path:
    return ROOT / "locale" / language / "LC_MESSAGES/django.po"


def entries(text: str) -> Iterator[dict[str, str]]:
    """Return the fields of each entry of a .po file, without its header and obsolete entries."""
    for block in text.split("\n\n"):
        fields = {name: "".join(QUOTED.findall(quoted)) for name, quoted in FIELD.findall(block)}
        if fields.get("msgid"):
            yield {**fields, "flags": "".join(re.findall("^#,.*", block, re.MULTILINE))}


def run(*command: str | Path, **options: object) -> str:
    """Return what the command prints. Raises AssertionError if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert result.returncode == 0, result.stdout + result.stderr
    return str(result.stdout)


@pytest.fixture
def source_texts(tmp_path: Path) -> Path:
    """The texts of the sources, collected as `make messages` does."""
    folder = tmp_path / "sources"
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", folder)
    (folder / "locale").mkdir()
    command = [sys.executable, "manage.py", "makemessages", "--locale", "de", "--keep-pot", "--no-location"]
    run(*command, cwd=folder, env={**os.environ, "DJANGO_SETTINGS_MODULE": "socialsite.settings"})
    return folder / "locale/django.pot"


def missing_texts(po: Path, pot: Path) -> list[str]:
    """Return the texts that a language lacks, or has with a guessed translation (fuzzy)."""
    merged = run("msgmerge", "--quiet", "--no-fuzzy-matching", "--no-wrap", "--output-file=-", po, pot)
    lacking = run("msgattrib", "--untranslated", "--no-obsolete", "--no-wrap", "-", input=merged)
    guessed = run("msgattrib", "--only-fuzzy", "--no-obsolete", "--no-wrap", "-", input=merged)
    return [entry["msgid"] for text in (lacking, guessed) for entry in entries(text)]


@pytest.mark.release
def test_complete_languages_have_every_text_of_the_sources(source_texts: Path) -> None:
    missing = {language: missing_texts(po_file(language), source_texts) for language in LANGUAGES}
    assert missing == {language: [] for language in LANGUAGES}


def test_a_missing_and_a_guessed_text_are_found(tmp_path: Path) -> None:
    pot, po = tmp_path / "django.pot", tmp_path / "de.po"
    texts = [f'msgid "{text}"\nmsgstr "{{}}"' for text in ("known", "missing", "guessed")]
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"'
    pot.write_text("\n\n".join([header, *texts]).format("", "", ""))
    po.write_text("\n\n".join([header, texts[0], f"#, fuzzy\n{texts[2]}"]).format("bekannt", "geraten"))
    assert set(missing_texts(po, pot)) == {"missing", "guessed"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_compiled(language: str, tmp_path: Path) -> None:
    """msgfmt checks the number of plural forms, the placeholders of Python and the line breaks. Babel compiles."""
    run("msgfmt", "--check", "--output-file", tmp_path / "new.mo", po_file(language))
    with (tmp_path / "new.mo").open("rb") as new, po_file(language).with_suffix(".mo").open("rb") as stored:
        catalogs = [gettext.GNUTranslations(file)._catalog for file in (new, stored)]  # type: ignore[attr-defined]
    texts, compiled = ({key: text for key, text in catalog.items() if key} for catalog in catalogs)
    assert texts == compiled


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_placeholders_of_their_texts(language: str) -> None:
    with po_file(language).with_suffix(".mo").open("rb") as file:
        plural = gettext.GNUTranslations(file).plural  # type: ignore[attr-defined]
    numbers_by_form: dict[int, list[int]] = {}
    for number in range(MAX_NUMBER):
        numbers_by_form.setdefault(plural(number), []).append(number)
    for entry in entries(run("msgcat", "--no-wrap", po_file(language))):
        first, last = entry["msgid"], entry.get("msgid_plural", entry["msgid"])
        forms = [text for name, text in entry.items() if name.startswith("msgstr") and text]
        for form, text in enumerate(forms):
            wanted, found = set(PLACEHOLDER.findall(last)), set(PLACEHOLDER.findall(text))
            assert found <= wanted | set(PLACEHOLDER.findall(first)), text
            is_of_one_number = "msgid_plural" in entry and len(numbers_by_form[form]) == 1
            may_lack = 1 if is_of_one_number else 0  # "one post" needs no number
            assert len(wanted - found) <= may_lack, text
            assert not POSITIONAL & (wanted - found), text
            assert (first[:1] == " ", first[-1:] == " ") == (text[:1] == " ", text[-1:] == " "), text


@pytest.mark.parametrize("language", [code for code in LANGUAGES if get_language_info(code)["bidi"]])
def test_inserted_texts_are_isolated_where_a_language_is_written_from_right_to_left(language: str) -> None:
    """Without an isolate the "@" of a handle stands at its wrong end (Unicode Bidirectional Algorithm, 2.4)."""
    for entry in entries(run("msgcat", "--no-wrap", po_file(language))):
        for text in (text.replace('\\"', '"') for name, text in entry.items() if name.startswith("msgstr")):
            bare = {first or second for isolate, first, second in INSERTED.findall(text) if not isolate}
            assert bare <= NEEDS_NO_ISOLATION, text
