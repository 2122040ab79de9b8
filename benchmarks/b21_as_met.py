"""A signed-in home page of 30 as users meet it (benchmarks/as_met.py), 32 connections through nginx.

CPU is that of web, worker and Redis together, divided by the pages; 20 posts a second are published over HTTP and
delivered meanwhile. References: "hello" through the same nginx, on Django's stock handler and on the site's handler.
Then the same page in the first minute of a new process and after a post by the most followed author (B22), and from
two web processes (B24). One machine cannot show two processes on two free cores beside the load, so the gain of a
second process is computed from the CPU of the web processes for each page.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.as_met import AsMetSite, as_met_site, running_proxy
from benchmarks.figures import Figure, Plan, Samples, at_least, at_most
from benchmarks.load import LoadResult, put_load
from benchmarks.rounds import measure_in_rounds
from benchmarks.running import run_alone
from benchmarks.servers import BenchmarkDaphne, running_daphne
from benchmarks.web import CONNECTIONS, HEADERS, request

WARM_UP_S = 60.0
FIRST_MINUTE_S = 60.0
HELLO, OWN_HELLO = "stock hello behind nginx", "hello on the site's handler, behind nginx"
WARM = "the same, warm"
PROCESS_MEMORY_KB = 80_000

Cost = tuple[float, LoadResult]
"""CPU ms per page, and the result of the load."""


async def measure(plan: Plan) -> list[Figure]:
    async with as_met_site(plan, web_processes=2) as site:
        second = site.web.pop()
        second.stop()  # nginx sends every request to the other process
        homes = site.homes()
        fresh = await measure_homes(site, homes, 2.0 if plan.quick else FIRST_MINUTE_S)
        await measure_homes(site, homes, 2.0 if plan.quick else WARM_UP_S)
        with (
            hello_behind_nginx("benchmarks.hello.asgi:application") as (hello, hello_port),
            hello_behind_nginx("benchmarks.hello.own_handler:application") as (own, own_port),
        ):
            sides = {
                "home": lambda: measure_homes(site, homes, plan.seconds),
                "hello": lambda: measure_hello(hello, hello_port, plan.seconds),
                "own": lambda: measure_hello(own, own_port, plan.seconds),
                "news": lambda: measure_after_news(site, homes, plan.seconds),
            }
            results = await measure_in_rounds(plan.rounds, sides)
        one_cpu = await measure_web_cpu(site, homes, plan)
        second.start()
        site.web.append(second)
        await measure_homes(site, homes, 2.0 if plan.quick else WARM_UP_S / 2)
        two_cpu = await measure_web_cpu(site, homes, plan)
        memory_kb = private_memory_kb(second.pid)
    return figures_of(results, fresh, one_cpu, two_cpu, memory_kb)


def figures_of(
    results: dict[str, list[Cost]], fresh: Cost, one_cpu: float, two_cpu: float, memory_kb: float
) -> list[Figure]:
    cpu = {name: Samples.all(cost for cost, _ in costs) for name, costs in results.items()}
    rate = {name: Samples.all(load.per_s for _, load in costs) for name, costs in results.items()}
    p99 = Samples.all(load.p99_ms for _, load in results["home"])
    unit = "CPU ms/request"
    median = Samples.of(cpu["home"].median)
    return [
        Figure("home of 30 as met: web, worker and Redis", unit, cpu["home"], at_most(1.3), cpu["hello"], HELLO),
        Figure("home of 30 as met: web, worker and Redis", unit, cpu["home"], None, cpu["own"], OWN_HELLO),
        Figure("home of 30 as met", "requests/s", rate["home"], None, rate["hello"], HELLO, f"p99 {p99} ms"),
        Figure("B22: in the first minute of a process", unit, Samples.of(fresh[0]), at_most(2), median, WARM),
        Figure("B22: after a post by the most followed", unit, cpu["news"], at_most(1.1), cpu["home"], "before"),
        Figure(
            "B24: pages a CPU second of two web processes",
            "pages/s",
            Samples.of(2000 / two_cpu),
            at_least(1.8),
            Samples.of(1000 / one_cpu),
            "one process",
        ),
        Figure("B24: memory of a further web process", "kB", Samples.of(memory_kb), at_most(PROCESS_MEMORY_KB)),
    ]


async def measure_homes(site: AsMetSite, homes: list[bytes], seconds: float) -> Cost:
    """Load homes while posts are published. Each load begins with other readers."""
    offset = next(site.numbers) * 997 % len(homes)
    before = site.cpu_s
    async with site.publishing():
        load = await asyncio.to_thread(
            put_load, site.port, homes[offset:] + homes[:offset], seconds=seconds, connections=CONNECTIONS
        )
    return (site.cpu_s - before) * 1000 / load.count, load


async def measure_after_news(site: AsMetSite, homes: list[bytes], seconds: float) -> Cost:
    """Have the most followed account publish a post; load homes while it is delivered."""
    await site.publish_once(next(iter(site.cookies)))
    return await measure_homes(site, homes, seconds)


async def measure_web_cpu(site: AsMetSite, homes: list[bytes], plan: Plan) -> float:
    """Return the CPU ms of the web processes for each page."""
    before = site.web_cpu_s
    _, load = await measure_homes(site, homes, plan.seconds * 3)
    return (site.web_cpu_s - before) * 1000 / load.count


@contextlib.contextmanager
def hello_behind_nginx(application: str) -> Iterator[tuple[BenchmarkDaphne, int]]:
    from tests.support.ports import free_port

    with running_daphne(application) as server, tempfile.TemporaryDirectory() as name:
        port = free_port()
        with running_proxy(Path(name), port, [server.port]):
            yield server, port


async def measure_hello(server: BenchmarkDaphne, port: int, seconds: float) -> Cost:
    hello = [request("GET", "/", {**HEADERS, "Host": f"127.0.0.1:{port}", "Accept-Encoding": "gzip"})]
    before = server.cpu_s
    load = await asyncio.to_thread(put_load, port, hello, seconds=seconds, connections=CONNECTIONS)
    return (server.cpu_s - before) * 1000 / load.count, load


def private_memory_kb(pid: int) -> float:
    """Return the private memory of a process: what a further process adds to the machine."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return float(sum(int(line.split()[1]) for line in lines if line.startswith("Private_")))


if __name__ == "__main__":
    run_alone("B21", measure)
