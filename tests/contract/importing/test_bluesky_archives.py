"""A person imports the repository of a Bluesky account (a CAR file)."""

import base64
import hashlib
import json
import time
from io import BytesIO
from typing import Any

import libipld
import pytest

from socialsite.container import Services
from tests.support.corpora import corpus_json
from tests.support.imports import import_file, read_profile_posts
from tests.support.world import Person
from timelines.importing.account_archive import ArchiveUnreadable
from timelines.importing.lines import Tally
from timelines.importing.service import open_archive


def car(records: dict[str, dict[str, Any]], tree: object = None) -> bytes:
    """Return a repository whose tree has two nodes, or the node `tree`."""
    blocks: list[bytes] = []

    def varint(number: int) -> bytes:
        return bytes([number]) if number < 128 else bytes([number % 128 | 128]) + varint(number // 128)

    def add(value: object) -> bytes:
        content = libipld.encode_dag_cbor(value)
        cid = b"\x01\x71\x12\x20" + hashlib.sha256(content).digest()
        blocks.append(varint(len(cid) + len(content)) + cid + content)
        return cid

    first, *others = sorted(records)
    entries, before = [], b""
    for path in others:
        key = path.encode()
        shared = next((n for n in range(len(key)) if before[n : n + 1] != key[n : n + 1]), len(key))
        entries.append({"p": shared, "k": key[shared:], "v": add(records[path]), "t": None})
        before = key
    left = add({"l": None, "e": [{"p": 0, "k": first.encode(), "v": add(records[first]), "t": None}]})
    node = tree if tree is not None else {"l": left, "e": entries}
    root = add({"did": "did:plc:abc", "version": 3, "data": add(node)})
    header = libipld.encode_dag_cbor({"roots": [root], "version": 1})
    return varint(len(header)) + header + b"".join(blocks)


async def test_a_repository_of_bluesky_keeps_threads_links_and_languages(services: Services, alice: Person) -> None:
    link = {
        "index": {"byteStart": 5, "byteEnd": 15},
        "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/whole"}],
    }
    content = car({
        "app.bsky.actor.profile/self": {"displayName": "Alice"},
        "app.bsky.feed.post/3aaa": {
            "text": "Tö: example…", "createdAt": "2024-05-01T10:00:00.000Z", "langs": ["en"], "facets": [link],
        },
        "app.bsky.feed.post/3bbb": {
            "text": "An answer", "createdAt": "2024-05-01T10:01:00.000Z",
            "reply": {"parent": {"uri": "at://did:plc:abc/app.bsky.feed.post/3aaa", "cid": ""}},
            "embed": {"images": [{"alt": "A cat"}]},
        },
        "app.bsky.feed.repost/3ccc": {"createdAt": "2024-05-01T10:02:00.000Z"},
        "app.bsky.graph.follow/3ddd": {"subject": "did:plc:x"},
    })  # fmt: skip
    done = await import_file(services, alice.id, content)
    assert (done.counts["posts"], done.refused) == (2, {"boost": 1, "picture_missing": 1})
    first, second = await read_profile_posts(services, "alice")
    assert (first.text, first.extra.language) == ("Tö: https://example.org/whole", "en")
    assert (second.in_reply_to, second.text) == (first.id, "An answer")


@pytest.mark.parametrize(
    "case", corpus_json("archives/bluesky/car-file-fixtures.json"), ids=lambda case: case["root"][-4:]
)
def test_a_car_file_without_a_repository_is_refused(case: dict[str, str]) -> None:
    content = base64.b64decode(case["car"] + "==")
    with pytest.raises(ArchiveUnreadable):
        list(open_archive(BytesIO(content), "alice").lines(Tally()))


@pytest.mark.parametrize("cut", [1, 20, 60, 200, -1])
def test_a_cut_repository_of_bluesky_is_refused(cut: int) -> None:
    content = car({f"app.bsky.feed.post/3{n}": {"text": "x", "createdAt": "2024-05-01T10:00:00Z"} for n in range(9)})
    with pytest.raises(ArchiveUnreadable):
        list(open_archive(BytesIO(content[:cut]), "alice").lines(Tally()))


@pytest.mark.parametrize("tree", [7, "x", ["x"], b"x", {"l": 7, "e": []}, {"l": None, "e": [7]}], ids=str)
def test_a_repository_of_bluesky_with_a_tree_of_other_values_is_refused(tree: object) -> None:
    content = car({"app.bsky.feed.post/3aaa": {"text": "x"}}, tree)
    with pytest.raises(ArchiveUnreadable):
        list(open_archive(BytesIO(content), "alice").lines(Tally()))


@pytest.mark.parametrize("value", [7, b"x", ["x"], {"x": b"x"}], ids=str)
@pytest.mark.parametrize("field", ["text", "createdAt", "embed", "reply", "langs", "facets"])
def test_a_record_of_bluesky_with_fields_of_other_values_harms_nothing(field: str, value: object) -> None:
    record = {"text": "x", "createdAt": "2024-05-01T10:00:00.000Z", field: value}
    rows = list(open_archive(BytesIO(car({"app.bsky.feed.post/3aaa": record})), "alice").lines(tally := Tally()))
    assert len(rows) + sum(tally.refused.values()) == 1


def test_a_record_of_bluesky_that_many_paths_share_is_read_once() -> None:
    record = {"text": "x" * 100_000, "createdAt": "2024-01-01T00:00:00Z", "langs": ["en"]}
    rows = list(
        open_archive(BytesIO(car({f"app.bsky.feed.post/{n:05}": record for n in range(500)})), "a").lines(Tally())
    )
    assert len(rows) == 1


def test_links_in_a_post_of_bluesky_take_linear_time() -> None:
    text, uri = "x" * 20_000, "https://example.org/"
    facets = [{"index": {"byteStart": n, "byteEnd": n + 1}, "features": [{"uri": uri}]} for n in range(0, 20_000, 2)]
    facets.append({"index": {"byteStart": 0, "byteEnd": 9}, "features": [{"uri": "https://overlapping.example/"}]})
    record = {"text": text, "createdAt": "2024-01-01T00:00:00Z", "facets": facets}
    started = time.process_time()
    ((_, row),) = open_archive(BytesIO(car({"app.bsky.feed.post/1": record})), "alice").lines(Tally())
    assert json.loads(row)["text"] == f"{uri}x" * 10_000
    assert time.process_time() - started < 2


def test_a_block_of_bluesky_whose_values_need_much_memory_is_refused() -> None:
    tree = [[]] * 1_100_000
    with pytest.raises(ArchiveUnreadable) as refusal:
        list(open_archive(BytesIO(car({"app.bsky.feed.post/1": {"text": "x"}}, tree)), "alice").lines(Tally()))
    assert refusal.value.code == "too_large"


@pytest.mark.parametrize(
    "end",
    [b"\x80" * 1_000_000, b"\xff\xff\xff\xff\x0f", b"\x05abc", b"\x80"],
    ids=["endless size", "large size", "cut block", "cut size"],
)
def test_a_file_of_bluesky_with_wrong_sizes_is_refused(end: bytes) -> None:
    content = car({"app.bsky.feed.post/1": {"text": "x", "createdAt": "2024-05-01T10:00:00Z"}})
    with pytest.raises(ArchiveUnreadable):
        open_archive(BytesIO(content + end), "alice")
