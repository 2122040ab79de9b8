"""Follow graphs of the reference data, as lists of followers. Raises DataNotAvailable if a file is absent."""

import gzip
from collections.abc import Iterator

from benchmarks.imported import data_path

GRAPHS = {
    "slashdot": "graphs/slashdot0902-directed.tsv.gz",
    "higgs": "graphs/higgs-retweet-directed.tsv.gz",
    "hershey": "graphs/twitter-followers-hersheycareers.tsv.gz",
    "verizon": "graphs/twitter-followers-verizoncareers.tsv.gz",
}
"""Graphs of tags, retweets and follows. ego-facebook is left out: it has mutual friends and no tail."""


def edges_of(name: str) -> Iterator[tuple[int, int]]:
    """Yield (follower, followed), without self-follows; ids start at 1. Raises DataNotAvailable."""
    with gzip.open(data_path(GRAPHS[name]), "rt", encoding="utf-8") as lines:
        for line in lines:
            if line[0] != "#":
                source, target = map(int, line.split())
                if source != target:
                    yield source, target


def followers_of(name: str, share: float = 1.0) -> dict[int, list[int]]:
    """Return followers by account, for the first `share` of the accounts. Raises DataNotAvailable."""
    followers_by_account: dict[int, list[int]] = {}
    edges = list(edges_of(name))
    last = max(map(max, edges)) * share
    for follower, followed in edges:
        if follower <= last and followed <= last:
            followers_by_account.setdefault(followed, []).append(follower)
    return followers_by_account
