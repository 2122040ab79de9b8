"""The pytest plugin that runs mutants: the collected tests stay in memory, each mutant runs in a fork.

tests/quality/mutation.py sets the environment. MUTATE: the files. MUTATION_RESULTS: a file to which a line of JSON per
mutant is appended. MUTATION_COVERAGE: the folder of `make coverage` (empty: every mutant runs every collected test).
All forks use one Redis server in turn, which every test empties. A fork that hangs is killed with its children. After a
fork that ended early the server is restarted, because a script may still loop in it or a setting may have changed. A
failure counts only if the test passes without the mutant.
"""

import contextlib
import json
import os
import resource
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.main import pytest_runtestloop as run_tests

from tests.quality.covering import Covering
from tests.quality.mutants import Mutant
from tests.quality.mutating import Impossible, mutants_in, mutate
from tests.support.redis_server import RedisServer

BUDGET_S = float(os.environ.get("MUTATION_BUDGET_S", "8"))
"""Seconds of tests per mutant, measured without the mutant. Further tests are skipped (`left` in the results)."""
PATIENCE = 4, 40.0
"""A mutant hangs if it takes longer than this factor times the tests' time plus these seconds."""
SURVIVED = "survived"
_server: RedisServer | None = None


@dataclass(frozen=True)
class Verdict:
    """Result of a mutant: killed, hung, survived, uncovered or impossible; the failing test, and the seconds."""

    state: str
    by: str = ""
    tried: int = 0
    left: int = 0
    seconds: float = 0.0


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> object:
    """Return the running server: a fork must not start or stop a server."""
    if fixturedef.argname != "redis_server" or _server is None:
        return None
    fixturedef.cached_result = (_server, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
    return _server


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    global _server
    coverage = os.environ["MUTATION_COVERAGE"]
    covering = Covering(Path(coverage)) if coverage else None
    items = {item.nodeid: item for item in session.items}
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("stopped"))
    with RedisServer() as _server, Path(os.environ["MUTATION_RESULTS"]).open("a+") as results:
        for path, mutant in _wanted(results):
            if covering:
                verdict = _try(session, items, covering, path, mutant)
            else:
                verdict = _verdict(session, session.items[:], path, mutant)
            results.write(json.dumps({"path": path, **asdict(mutant), **asdict(verdict)}) + "\n")
            results.flush()
    return True


def _wanted(results: Any) -> Iterator[tuple[str, Mutant]]:
    """Yield the mutants of the files that have no result yet; runners share them by number."""
    part, parts = map(int, os.environ.get("MUTATION_PART", "0/1").split("/"))
    left_out = set(os.environ.get("MUTATION_LEAVE_OUT", "").split())
    results.seek(0)
    finished = {(each["path"], each["told"], each["line"], each["number"]) for each in map(json.loads, results)}
    for path in os.environ["MUTATE"].split():
        for mutant in mutants_in(path):
            if mutant.number % parts != part or mutant.operator in left_out:
                continue
            if (path, mutant.told, mutant.line, mutant.number) not in finished:
                yield path, mutant


def _try(session: pytest.Session, items: dict[str, Any], covering: Covering, path: str, mutant: Mutant) -> Verdict:
    names = [name for name in covering.tests_of(path, mutant) if name in items]
    chosen_items, spent = [], 0.0
    for name in names:
        if chosen_items and spent + covering.seconds(name) > BUDGET_S:
            continue
        chosen_items.append(items[name])
        spent += covering.seconds(name)
    if not chosen_items:
        return Verdict("uncovered")
    return _verdict(session, chosen_items, path, mutant, spent, len(names) - len(chosen_items))


def _verdict(
    session: pytest.Session, chosen: list[Any], path: str, mutant: Mutant, spent: float = 5.0, left: int = 0
) -> Verdict:
    began = time.monotonic()
    patience_s = PATIENCE[0] * spent + PATIENCE[1]
    while True:
        state, by = _fork(session, chosen, patience_s, path, mutant)
        accuser = next((item for item in chosen if item.nodeid == by), None)
        if accuser is None or _fork(session, [accuser], patience_s)[0] == SURVIVED:
            return Verdict(state, by, len(chosen), left, round(time.monotonic() - began, 2))
        chosen = [item for item in chosen if item is not accuser]  # this test also fails without the mutant


def _fork(
    session: pytest.Session, chosen: list[Any], patience_s: float, path: str = "", mutant: Mutant | None = None
) -> tuple[str, str]:
    """Run the tests in a fork and return the state and the first failing test.

    Without a mutant, the tests run on the original sources.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _be_the_mutant(session, chosen, path, mutant, writing, patience_s)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], patience_s)
        answer = os.read(reading, 4096).decode() if ready else ""
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    state, _, by = answer.partition(" ")
    if state != SURVIVED and _server is not None:
        _server.kill()
        _server.start()
    return (state or ("hung" if not ready else "killed")), by


class FirstFailure:
    """Report the first failing test and end the process."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell(f"killed {report.nodeid}")

    def tell(self, answer: str) -> None:
        with contextlib.suppress(OSError):  # the parent does not read a late answer
            os.write(self._pipe, answer.encode()[:4000])
        os._exit(0)


def _be_the_mutant(
    session: pytest.Session, chosen: list[Any], path: str, mutant: Mutant | None, pipe: int, patience_s: float
) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (int(patience_s) + 5, int(patience_s) + 10))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    failure = FirstFailure(pipe)
    plugins.register(failure)
    try:
        if mutant is not None:
            mutate(path, mutant)
        session.items[:] = chosen
        run_tests(session)
        failure.tell(SURVIVED)
    except Impossible as error:
        failure.tell(f"impossible {error}")
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the mutant's
        failure.tell(f"killed {type(error).__name__} outside of a test")
