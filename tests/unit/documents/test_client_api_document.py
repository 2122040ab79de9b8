"""docs/reference/client-api.md has every address of the API with its methods, and no other address."""

import re
from pathlib import Path

from tests.support.routes import api_routes

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "client-api.md").read_text()


def bare(address: str) -> str:
    return re.sub("<[^>]*>", "<>", address)


def test_the_page_lists_every_address_with_its_methods() -> None:
    rows = re.findall(r"^\| `(/[^`]+)` \| ([^|]+) \|", PAGE, flags=re.MULTILINE)
    listed = {bare(address): set(methods.replace(", websocket", "").strip().split(", ")) for address, methods in rows}
    assert listed == {bare(each.pattern): set(each.methods - {"HEAD"}) for each in api_routes()}
