"""Where the postings of a term stand."""

from timelines.search.repository import partition_of_post, term_digest, term_keys


def test_postings_stand_where_earlier_releases_put_them() -> None:
    """Or an index that stands finds nothing, and nobody takes out what is in it."""
    assert (partition_of_post(4096), term_digest("tea").hex()) == (1, "4b1891551d4c")
    assert term_keys(3, [term_digest("tea"), term_digest("cake")]) == [
        "search:{s3}:term:4b1891551d4c",
        "search:{s3}:rare:341",
        "search:{s3}:term:9904b860c3ba",
        "search:{s3}:rare:96",
    ]
