"""One command starts the whole site, which keeps running, stops cleanly and loses nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from socialsite.store.embedded.server import EmbeddedServer
from tests.support.daphnes import ROOT
from tests.support.demo_site import demo_visitor
from tests.support.processes import proportional_kb, threads_of
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import pause_until_aof_written
from tests.support.sites import QuickstartSite, is_alive, running_site
from tests.support.visitor import PASSWORD, HttpVisitor
from tests.support.waiting import wait_until

MEMORY_KB = 195_000
Start = Callable[..., QuickstartSite]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartSite]:
    """A site for the tests that leave it running."""
    with running_site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(data: Path) -> Iterator[Start]:
    sites: list[QuickstartSite] = []

    def run(*arguments: str) -> QuickstartSite:
        sites.append(QuickstartSite(data, "--no-demo", *(arguments or ("--port", "0"))))
        return sites[-1]

    yield run
    for site in sites:
        if not site.has_ended():
            site.interrupt()
    server = EmbeddedServer(data)  # it takes over the server of a killed site and stops it
    if data.exists() and server.is_running():
        server.start()
        server.stop()


def record(data: Path) -> dict[str, object]:
    return json.loads((data / "server.json").read_text())


def server_of(data: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(record(data)["socket"]), decode_responses=True)


def test_ctrl_c_and_sigterm_stop_all_processes_and_the_data_exist_after_the_next_start(
    start: Start, data: Path
) -> None:
    site = start().wait_until_ready()
    assert site.status("/readyz") == 200
    server_of(data).set("posts:{1}:post", "kept")
    key = (data / "secret_key").read_text()
    processes = [site.pid, *site.children().values(), int(str(record(data)["pid"]))]
    assert len(processes) == 4
    assert site.interrupt() == 0
    assert not any(map(is_alive, processes))
    again = start().wait_until_ready()
    assert server_of(data).get("posts:{1}:post") == "kept"
    assert (data / "secret_key").read_text() == key
    assert (data / "secret_key").stat().st_mode & 0o077 == 0
    assert again.status("/") == 200
    processes = [again.pid, *again.children().values(), int(str(record(data)["pid"]))]
    os.kill(again.pid, signal.SIGTERM)
    assert again.wait() == 0
    assert not any(map(is_alive, processes))


def test_a_mail_of_a_site_without_a_mail_server_is_a_file_in_the_folder_that_the_start_names(
    site: QuickstartSite,
) -> None:
    (line,) = [line for line in site.lines if line.startswith("Mails are files in ")]
    folder, names = Path(line.removeprefix("Mails are files in ")), {"handle": "laptop", "address": "me@example.org"}
    with HttpVisitor(site.url) as visitor:
        answer = visitor.post("/accounts/signup/", password1=PASSWORD, password2=PASSWORD, **names)
        assert answer.status_code == 201, answer.text
    wait_until(lambda: list(folder.glob("*.eml")))
    assert any("To: me@example.org" in file.read_text() for file in folder.glob("*.eml"))


@pytest.mark.nightly
def test_a_second_start_on_the_same_data_exits_1_with_one_line(site: QuickstartSite) -> None:
    second = QuickstartSite(site.data, "--no-demo", "--port", "0")
    assert second.wait() == 1
    assert [line for line in second.lines if line] == [f"CommandError: A quickstart already runs on {site.data}."]
    assert site.status() == 200


def test_a_wrong_setting_exits_1_with_one_line(data: Path) -> None:
    site = QuickstartSite(data, "--no-demo", "--port", "0", environment={"FOLLOW_PARTITIONS": "many"})
    assert site.wait() == 1
    assert site.lines == ['The settings cannot be used: FOLLOW_PARTITIONS must be a whole number, not "many".']
    assert not EmbeddedServer(data).is_running()


def test_a_taken_port_exits_1_with_one_line(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        site = start("--port", str(port))
        assert site.wait() == 1
    assert site.lines == [f"CommandError: Port {port} cannot be used (Address already in use); choose one by --port."]


@pytest.mark.nightly
def test_a_site_with_unread_output_restarts_its_processes(start: Start) -> None:
    site = start().wait_until_ready()
    site.close_output()
    for role in ("worker", "web"):
        victim = site.kill_one(role)
        wait_until(lambda: site.children().get(role, victim) != victim)  # noqa: B023 - waits before the next turn
    assert not site.has_ended()


@pytest.mark.nightly
@pytest.mark.nightly
def test_the_logins_that_a_demo_prints_work_and_one_is_of_staff(data: Path) -> None:
    site = QuickstartSite(data, "--port", "0").wait_until_ready()
    try:
        logins = [line.split()[1:] for line in site.lines if line.startswith("login: ")]
        statuses = {}
        for handle, password in logins:
            with demo_visitor(site.url, handle, password) as visitor:
                statuses[handle] = visitor.http.get("/ops/").status_code
        assert statuses == {"alice": 404, "bob": 404, "carol": 404, "operator": 200}
    finally:
        site.interrupt()


def test_kill_9_leaves_no_child_and_the_next_start_takes_over(start: Start, data: Path) -> None:
    site = start().wait_until_ready()
    server_of(data).set("posts:{1}:post", "kept")
    children = site.children()
    assert set(children) == {"web", "worker"}
    orphan = record(data)["pid"]
    port = site.port
    site.kill()
    wait_until(lambda: not any(map(is_alive, children.values())), timeout_s=60)
    again = start("--port", str(port)).wait_until_ready()
    assert record(data)["pid"] == orphan
    assert server_of(data).get("posts:{1}:post") == "kept"
    assert again.interrupt() == 0
    assert not is_alive(int(str(orphan)))


def test_the_process_factory_has_nothing_that_a_fork_must_not_share(site: QuickstartSite) -> None:
    factory = site.processes()["factory"]
    files = [os.readlink(each) for each in Path(f"/proc/{factory}/fd").iterdir()]
    assert threads_of(factory) == 1
    assert len([file for file in files if file.startswith("socket:")]) == 2, "the supervisor and the listening socket"
    assert not [file for file in files if "eventpoll" in file], "an event loop"


def test_the_site_serves_while_the_process_factory_is_replaced(site: QuickstartSite) -> None:
    serving, victim = site.children(), site.kill_one("factory")
    assert site.status() == 200
    wait_until(lambda: site.processes().get("factory", victim) != victim, timeout_s=60)
    assert site.children() == serving, "a child process ended with the factory"
    site.kill_one("web")  # a fork of the new factory replaces it
    wait_until(lambda: site.children().get("web", serving["web"]) != serving["web"], timeout_s=60)
    wait_until(lambda: site.status() == 200, timeout_s=90)
    assert site.children()["worker"] == serving["worker"]


SUPERVISED = """
import atexit, json, sys
atexit.register(lambda: print("modules", *sorted({name.partition(".")[0] for name in sys.modules})))
import manage
sys.argv[0] = "manage.py"
manage.main()
"""


def test_the_supervisor_imports_only_the_standard_library_and_the_start_of_the_site(data: Path) -> None:
    arguments = [sys.executable, "-c", SUPERVISED, "quickstart", "--data", str(data), "--no-demo", "--port", "0"]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        assert any(line.startswith("Ready: ") for line in supervisor.stdout)
        supervisor.send_signal(signal.SIGINT)
        imported = set(supervisor.stdout.read().splitlines()[-1].split()[1:])
    assert {"subprocess", "socialsite"} <= imported
    assert not imported & {"django", "redis", "asyncio", "ssl", "http", "email", "environ", "structlog", "msgspec"}


def test_the_processes_of_an_idle_site_share_the_memory_of_its_modules(start: Start) -> None:
    """Three processes that load the site each have more than 300 MB."""
    site = start().wait_until_ready()
    with HttpVisitor(site.url, "one_of_many").sign_up() as visitor:
        for _ in range(50):
            assert visitor.http.get("/").status_code == 200
    assert proportional_kb([site.pid, *site.processes().values()]) < MEMORY_KB


@pytest.mark.parametrize("role", mostly_nightly(["web", "worker"], 1))
def test_a_killed_child_is_started_again(site: QuickstartSite, role: str) -> None:
    victim = site.kill_one(role)
    wait_until(lambda: site.children().get(role, victim) != victim, timeout_s=60)
    wait_until(lambda: site.status() == 200, timeout_s=90)


def test_a_killed_redis_is_started_again_with_its_data(site: QuickstartSite) -> None:
    server_of(site.data).set("posts:{1}:post", "kept")
    pause_until_aof_written(
        server_of(site.data)
    )  # no request wrote it, so no request has waited for the append-only file
    site.kill_one("redis")
    wait_until(lambda: site.status() == 200 and server_of(site.data).ping(), timeout_s=90)
    assert server_of(site.data).get("posts:{1}:post") == "kept"
    assert site.status("/public/") == 200
    wait_until(lambda: set(site.children()) == {"web", "worker"})  # a process that was starting begins again
