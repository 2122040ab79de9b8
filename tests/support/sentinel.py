"""Three Sentinels, a master and a replica on loopback; a failover takes about two seconds."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import redis

from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.replicas import follow
from tests.support.waiting import wait_until

MASTER_NAME = "Main"
DOWN_AFTER_MS = 600


class SentinelDeployment:
    """The servers and Sentinels. `master` is the current master."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="ss-sentinel-", dir="/tmp"))
        *self.ports, one, other_port = free_ports(5)
        self.server_ports = (one, other_port)
        self.servers = [self._server(port) for port in self.server_ports]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{MASTER_NAME}"

    @property
    def master(self) -> RedisServer:
        for server in self.servers:
            try:
                with server.client() as client:
                    if client.info("replication")["role"] == "master":
                        return server
            except redis.ConnectionError:
                continue
        raise AssertionError("no server is a master")

    def other(self, server: RedisServer) -> RedisServer:
        return self.servers[1 - self.servers.index(server)]

    def start(self) -> None:
        for server in self.servers:
            server.start()
        master, replica = (server.client() for server in self.servers)
        with master, replica:
            follow(replica, master, self.server_ports[0])
        self._processes = [self._sentinel(port) for port in self.ports]
        wait_until(self._is_fully_meshed, "the Sentinels to meet")

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(10)
        for server in self.servers:
            server.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def failover(self) -> None:
        """Fail over by an operator's command, with both servers running."""
        before = self.master
        wait_until(self._is_failing_over, "a Sentinel to find the replica good enough")
        wait_until(lambda: self.other(before) is self._agreed_master(), "the failover")

    def _is_failing_over(self) -> bool:
        """Start a failover. Returns False while Sentinel's view of the replica is outdated, as after a stall."""
        with redis.Redis(port=self.ports[0]) as client, contextlib.suppress(redis.ResponseError):
            client.execute_command("SENTINEL", "FAILOVER", MASTER_NAME)
            return True
        return False

    def freeze(self, server: RedisServer) -> None:
        os.kill(server.pid, signal.SIGSTOP)

    def unfreeze(self, server: RedisServer) -> None:
        os.kill(server.pid, signal.SIGCONT)

    def is_synced(self) -> bool:
        """Return whether both servers run and the replica is in sync."""
        roles = []
        for server in self.servers:
            try:
                with server.client() as client:
                    facts = client.info("replication")
            except redis.ConnectionError:
                return False
            roles.append((facts["role"], facts.get("master_link_status", "up")))
        return sorted(roles) == [("master", "up"), ("slave", "up")]

    def _agreed_master(self) -> RedisServer | None:
        with redis.Redis(port=self.ports[0], decode_responses=True) as client:
            _, port = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)
        return self.servers[self.server_ports.index(int(port))]

    def _is_fully_meshed(self) -> bool:
        for port in self.ports:
            try:
                with redis.Redis(port=port, decode_responses=True) as client:
                    facts = client.sentinel_master(MASTER_NAME)
            except redis.ConnectionError:
                return False
            if (int(facts["num-other-sentinels"]), int(facts["num-slaves"])) != (2, 1):
                return False
        return True

    def _server(self, port: int) -> RedisServer:
        options = ("--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
        return RedisServer(options=options)

    def _sentinel(self, port: int) -> subprocess.Popen[bytes]:
        configuration = self._directory / f"{port}.conf"
        configuration.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {self._directory}\nlogfile {port}.log\n"
            f"sentinel monitor {MASTER_NAME} 127.0.0.1 {self.server_ports[0]} 2\n"
            f"sentinel down-after-milliseconds {MASTER_NAME} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {MASTER_NAME} 3000\n"
        )
        return subprocess.Popen(["redis-server", str(configuration), "--sentinel"])
