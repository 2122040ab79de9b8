"""docs/reference/interface.md has every address of the site and every message of the socket, and no others."""

import re
from pathlib import Path

from socialsite.web.daphne.graceful_shutdown import CLOSE_CODE_SERVICE_RESTART
from socialsite.web.socket_writer import CLOSE_CODE_TOO_SLOW
from tests.support.routes import routes
from timelines.live import socket_messages
from timelines.notifications.kinds import KINDS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "interface.md").read_text()
ELSEWHERE = ("/ops/", "/oauth/", "/nodeinfo/", "/.well-known/oauth", "/.well-known/nodeinfo")
"""Prefixes of the addresses that docs/reference/admin.md and docs/reference/client-api.md list."""


def listed(heading: str) -> set[str]:
    """Return the addresses in the first column of a table, with `<>` for each variable part.

    After the first address of a row, `…/x/` continues it, and `x/` replaces its last part.
    """
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    addresses: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE):
        first, *others = (bare(span) for span in re.findall(r"`([^`]+)`", row))
        parent = re.sub(r"[^/]+/$", "", first)
        addresses.add(first)
        addresses |= {first + each[2:] if each[0] == "…" else each if each[0] == "/" else parent + each
                  for each in others}  # fmt: skip
    return addresses


def bare(address: str) -> str:
    """Return an address without query and without the names of its variable parts."""
    return re.sub("<[^>]*>", "<>", address.partition("?")[0])


def answering(method: str) -> set[str]:
    own = (each for each in routes() if not each.pattern.startswith(ELSEWHERE))
    return {bare(each.pattern) for each in own if method in each.methods}


def test_the_messages_and_close_codes_of_the_socket_are_those_of_the_code() -> None:
    section = PAGE.partition("## Websocket\n")[2].partition("\n## ")[0]
    source = Path(socket_messages.__file__).read_text()
    sent = set(re.findall(r'_encode_frame\("(\w+)"', source)) | set(re.findall(r'tag="(\w+)"', source))
    assert set(re.findall(r'"type": "(\w+)"', section)) | {"unsubscribe"} == sent
    codes = set(re.findall(r"_CLOSE_CODE = (\d+)", source)) | {
        str(CLOSE_CODE_TOO_SLOW),
        str(CLOSE_CODE_SERVICE_RESTART),
    }
    assert set(re.findall(r"\b(?:44\d\d|4500|1012)\b", section)) == codes


def test_the_kinds_of_notifications_are_those_of_the_code() -> None:
    kinds = re.search(r"`kind` is (.*?); `post` is", PAGE, re.DOTALL)
    assert kinds
    assert set(re.findall(r"`(\w+)`", kinds[1])) == set(KINDS)


def test_the_table_of_pages_equals_the_urlconf() -> None:
    assert listed("Pages") == answering("GET")


def test_the_table_of_actions_equals_the_urlconf() -> None:
    assert listed("Actions (POST)") == answering("POST")
