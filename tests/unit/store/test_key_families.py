"""Each key of the site is built by the builder of a declared family."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import socialsite.asgi  # noqa: F401 - imports the modules of all families
from socialsite import settings
from socialsite.store import Key, key_families

ROOT = Path(__file__).resolve().parents[3]
BUILDING_KEYS = {"socialsite/store/key.py", "socialsite/store/key_families.py", "socialsite/migration/edge_copier.py"}
"""Modules that name keys without a declaration: they build all keys, or copy keys to another partition."""
DECLARING = {
    each.__name__
    for each in (key_families.key_by_id, key_families.key_by_word, key_families.key_family, key_families.single_key)
}
FAMILIES_BY_PATTERN = pytest.mark.parametrize(
    "family", key_families.FAMILIES.values(), ids=lambda family: family.pattern
)


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for folder in ("socialsite", "accounts", "timelines"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                    yield path.relative_to(ROOT).as_posix(), node


def test_only_the_builders_of_families_build_keys() -> None:
    assert {path for path, _ in calls("Key")} <= BUILDING_KEYS


def test_the_container_imports_every_declaration() -> None:
    """A command that reads the declarations imports the container; a family elsewhere would be unknown to it."""
    declared = {
        call.args[0].value
        for name in DECLARING
        for path, call in calls(name)
        if path not in BUILDING_KEYS and isinstance(call.args[0], ast.Constant)
    }
    code = (
        "import django; django.setup(); import socialsite.container\n"
        "from socialsite.store.key_families import FAMILIES\nprint(*FAMILIES, sep='\\n')"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "socialsite.settings", "SECRET_KEY": settings.SECRET_KEY}
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert set(output.stdout.splitlines()) == declared == set(key_families.FAMILIES)


@FAMILIES_BY_PATTERN
def test_a_key_belongs_to_its_family_alone(family: key_families.KeyFamily) -> None:
    key = family.example
    assert [each for each in key_families.FAMILIES.values() if re.fullmatch(each.regex, key)] == [family]
    assert key_families.find_family(key) is family
    assert (Key.parse(key).component, Key.parse(key).tag) == (key.component, key.tag)


@FAMILIES_BY_PATTERN
def test_a_family_is_declared_completely(family: key_families.KeyFamily) -> None:
    assert family.redis_type in {"string", "hash", "list", "set", "zset", "stream", "channel", "none", "any"}
    assert not family.mirror or key_families.FAMILIES[family.mirror].mirror == family.pattern
    assert not family.in_backups or family.role.value == "cache"
    assert not family.trimmed_as or family.cap
    assert family.text
    assert "|" not in family.text


def test_capitals_in_a_declaration_name_a_setting_or_a_constant() -> None:
    paths = [path for folder in ("socialsite", "accounts", "timelines") for path in (ROOT / folder).rglob("*.py")]
    source = "\n".join(path.read_text() for path in paths)
    names = {
        name
        for family in key_families.FAMILIES.values()
        for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", f"{family.cap} {family.lifetime} {family.text}")
    }
    assert len(names) > 30
    definition = r"^[^#\n\"]*\b%s\b.* = |(?<!cap=)\"%s\""
    assert [name for name in names if not re.search(definition % (name, name), source, re.MULTILINE)] == []


def test_a_family_cannot_be_declared_twice() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        key_families.key_by_id("posts:{<post>}:likes", "zset", "again")


def test_a_builder_refuses_arguments_of_another_type() -> None:
    build = key_families.FAMILIES["posts:{<post>}:likes"].build
    with pytest.raises(TypeError):
        build("7}:text of a user")
    with pytest.raises(TypeError):
        build()
