"""deploy/check-site succeeds while the site and its store answer."""

import subprocess

from tests.deploy.support import DEPLOY
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.redis_server import RedisServer
from tests.support.sites import running_site
from tests.support.waiting import wait_until


def check(url: str) -> subprocess.CompletedProcess[str]:
    need("curl")
    return subprocess.run([DEPLOY / "check-site", url], capture_output=True, text=True)


def test_the_check_fails_without_an_answer() -> None:
    (port,) = free_ports(1)
    result = check(f"http://127.0.0.1:{port}")
    assert (result.returncode, result.stdout) == (1, "")
    assert "does not answer as it should" in result.stderr


def test_the_check_fails_while_the_store_is_down() -> None:
    with RedisServer(aof=True) as server, running_site(server.url) as site:
        assert check(site.url).returncode == 0
        server.kill()
        wait_until(lambda: check(f"{site.url}/readyz").stderr.strip().endswith("503"))  # /readyz caches for a second
        server.start()
        wait_until(lambda: check(f"{site.url}/readyz").returncode == 0)
