"""The choice of a server binary: new enough, and able to read the existing data."""

import os
import sys
from pathlib import Path

import pytest

from socialsite.store.embedded.binaries import ServerBinary, ServerVersion, find_server_binary


def test_the_server_of_the_virtual_environment_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "env" / "bin"
    own.mkdir(parents=True)
    fake_server(own, "Redis server v=8.0.0 sha=0")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    assert find_server_binary(search_path=str(own)).path.parent != own


def test_a_server_older_than_7_is_skipped(tmp_path: Path) -> None:
    fake_server(tmp_path, "Redis server v=6.2.14 sha=0")
    assert find_server_binary(search_path=str(tmp_path)).path.parent != tmp_path


def test_the_first_server_that_reads_the_data_is_chosen(tmp_path: Path) -> None:
    older, newer = tmp_path / "older", tmp_path / "newer"
    fake_server(older, "Redis server v=7.0.15 sha=0")
    fake_server(newer, "Redis server v=7.2.4 sha=0")
    binary = find_server_binary(ServerVersion("redis", (7, 2, 0)), f"{older}{os.pathsep}{newer}")
    assert binary == ServerBinary(newer / "redis-server", ServerVersion("redis", (7, 2, 4)))


@pytest.mark.parametrize(
    ("now", "earlier", "reads"),
    [
        (("redis", (7, 0, 15)), ("redis", (7, 0, 15)), True),
        (("redis", (7, 0, 14)), ("redis", (7, 0, 15)), True),
        (("redis", (7, 0, 15)), ("redis", (7, 2, 0)), False),
        (("valkey", (9, 1, 2)), ("redis", (7, 2, 5)), True),
        (("valkey", (9, 1, 2)), ("redis", (8, 0, 0)), False),
        (("redis", (8, 0, 0)), ("valkey", (9, 1, 2)), False),
    ],
)
def test_data_are_opened_only_by_equal_or_newer_versions(
    now: tuple[str, tuple[int, int, int]], earlier: tuple[str, tuple[int, int, int]], reads: bool
) -> None:
    assert ServerVersion(*now).can_read(ServerVersion(*earlier)) is reads


def fake_server(folder: Path, answer: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "redis-server"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
