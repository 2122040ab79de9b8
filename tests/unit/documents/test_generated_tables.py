"""The tables of the documents that repeat a declaration are those that `make tables` writes."""

import pytest

from tests.support.generated_tables import TABLES, build_document


@pytest.mark.parametrize("path", sorted({path for path, _ in TABLES.values()}), ids=lambda path: path.name)
def test_the_tables_of_a_document_are_up_to_date(path) -> None:
    assert path.read_text() == build_document(path), "run `make tables`"
