"""The site on a real Redis with the redis.conf and users of deploy/: each role has only necessary rights."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
import redis
from django.conf import settings
from redis.exceptions import NoPermissionError

from tests.deploy.support import DEPLOY, PASSWORDS, users_file
from tests.support.daphnes import DaphneFleet
from tests.support.sites import ROOT
from tests.support.sockets import open_socket as open_socket
from tests.support.visitor import HttpVisitor

FORBIDDEN = (
    "FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG SET maxmemory 1", "SHUTDOWN NOSAVE",
    "SCRIPT FLUSH",
    "REPLICAOF NO ONE", "ACL SETUSER default on", "MONITOR", "SAVE", "SWAPDB 0 1", "CLIENT KILL TYPE normal",
    "MIGRATE 127.0.0.1 1 k 0 1", "FUNCTION FLUSH", "CLUSTER RESET", "BGREWRITEAOF",
)  # fmt: skip
FOR_PEOPLE = ("BGREWRITEAOF", "CLIENT KILL TYPE normal")
"""Commands that the operator may run and the processes may not."""


class Server:
    """A redis-server with the configuration of deploy/. `denied()` returns the refused commands."""

    def __init__(self, directory: Path) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="deploy-redis-"))  # short: a socket's path is at most 100 bytes
        self.socket = self.home / "redis.sock"
        users = users_file(directory)
        self.process = subprocess.Popen(
            ["redis-server", str(DEPLOY / "redis/redis.conf"), "--port", "0", "--dir", str(self.home),
             "--unixsocket", str(self.socket), "--aclfile", str(users), "--supervised", "no",
             "--logfile", str(self.home / "log")],
        )  # fmt: skip
        while not self.socket.exists():
            assert self.process.poll() is None, (self.home / "log").read_text()

    def url(self, role: str) -> str:
        return f"unix://{role}:{PASSWORDS[role]}@{self.socket}?db=0"

    def client(self, role: str) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), username=role, password=PASSWORDS[role])

    def denied(self) -> list[tuple[str, str]]:
        with self.client("operator") as client:
            return [(entry["username"], entry["object"]) for entry in client.acl_log()]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("redis"))
    yield running
    running.stop()


@pytest.fixture
async def fleet(server: Server) -> AsyncIterator[DaphneFleet]:
    """A web process. The log contains no commands that former tests had refused."""
    with server.client("operator") as client:
        client.acl_log_reset()
    async with DaphneFleet(server.url("web"), 1) as running:
        yield running


RUN_COMMANDS = """
import json, sys, django
from django.core.management import call_command
django.setup()
for arguments in json.loads(sys.argv[1]):
    print(arguments, file=sys.stderr, flush=True)
    call_command(*arguments)
"""


def run_commands(server: Server, role: str, *commands: Sequence[str]) -> None:
    """Run management commands in one process with the rights of `role`. Fails if one of them fails."""
    result = subprocess.run(
        [sys.executable, "-c", RUN_COMMANDS, json.dumps(commands)],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "SECRET_KEY": settings.SECRET_KEY,
            "REDIS_URL": server.url(role),
        },
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, f"{result.stdout[-500:]}{result.stderr[-1500:]}"


async def test_the_site_needs_no_further_rights(server, fleet, tmp_path):
    await asyncio.to_thread(a_day, server, fleet.origin, tmp_path)
    assert server.denied() == []


def a_day(server: Server, origin: str, directory: Path) -> None:
    with HttpVisitor(origin, "alice") as alice, HttpVisitor(origin, "bob") as bob:
        alice.sign_up(), bob.sign_up()
        bob.follows("alice")
        post = alice.publishes("hello #world")
        run_commands(server, "worker", ("syndicate", "--once"))
        assert [each["id"] for each in bob.timeline("/")] == [post["id"]]
        for path in ("/public/", "/@alice/", "/@alice/followers/", "/tags/world/", "/lists/"):
            bob.get(path)
        assert bob.http.get("/readyz").json()["status"] == "ok"
        assert bob.http.get("/metrics").status_code == 200
        alice.deletes(post)
    run_commands(
        server,
        "operator",
        ("create_account", "carol", "--password", "rather long words 9", "--staff"),
        ("audit", "--sample", "100"),
        ("stats", "--json"),
        ("limits", "show", "@alice"),
        ("flush_buffers",),
        ("trim", "--dry-run"),
        ("memory",),
        ("backup", str(directory / "backup")),
        ("rebuild_timelines", "--all"),
        ("check", "--tag", "redis", "--fail-level", "WARNING"),
    )


async def test_live_updates_need_no_further_rights(server, fleet):
    class Address:
        origin, url = fleet.origin, f"ws://127.0.0.1:{fleet.port}/ws/stream/"

    def publish() -> str:
        with HttpVisitor(fleet.origin, "dave") as dave:
            return str(dave.sign_up().publishes("live")["id"])

    async with open_socket(Address) as socket:  # type: ignore[arg-type]
        await socket.subscribe("public")
        await socket.receive_entry(int(await asyncio.to_thread(publish)))
    assert server.denied() == []


@pytest.mark.parametrize("role", ["web", "worker", "operator"])
def test_no_role_may_empty_stop_or_reconfigure_the_server(server, role):
    with server.client(role) as client:
        for line in FORBIDDEN:
            if role == "operator" and line in FOR_PEOPLE:
                continue
            with pytest.raises(NoPermissionError):
                client.execute_command(*line.split())
        client.execute_command("PING")
    with server.client("operator") as client:
        assert client.acl_log(count=100)  # the refusal was logged


@pytest.mark.parametrize("role", ["web", "worker"])
def test_a_process_touches_the_sites_keys_and_channels_only(server, role):
    with server.client(role) as client:
        for refused in (("GET", "elsewhere"), ("PUBLISH", "elsewhere", "x"), ("SUBSCRIBE", "elsewhere")):
            with pytest.raises(NoPermissionError):
                client.execute_command(*refused)


def test_redis_refuses_a_client_without_a_user(server):
    stranger = redis.Redis(unix_socket_path=str(server.socket))
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_the_server_uses_the_settings_of_the_configuration(server):
    with server.client("operator") as client:
        expected = {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec"}
        assert {name: client.config_get(name)[name] for name in expected} == expected
        client.hset("accounts:{1}:account", mapping={"handle": "alice", "bio": "b" * 1_000})
        assert client.object("ENCODING", "accounts:{1}:account") == b"listpack"
