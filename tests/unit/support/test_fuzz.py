"""The fuzzer sends every field of every page."""

import re
from pathlib import Path

from tests.support.hostile_input import FIELDS, QUERIES

TEMPLATES = sorted((Path(__file__).resolve().parents[3] / "templates").rglob("*.html"))
FIELD = re.compile(r"""<(?:input|select|textarea|button)\b[^>]*\sname="([\w-]+)\"""")


def test_the_fuzzer_sends_every_field_of_a_page() -> None:
    fields = {name for path in TEMPLATES for name in FIELD.findall(path.read_text())}
    assert len(fields) > 15
    assert fields - {*FIELDS, *QUERIES} == set()
