"""Find the data of tests: vendored in tests/data, or, if its licence forbids a copy, beside the checkout.

A test skips, also with CI=true, if its data may not be copied and is absent (`DATA_NOT_COPIED`).
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

VENDORED_DIR = Path(__file__).resolve().parents[1] / "data"
EXTERNAL_DIR = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA_NOT_COPIED = "data without a licence to copy it"
"""The start of the reason of skips that CI accepts (tests/plugins/skips.py)."""
SOURCES = {
    "graphs/slashdot0902-directed.tsv.gz": "https://snap.stanford.edu/data/soc-Slashdot0902.html",
    "graphs/higgs-retweet-directed.tsv.gz": "https://snap.stanford.edu/data/higgs-twitter.html",
    "posts/arsarcasm-arabic.jsonl.gz": "https://github.com/iabufarha/ArSarcasm",
    "posts/nsmc-korean.jsonl.gz": "https://github.com/e9t/nsmc",
    "graphs/ego-facebook-undirected.tsv.gz": "https://snap.stanford.edu/data/ego-Facebook.html",
    "archives/mastodon/mastodon-export-2023.zip": "https://github.com/lmorchard/fossilizer",
}


def find_corpus(relative: str) -> Path | None:
    """Return the path of a data file, or None if it is absent. A file that may be copied is in tests/data."""
    folders = (VENDORED_DIR, EXTERNAL_DIR) if relative in SOURCES else (VENDORED_DIR,)
    return next((path for folder in folders if (path := folder / relative).exists()), None)


def corpus_path(relative: str) -> Path:
    """Return the path of a data file. Skips the test if the file is absent because it may not be copied."""
    path = find_corpus(relative)
    if path is not None:
        return path
    if relative not in SOURCES:
        pytest.fail(f"tests/data/{relative} is missing")
    pytest.skip(f"{DATA_NOT_COPIED}: {relative}, from {SOURCES[relative]}")


def corpus_text(relative: str) -> str:
    path = corpus_path(relative)
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode("utf-8")
    return path.read_bytes().decode("utf-8")


def corpus_json(relative: str) -> Any:
    return json.loads(corpus_text(relative))


def twitter_text(suite: str) -> dict[str, list[dict[str, Any]]]:
    """Return the cases of one twitter-text suite ("autolink", "extract", "validate") by their section."""
    tests = yaml.safe_load(corpus_text(f"conformance/twitter-text/{suite}.yml"))["tests"]
    assert isinstance(tests, dict)
    return tests


def read_posts(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one posts file, in its order."""
    with gzip.open(corpus_path(f"posts/{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
