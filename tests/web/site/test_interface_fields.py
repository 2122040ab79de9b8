"""docs/reference/interface.md names the fields of the JSON of each page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.browser import HttpBrowser

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "interface.md").read_text()
QUERIES = {"/search/complete/": "?q=@al", "/reports/new/": "?post=<post id>"}


def documented() -> Iterator[tuple[str, str]]:
    """Return the first address of each row of the table of pages that has a JSON object, and this object."""
    table = PAGE.partition("## Pages\n")[2].partition("\n## ")[0]
    for addresses, content in re.findall(r"^\| (`.*?) \| (.*) \|$", table, flags=re.MULTILINE):
        objects = re.findall(r"`(\{[^`]*\})[^`]*`", content)
        address = addresses.split("`")[1].partition("?")[0]
        if objects:
            yield address + QUERIES.get(address, ""), objects[0]


def names_of(text: str) -> set[str]:
    """Return the names of the fields of `{a, b: [{c}], d {e}}`: a, b, d."""
    inner = text[1:-1]
    while (flat := re.sub(r"\{[^{}]*\}|\[[^\[\]{}]*\]", "", inner)) != inner:
        inner = flat
    return {part.split()[0].strip(':"') for part in inner.split(",") if part.strip()}


def items_of(text: str, name: str) -> set[str]:
    """Return the names of the fields of the items of a list. "…" stands for further ones."""
    found = re.search(rf"\b{name}:? \[(\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})\]", text)
    return names_of(found[1]) if found else set()


def find_differences(text: str, data: dict[str, Any]) -> set[str]:
    different = names_of(text) ^ set(data)
    for name, value in data.items():
        if isinstance(value, list) and value and (items := items_of(text, name)):
            further = set(value[0]) - items if "…" not in items else set()
            different |= {f"{name}.{item}" for item in (items - {"…"} - set(value[0])) | further}
    return different


async def test_pages_have_the_fields_that_the_document_names(alice: HttpBrowser) -> None:
    post_id = (await alice.post_json("/posts/", text="Hello #redis")).json()["id"]
    for path, fields in (
        ("/lists/", {"title": "Authors"}),
        ("/drafts/", {"text": "Later"}),
        ("/accounts/filters/", {"phrase": "spoiler"}),
        ("/reports/new/", {"post": post_id, "category": "spam"}),
        ("/tags/redis/follow/", {}),
    ):
        assert (await alice.post_json(path, **fields)).status_code in (200, 201)
    compared, wrong = 0, {}
    for address, text in documented():
        filled = address.replace("@<handle>", "@alice").replace("<post id>", post_id).replace("<id>", post_id)
        answer = await alice.get_json(filled)
        if "<" in filled or answer.status_code != 200:
            continue  # the page needs another state of the account
        compared += 1
        if different := find_differences(text, answer.json()):
            wrong[address] = different
    assert wrong == {}
    assert compared >= 10


def test_wrong_fields_are_reported() -> None:
    text = '{lists: [{id, title {x}}], "unread": n, next}'
    assert find_differences(text, {"lists": [{"id": "1", "title": {}}], "unread": 0, "next": None}) == set()
    assert find_differences(text, {"lists": [{"id": "1"}], "unread": 0}) == {"next", "lists.title"}
