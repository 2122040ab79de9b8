"""Follow graphs of the reference data, as lists of followers. Where the files are absent: DataNotAvailable."""

import gzip
from collections.abc import Iterator

from benchmarks.imported import data_path

GRAPHS = {
    "slashdot": "graphs/slashdot0902-directed.tsv.gz",
    "higgs": "graphs/higgs-retweet-directed.tsv.gz",
    "hershey": "graphs/twitter-followers-hersheycareers.tsv.gz",
    "verizon": "graphs/twitter-followers-verizoncareers.tsv.gz",
}
"""Who reads whom: tagged, retweeted, follows. ego-facebook has mutual friends and no tail: left out."""


def edges_of(name: str) -> Iterator[tuple[int, int]]:
    """(follower, followed), no edge from anybody to themselves; ids from 1 on. Raises DataNotAvailable."""
    with gzip.open(data_path(GRAPHS[name]), "rt", encoding="utf-8") as lines:
        for line in lines:
            if line[0] != "#":
                source, target = map(int, line.split())
                if source != target:
                    yield source, target


def followers_of(name: str, share: float = 1.0) -> dict[int, list[int]]:
    """Followers by account; of the first `share` of the accounts. Raises DataNotAvailable."""
    found: dict[int, list[int]] = {}
    edges = list(edges_of(name))
    last = max(map(max, edges)) * share
    for follower, followed in edges:
        if follower <= last and followed <= last:
            found.setdefault(followed, []).append(follower)
    return found
