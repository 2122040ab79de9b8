"""Operator actions on a full server (docs/guide/troubleshooting.md, Out of memory)."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from socialsite.startup import open_services
from tests.support.redis_server import RedisServer
from tests.support.sample_site import SampleSite
from tests.support.world import World

PASSWORD = "rather long words 9"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def full(server: RedisServer, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Prepare a site on a server that refuses all writes."""
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = server.url, {}
    settings.ARCHIVE_URL = f"sqlite://{tmp_path / 'archive.sqlite3'}"

    async def build() -> None:
        async with open_services() as services:
            await SampleSite.build(World(services))

    with server.client() as client:
        client.flushall()
        asyncio.run(build())
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ("stats",), ("memory",), ("audit",), ("trim",), ("deadletters",), ("limits", "show", "@alice"),
        ("archive_posts", "--older-than", "1h"), ("delete_account", "carol", "--no-input"),
        ("suspend_account", "bob"), ("flush_buffers",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_commands_that_free_memory_work_on_a_full_server(full: None, words: tuple[str, ...]) -> None:
    assert "Traceback" not in run(*words)


def test_a_full_server_can_be_backed_up(full: None, tmp_path: Path) -> None:
    assert "Wrote" in run("backup", str(tmp_path / "full.backup"))


async def _archive_all() -> int:
    async with open_services() as services:
        moved = await services.archiving.archive(services.clock.now_ms() + 60_000)
        return moved.posts


@pytest.mark.parametrize(
    "words",
    [("create_account", "dora", "--password", PASSWORD), ("archive_posts", "--undo")],
    ids=" ".join,
)  # fmt: skip
def test_refused_commands_print_the_reason_in_one_line(full: None, words: tuple[str, ...]) -> None:
    assert asyncio.run(_archive_all()) == 3, "bodies leave a full server"
    with pytest.raises(CommandError, match="maxmemory") as refused:
        run(*words)
    assert "\n" not in str(refused.value)


def test_a_deleted_account_is_swept_on_a_full_server(full: None) -> None:
    run("delete_account", "carol", "--no-input")
    run("syndicate", "--once")
    assert run("audit").endswith("0 damaged, 0 leftovers.\n")
