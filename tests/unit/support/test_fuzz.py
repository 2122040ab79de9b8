"""Fuzzing knows every field of every page, or it would knock at closed doors."""

import re
from pathlib import Path

from tests.support.fuzz import FIELDS, QUERIES

TEMPLATES = sorted((Path(__file__).resolve().parents[3] / "templates").rglob("*.html"))
FIELD = re.compile(r"""<(?:input|select|textarea|button)\b[^>]*\sname="([\w-]+)\"""")


def test_every_field_of_a_page_is_among_those_that_are_sent() -> None:
    found = {name for path in TEMPLATES for name in FIELD.findall(path.read_text())}
    assert len(found) > 15
    assert found - {*FIELDS, *QUERIES} == set()
