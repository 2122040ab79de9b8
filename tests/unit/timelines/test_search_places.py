"""Keys of the search index."""

from timelines.search.repository import partition_of_post, term_digest, term_keys


def test_the_keys_of_postings_are_the_same_as_in_earlier_releases() -> None:
    """With other keys an existing index would return nothing, and its entries would never be deleted."""
    assert (partition_of_post(4096), term_digest("tea").hex()) == (1, "4b1891551d4c")
    assert term_keys(3, [term_digest("tea"), term_digest("cake")]) == [
        "search:{s3}:term:4b1891551d4c",
        "search:{s3}:rare:341",
        "search:{s3}:term:9904b860c3ba",
        "search:{s3}:rare:96",
    ]
