"""A signed-in home page of 30 as users meet it (benchmarks/as_met.py), 32 connections through nginx.

CPU is that of web, worker and Redis together, divided by the pages; 20 posts a second are published over HTTP and
delivered meanwhile. References: "hello" through the same nginx, on Django's stock handler and on the site's handler.
The CPU has two parts, which are measured alone as well: the page while nobody posts, and a post until every home has
it. Then the same page in the first minute of a new process and after a post by the most followed author (B22). B24: two
web processes of one unit (docs/guide/install.md) and the private memory of one of them after 10,000 pages of 2,000
readers. One machine cannot show two processes on two free cores beside the load, so the gain of a second process is
computed from the CPU of the web processes for each page.
"""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from benchmarks.as_met import AsMetSite, as_met_site, running_proxy
from benchmarks.figures import Figure, Plan, Samples, at_least, at_most
from benchmarks.load import LoadResult, put_load
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import ROOT, BenchmarkDaphne, cpu_s, running_daphne
from benchmarks.web import CONNECTIONS, HEADERS, request

WARM_UP_S = 60.0
FIRST_MINUTE_S = 60.0
POOL_START_S = 60.0
POOL_PAGES, POOL_READERS, PROCESS_MB = 10_000, 2_000, 30
HELLO, OWN_HELLO = "stock hello behind nginx", "hello on the site's handler, behind nginx"
WEB_PROCESS = re.compile(r"socialsite\.quickstart\.child_process \d+ web")

Cost = tuple[float, LoadResult | None]
"""CPU ms per page or post, and the result of the load."""


async def measure(plan: Plan) -> list[Figure]:
    async with as_met_site(plan) as site:
        homes = site.homes()
        fresh, _ = await measure_homes(site, homes, 2.0 if plan.quick else FIRST_MINUTE_S)
        await measure_homes(site, homes, 2.0 if plan.quick else WARM_UP_S)
        with (
            hello_behind_nginx("benchmarks.hello.asgi:application") as (hello, hello_port),
            hello_behind_nginx("benchmarks.hello.own_handler:application") as (own, own_port),
        ):
            sides: dict[str, Callable[[], Awaitable[Cost]]] = {
                "home": lambda: measure_homes(site, homes, plan.seconds),
                "quiet": lambda: measure_homes(site, homes, plan.seconds, posting=False),
                "post": lambda: measure_posts(site, plan.seconds),
                "hello": lambda: measure_hello(hello, hello_port, plan.seconds),
                "own": lambda: measure_hello(own, own_port, plan.seconds),
                "news": lambda: measure_after_news(site, homes, plan.seconds),
            }
            results = await measure_in_rounds(plan.rounds, sides)
        return [*figures_of(results, fresh), *await measure_pool(site, homes, plan)]


def figures_of(results: dict[str, list[Cost]], fresh: float) -> list[Figure]:
    cpu = {name: Samples.all(cost for cost, _ in costs) for name, costs in results.items()}
    home, hello = ([load for _, load in results[name] if load] for name in ("home", "hello"))
    rate, hello_rate = (Samples.all(load.per_s for load in loads) for loads in (home, hello))
    what, unit, p99 = "home of 30 as met: web, worker and Redis", "CPU ms/request", Samples.all(x.p99_ms for x in home)
    return [
        Figure(what, unit, cpu["home"], at_most(2.5), cpu["hello"], HELLO),
        Figure(what, unit, cpu["home"], None, cpu["own"], OWN_HELLO),
        Figure("the page alone, while nobody posts", unit, cpu["quiet"], None, cpu["hello"], HELLO),
        Figure("a post, until every home has it", "CPU ms/post", cpu["post"]),
        Figure("home of 30 as met", "requests/s", rate, None, hello_rate, HELLO, f"p99 {p99} ms"),
        Figure(
            "B22: in the first minute of a process", unit, Samples.of(fresh), at_most(2),
            Samples.of(cpu["home"].median), "the same, warm",
        ),
        Figure("B22: after a post by the most followed", unit, cpu["news"], at_most(1.1), cpu["home"], "before"),
    ]  # fmt: skip


async def measure_pool(site: AsMetSite, homes: list[bytes], plan: Plan) -> list[Figure]:
    """Compare two web processes of one unit, behind the same nginx, with the one of the site (B24)."""
    from tests.support.ports import free_port
    from tests.support.processes import private_kb

    with pool_of_two(site.redis_url) as (pool_port, pids), tempfile.TemporaryDirectory() as name:
        port, readers = free_port(), site.homes(POOL_READERS)
        with running_proxy(Path(name), port, pool_port):
            served = 0
            while served < plan.size(POOL_PAGES):
                turned = readers[served % len(readers) :] + readers
                served += put_load(port, turned, seconds=plan.seconds, connections=CONNECTIONS).count
            memory_mb = max(map(private_kb, pids)) / 1000

            async def web_cpu(at: int, spent: Callable[[], float]) -> float:
                before = spent()
                _, load = await measure_homes(site, homes, plan.seconds, port=at)
                return (spent() - before) * 1000 / load.count

            sides = {
                "one": lambda: web_cpu(site.port, lambda: site.web.cpu_s),
                "two": lambda: web_cpu(port, lambda: sum(map(cpu_s, pids))),
            }
            cpu = await measure_in_rounds(plan.rounds, sides)
    one, two = Samples.all(1000 / ms for ms in cpu["one"]), Samples.all(2000 / ms for ms in cpu["two"])
    return [
        Figure("B24: pages a CPU second of two web processes", "pages/s", two, at_least(1.8), one, "one process"),
        Figure("B24: memory of a further web process", "MB", Samples.of(memory_mb), at_most(PROCESS_MB)),
    ]


@contextlib.contextmanager
def pool_of_two(redis_url: str) -> Iterator[tuple[int, list[int]]]:
    """Run two web processes of one unit on one socket; yield its port and their process ids."""
    from tests.support.sites import find_children

    words = [sys.executable, "-m", "socialsite.quickstart.server_pool", "--web-processes", "2"]
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        fd, environment = listening.fileno(), {**os.environ, "REDIS_URL": redis_url}
        pool = subprocess.Popen([*words, "--fd", str(fd)], cwd=ROOT, env=environment, pass_fds=[fd])
        try:
            until = time.monotonic() + POOL_START_S
            while len(pids := [pid for pid, _ in find_children(pool.pid, WEB_PROCESS)]) < 2:
                if time.monotonic() > until:
                    raise RuntimeError("two web processes did not start")
                time.sleep(0.1)
            port = listening.getsockname()[1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=POOL_START_S):
                yield port, pids
        finally:
            pool.terminate()
            pool.wait()


async def measure_homes(
    site: AsMetSite, homes: list[bytes], seconds: float, *, posting: bool = True, port: int = 0
) -> tuple[float, LoadResult]:
    """Load homes while posts are published. Each load begins with other readers."""
    offset = next(site.numbers) * 997 % len(homes)
    before = site.cpu_s
    async with site.publishing() if posting else contextlib.nullcontext():
        load = await asyncio.to_thread(
            put_load, port or site.port, homes[offset:] + homes[:offset], seconds=seconds, connections=CONNECTIONS
        )
    return (site.cpu_s - before) * 1000 / load.count, load


async def measure_posts(site: AsMetSite, seconds: float) -> Cost:
    """Publish while nobody reads; return the CPU ms of a post, with all its deliveries."""
    await site.wait_until_delivered()
    before, published = site.cpu_s, site.published
    async with site.publishing():
        await asyncio.sleep(seconds)
    await site.wait_until_delivered()
    return (site.cpu_s - before) * 1000 / (site.published - published), None


async def measure_after_news(site: AsMetSite, homes: list[bytes], seconds: float) -> Cost:
    """Have the most followed account publish a post; load homes while it is delivered."""
    await site.publish_once(next(iter(site.cookies)))
    return await measure_homes(site, homes, seconds)


@contextlib.contextmanager
def hello_behind_nginx(application: str) -> Iterator[tuple[BenchmarkDaphne, int]]:
    from tests.support.ports import free_port

    with running_daphne(application) as server, tempfile.TemporaryDirectory() as name:
        port = free_port()
        with running_proxy(Path(name), port, server.port):
            yield server, port


async def measure_hello(server: BenchmarkDaphne, port: int, seconds: float) -> Cost:
    hello = [request("GET", "/", {**HEADERS, "Host": f"127.0.0.1:{port}", "Accept-Encoding": "gzip"})]
    before = server.cpu_s
    load = await asyncio.to_thread(put_load, port, hello, seconds=seconds, connections=CONNECTIONS)
    return (server.cpu_s - before) * 1000 / load.count, load
