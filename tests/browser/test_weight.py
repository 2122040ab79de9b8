"""What a page loads through `make run` alone: few requests, compressed, and hashed files that never change."""

import json
import re

import httpx

from tests.browser.conftest import OpenReader
from tests.support.page_weight import PHONE, weigh_page
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

MAX_WIRE_BYTES = 45_000
MAX_REQUESTS = 10
MAX_NEXT_WIRE_BYTES = 12_000
HASHED_NAME = re.compile(r"\.[0-9a-f]{12}\.\w+$")
IMPORT = re.compile(r"""(?:from|import)\s*\(?["']([^"']+)["']""")


def test_the_first_page_and_the_next_one_load_few_bytes(
    site: QuickstartSite, reader: OpenReader, own: HttpVisitor
) -> None:
    for number in range(30):
        own.publishes(f"words {number} of some length, as people write them, with #hashtag and @{own.handle}")
    me = reader(own, **PHONE)
    cold = weigh_page(me.context, f"{site.url}/", is_slow=False)
    assert cold.wire_bytes <= MAX_WIRE_BYTES, cold
    assert len(cold.urls) <= MAX_REQUESTS, cold.urls
    following = weigh_page(me.context, f"{site.url}/@{own.handle}/", is_slow=False)
    assert following.wire_bytes <= MAX_NEXT_WIRE_BYTES, following


def test_every_import_of_a_served_script_has_a_hashed_name_that_is_cached_forever(
    site: QuickstartSite, reader: OpenReader
) -> None:
    manifest = json.loads((site.data / "static/staticfiles.json").read_text())["paths"]
    scripts = sorted({hashed for hashed in manifest.values() if hashed.endswith(".js")})
    assert len(scripts) > 2
    with httpx.Client(base_url=f"{site.url}/static/") as client:
        for name in scripts:
            answer = client.get(name)
            assert "immutable" in answer.headers["cache-control"], name
            for imported in IMPORT.findall(answer.text):
                assert HASHED_NAME.search(imported), f"{name} imports {imported}"
                assert "immutable" in client.get(f"js/{imported.removeprefix('./')}").headers["cache-control"]
        for name in manifest:
            answer = client.get(name)
            assert answer.status_code == 404 or "immutable" not in answer.headers["cache-control"], name
    page = httpx.get(f"{site.url}/").text
    assert all(HASHED_NAME.search(path) for path in re.findall(r'"/static/([^"#]+)', page))
    assert len(re.findall(r"<script", page)) == 1
