"""Finds the reference data beside the checkout (../shared/data).

Where it is absent the tests that need it skip; in CI (CI=true) they fail, so that none is missed in silence.
"""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

DATA_DIR = Path(__file__).resolve().parents[3] / "shared" / "data"


def corpus_path(relative: str) -> Path:
    """The path of a file of the reference data; skips the test (fails it in CI) where it is absent."""
    path = DATA_DIR / relative
    if not path.exists():
        message = f"needs the reference data ../shared/data/{relative}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


def corpus_text(relative: str) -> str:
    path = corpus_path(relative)
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode("utf-8")
    return path.read_bytes().decode("utf-8")


def corpus_json(relative: str) -> Any:
    return json.loads(corpus_text(relative))


def twitter_text(suite: str) -> dict[str, list[dict[str, Any]]]:
    """The cases of one twitter-text suite ("autolink", "extract", "validate") by their section."""
    tests = yaml.safe_load(corpus_text(f"conformance/twitter-text/{suite}.yml"))["tests"]
    assert isinstance(tests, dict)
    return tests


def read_posts(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one posts file, in its order."""
    with gzip.open(corpus_path(f"posts/{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
