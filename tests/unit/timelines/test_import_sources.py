"""Where an import looks for what became of a source, and what it reads there."""

import pytest

from socialsite.ids import PostId
from timelines.importing.repository import Source, parse_source, source_key


def test_a_source_is_found_where_earlier_releases_put_it() -> None:
    assert source_key("a") == "posts:{ca978112ca1bbdcafac231b39a23dc4d}:source"


@pytest.mark.parametrize(
    ("held", "source"),
    [
        (b"1", Source(PostId(1), is_done=True)),
        (b"-1", Source(PostId(1), is_done=False)),
        (b"0", Source(PostId(0), is_done=False)),
    ],
)
def test_a_source_is_done_where_its_id_says_so(held: bytes, source: Source) -> None:
    assert parse_source(held) == source
