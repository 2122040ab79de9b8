"""The keys and values in which an import stores the state of a source."""

import pytest

from socialsite.ids import PostId
from timelines.importing.repository import Source, parse_source, source_key


def test_the_key_of_a_source_is_the_same_as_in_earlier_releases() -> None:
    assert source_key("a") == "posts:{ca978112ca1bbdcafac231b39a23dc4d}:source"


@pytest.mark.parametrize(
    ("held", "source"),
    [
        (b"1", Source(PostId(1), is_done=True)),
        (b"-1", Source(PostId(1), is_done=False)),
        (b"0", Source(PostId(0), is_done=False)),
    ],
)
def test_the_sign_of_a_stored_id_marks_a_source_as_done(held: bytes, source: Source) -> None:
    assert parse_source(held) == source
