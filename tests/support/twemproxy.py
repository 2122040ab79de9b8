"""A real Twemproxy (nutcracker) in front of test servers."""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import redis

from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.redis_server import RedisServer


class TwemproxyServer:
    """Twemproxy in front of some servers, on a unix socket."""

    def __init__(self, servers: Sequence[RedisServer], **settings: str) -> None:
        self.servers = list(servers)
        self._settings = settings
        self._directory = Path(tempfile.mkdtemp(prefix="ss-proxy-", dir="/tmp"))
        self.socket = self._directory / "proxy.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        nodes = ",".join(str(server.socket) for server in self.servers)
        return f"redis+twemproxy://{self.socket}?nodes={nodes}"

    def start(self) -> None:
        binary = need("nutcracker")
        configuration = self._directory / "nutcracker.yml"
        configuration.write_text(self._configuration())
        (statistics,) = free_ports(1)
        log = self._directory / "log"
        self._process = subprocess.Popen(
            [binary, "-c", str(configuration), "-s", str(statistics), "-a", "127.0.0.1", "-o", str(log)],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with redis.Redis(unix_socket_path=str(self.socket), protocol=2, driver_info=None) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def _configuration(self) -> str:
        settings = {
            "listen": f"{self.socket} 0600", "hash": "md5", "hash_tag": '"{}"', "distribution": "ketama",
            "auto_eject_hosts": "false", "redis": "true", "timeout": "4000", **self._settings,
        }  # fmt: skip
        lines = [f"  {name}: {value}" for name, value in settings.items() if value]
        servers = [f"    - {server.socket}:1 s{number}" for number, server in enumerate(self.servers)]
        return "\n".join(["pool:", *lines, "  servers:", *servers]) + "\n"


@contextlib.contextmanager
def running_twemproxy(servers: Sequence[RedisServer], **settings: str) -> Iterator[TwemproxyServer]:
    proxy = TwemproxyServer(servers, **settings)
    try:
        proxy.start()
        yield proxy
    finally:
        proxy.stop()
