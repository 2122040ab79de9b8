"""The loop watch finds every kind of fault, and finds none in a part of the suite."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REPRESENTATIVE = (
    "contract/live/test_live",
    "contract/workers/test_failing_jobs",
    "contract/exporting/test_exports",
    "web/requests/test_site",
    "web/timelines/test_posts",
    "web/timelines/test_reactions",
    "web/timelines/test_timelines",
)
"""Tests that together run through every layer: the web tests have middleware, views and services in this process.

`make quality`, which is part of `make nightly`, watches all contract tests.
"""
OFFENCES = " offences in "
"""What the output of the loop watch contains for each test that it fails."""
FAULTY = """
import asyncio, os, socket, sqlite3, subprocess, threading, time

async def sleeps_no_time(): time.sleep(0)
async def reads_a_file(): open(os.__file__).close()
async def syncs_a_file(): os.fsync(1)
async def sends_and_waits():
    one, two = socket.socketpair()
    with one, two: one.send(b"x")
async def asks_sqlite(): sqlite3.connect(":memory:").close()
async def starts_a_child(): subprocess.run(["true"])
async def waits_for_a_thread(): threading.Event().wait(0.001)
async def computes():
    end = time.thread_time() + 1.5
    while time.thread_time() < end: pass
async def forgets_to_await(): asyncio.sleep(0)
async def fails(): 1 / 0
async def never_looks_at_its_task():
    asyncio.create_task(fails())
    await asyncio.sleep(0)
async def leaves_a_file_open(): open(os.devnull)
"""
"""Each coroutine has one fault."""
BLAMELESS = """
async def awaits(): await asyncio.sleep(0)
async def asks_a_thread(): await asyncio.to_thread(time.sleep, 0)
async def uses_the_loops_sockets():
    loop = asyncio.get_running_loop()
    one, two = socket.socketpair()
    with one, two:
        one.setblocking(False), two.setblocking(False)
        await loop.sock_sendall(one, b"x")
        assert await loop.sock_recv(two, 1) == b"x"
"""
HARNESS = f"""
import contextlib
import pytest

product = {{}}
exec(compile({FAULTY + BLAMELESS!r}, {str(ROOT / "socialsite/faulty.py")!r}, "exec"), product)

@pytest.mark.parametrize("name", [name for name in product if hasattr(product[name], "__code__")])
async def test_fault(name):
    if name != "fails":
        with contextlib.suppress(OSError):
            await product[name]()
"""
FAULTS = set(re.findall(r"^async def (\w+)", FAULTY, re.MULTILINE)) - {"fails"}


def run_watched(*arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin in a process of its own, because its wrappers cannot be removed."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.quality.loop_watch", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-n", "0", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip


def test_the_loop_watch_fails_exactly_the_faulty_tests(tmp_path: Path) -> None:
    file = tmp_path / "test_faulty.py"
    file.write_text(HARNESS)
    run = run_watched(str(file), "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), timeout_s=120)
    assert set(re.findall(r"^(?:ERROR|FAILED) .*test_fault\[(\w+)\]", run.stdout, re.MULTILINE)) == FAULTS, (
        run.stdout + run.stderr
    )


@pytest.mark.nightly
def test_a_part_of_the_suite_never_blocks_the_loop() -> None:
    paths = [f"tests/{name}.py" for name in REPRESENTATIVE]
    run = run_watched(*paths, timeout_s=400)
    if run.returncode == 1 and OFFENCES not in run.stdout:
        run = run_watched(*paths, timeout_s=400)  # a test failed by itself: debug mode is slow on a busy machine
    assert run.returncode == 0, run.stdout[-20_000:]
