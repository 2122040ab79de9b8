"""Restart rules of quickstart's supervisor."""

import os

import pytest

from socialsite.quickstart.supervisor import ChildProcess, ManagedProcess, Supervisor
from socialsite.store.embedded.binaries import EmbeddedServerError


class FakePart:
    """A process that ends on request; its next starts may fail."""

    def __init__(self, name: str = "web", journal: list[str] | None = None) -> None:
        self.name = name
        self.journal = journal if journal is not None else []
        self.alive = False
        self.failures = 0

    def start(self) -> None:
        if self.failures:
            self.failures -= 1
            raise EmbeddedServerError("the disk is full")
        self.journal.append(f"start {self.name}")
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive

    def stop(self) -> None:
        self.journal.append(f"stop {self.name}")


def kept(part: FakePart) -> tuple[ManagedProcess, list[str]]:
    said: list[str] = []
    return ManagedProcess(part, said.append), said


def test_an_ended_process_is_restarted_at_once_and_then_after_half_a_second() -> None:
    part = FakePart()
    web, said = kept(part)
    web.start(100.0)
    part.alive = False
    web.poll(101.0)
    web.poll(101.1)
    assert part.alive
    part.alive = False
    web.poll(102.0)
    web.poll(102.4)
    assert not part.alive
    web.poll(102.5)
    assert part.alive
    assert said == ["web has ended; starting it again", "web has ended; starting it again in 0.5 s"]


def test_the_restart_pause_doubles_up_to_five_seconds() -> None:
    part = FakePart()
    web, said = kept(part)
    web.start(0.0)
    now_s = 0.0
    for _ in range(6):
        part.alive = False
        web.poll(now_s)
        now_s += 5.0
        web.poll(now_s)
    assert [line.rpartition(" in ")[2] for line in said[1:]] == ["0.5 s", "1 s", "2 s", "4 s", "5 s"]


def test_a_process_that_ran_stably_restarts_at_once_again() -> None:
    part = FakePart()
    web, said = kept(part)
    web.start(0.0)
    for now_s in (0.0, 5.0, 100.0):
        part.alive = False
        web.poll(now_s)
        web.poll(now_s + 4.0)
    assert said[-1].endswith("again")


def test_a_server_that_fails_to_start_is_started_again() -> None:
    part = FakePart("redis")
    server, said = kept(part)
    server.start(0.0)
    part.alive, part.failures = False, 1
    server.poll(1.0)
    server.poll(1.5)
    assert said[-1] == "redis does not start: the disk is full; starting it again in 0.5 s"
    server.poll(2.5)
    assert part.alive


def test_processes_stop_in_reverse_order_of_their_start() -> None:
    journal: list[str] = []
    supervisor = Supervisor(journal.append)
    supervisor.start([FakePart(name, journal) for name in ("redis", "worker", "web")])
    supervisor.stop()
    assert journal[3:] == ["stop web", "stop worker", "stop redis"]


def test_a_process_whose_start_failed_is_stopped_too() -> None:
    part = FakePart("redis")
    part.failures = 1
    supervisor = Supervisor(part.journal.append)
    with pytest.raises(EmbeddedServerError):
        supervisor.start([part])
    supervisor.stop()
    assert part.journal == ["stop redis"]


def test_a_child_process_without_a_factory_loads_the_site_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "k" * 50)
    reading, writing = os.pipe()
    statuses = []
    for arguments in (["--version"], ["no_such_command"]):
        process = ChildProcess("preparation", ["preparation", *arguments], reading)
        statuses.append(Supervisor(print).run_to_end(process))
        assert not process.is_alive()
    os.close(reading)
    os.close(writing)
    assert statuses == [0, 1]
