"""Shared parts of the HTTP benchmarks: the site and the reference, each in a daphne process, and their load."""

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Budget, Figure, Plan, Samples, at_least, at_most
from benchmarks.load import put_load
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import BenchmarkDaphne, cpu_s, redis_server, running_daphne, running_worker

if TYPE_CHECKING:
    from benchmarks.town import SyntheticSite
    from socialsite.container import Services
    from socialsite.ids import AccountId

CONNECTIONS = 32
READERS = 64
CSRF = "mO3kPz8cVn1Qs6Yb4Ht9Wd2Lx7Rf5JgA"
MAX_CLIENT_CPU_SHARE = 0.8
AS_MANY, AS_CHEAP = at_least(1.0), at_most(1.0)
HELLO, OWN_HELLO = "Django's stock hello", "hello on the site's handler"
HEADERS = {
    "Host": "127.0.0.1",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-GB,en;q=0.7",
    "Connection": "keep-alive",
}


@dataclass(frozen=True, slots=True)
class LoadMeasurement:
    per_s: float
    cpu_ms: float
    p99_ms: float
    client: float


@dataclass(frozen=True, slots=True)
class PageRequests:
    """Requests of one kind, each by another reader."""

    requests: list[bytes]
    status: int = 200
    holds: bytes = b""
    times: int = 1  # expected occurrences of `holds` in the answer


@dataclass(slots=True)
class HttpSite:
    """A populated site under its own daphne, and readers who are signed in to it. `others`: its worker and Redis."""

    services: "Services"
    server: BenchmarkDaphne
    town: "SyntheticSite"
    cookies: dict["AccountId", str]
    others: list[int]
    number: int = 0

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def cpu_s(self) -> float:
        """The processor seconds of all its processes."""
        return self.server.cpu_s + sum(map(cpu_s, self.others))

    def get(self, path: str, reader: "AccountId | None" = None, accept: str = "") -> bytes:
        return request("GET", path, self._headers(reader, accept))

    def post(self, path: str, reader: "AccountId", body: bytes) -> bytes:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
        form["Origin"] = f"http://127.0.0.1:{self.server.port}"
        return request("POST", path, {**self._headers(reader), **form}, body)

    def _headers(self, reader: "AccountId | None", accept: str = "") -> dict[str, str]:
        headers = {**HEADERS, "Host": f"127.0.0.1:{self.server.port}"}
        if accept:
            headers["Accept"] = accept
        if reader is not None:
            headers["Cookie"] = f"sessionid={self.cookies[reader]}; csrftoken={CSRF}"
        return headers


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


@contextlib.asynccontextmanager
async def populated_site(
    plan: Plan, *, sampled_into: Path | None = None, aof: bool = False, pictures_every: int = 0, worker: bool = True
) -> AsyncIterator[HttpSite]:
    """Run a populated site; `sampled_into` is a file for daphne's sampled stacks."""
    prepare()
    from benchmarks.town import build_homes, create_synthetic_site
    from benchmarks.visitors import sign_in
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    with (
        redis_server(aof=aof) as redis,
        running_daphne("socialsite.asgi:application", sampled_into=sampled_into, REDIS_URL=redis.url) as server,
    ):
        async with open_services(redis.url, ServiceConfig()) as services:
            town = await create_synthetic_site(
                services, plan.size(1_000), plan.size(20_000), pictures_every=pictures_every
            )
            readers = town.ids[:: max(1, len(town.ids) // READERS)][:READERS]
            await build_homes(services, readers)
            with running_worker(redis.url) if worker else contextlib.nullcontext(redis.pid) as pid:
                yield HttpSite(services, server, town, await sign_in(services, readers), list({redis.pid, pid}))


def measure_load(
    server: BenchmarkDaphne | HttpSite, pages: PageRequests, seconds: float, first_number: int = 0
) -> LoadMeasurement:
    """Measure the load for a time; processor time is that of all processes of the server."""
    before = server.cpu_s
    answers = put_load(
        server.port,
        pages.requests,
        seconds=seconds,
        status=pages.status,
        connections=CONNECTIONS,
        first_number=first_number,
    )
    cpu_ms = (server.cpu_s - before) * 1000 / answers.count
    return LoadMeasurement(answers.per_s, cpu_ms, answers.p99_ms, answers.client)


async def compare(
    plan: Plan, site: HttpSite, kinds: Mapping[str, PageRequests], *, own_hello: bool = False
) -> dict[str, list[LoadMeasurement]]:
    """Measure each kind of page and "hello" in turn, after a check of the first answers.

    "hello" is on Django's stock handler, "own hello" on the site's.
    """
    for name, pages in kinds.items():
        check_page(name, site.server.port, pages)
    with (
        running_daphne("benchmarks.hello.asgi:application") as hello,
        running_daphne("benchmarks.hello.own_handler:application") as own,
    ):
        stock, owned = (
            PageRequests([request("GET", "/", {**HEADERS, "Host": f"127.0.0.1:{server.port}"})])
            for server in (hello, own)
        )

        async def load(server: BenchmarkDaphne | HttpSite, pages: PageRequests) -> LoadMeasurement:
            site.number += 1_000_000
            return await asyncio.to_thread(measure_load, server, pages, plan.seconds, site.number)

        sides = {name: lambda pages=pages: load(site, pages) for name, pages in kinds.items()}
        references = {"hello": lambda: load(hello, stock)}
        if own_hello:
            references["own hello"] = lambda: load(own, owned)
        return await measure_in_rounds(plan.rounds, {**sides, **references})


def check_page(name: str, port: int, pages: PageRequests) -> None:
    """Raise RuntimeError if the answer to the first request is not the page to measure."""
    if not pages.holds:
        return
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.connect()
    connection.sock.sendall(pages.requests[0])
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    count = answer.read().count(pages.holds)
    connection.close()
    if answer.status != pages.status or count != pages.times:
        raise RuntimeError(f"{name}: status {answer.status}, {pages.holds!r} stands in it {count} times")


def figures_of(
    name: str,
    ours: Sequence[LoadMeasurement],
    hello: Sequence[LoadMeasurement],
    rate: Budget | None = AS_MANY,
    cpu: Budget | None = AS_CHEAP,
) -> list[Figure]:
    """Return the figures for requests a second and processor time, both against "hello"."""
    rates, stock_rates = Samples.all(m.per_s for m in ours), Samples.all(m.per_s for m in hello)
    costs, stock_costs = Samples.all(m.cpu_ms for m in ours), Samples.all(m.cpu_ms for m in hello)
    busiest = max(m.client for m in (*ours, *hello))
    notes = [f"p99 {Samples.all(m.p99_ms for m in ours)} ms"]
    if busiest > MAX_CLIENT_CPU_SHARE:
        notes.append(f"the client used {busiest:.0%} of a core: too slow itself")
    return [
        Figure(name, "requests/s", rates, rate, stock_rates, HELLO, "; ".join(notes)),
        Figure(name, "CPU ms/request", costs, cpu, stock_costs, HELLO),
    ]
