"""An ordinary site: `make run` alone, with its demo posts, its settings and one reader who follows twenty accounts.

The home page is compressed by the web process, since there is no proxy; the append-only file is on. One connection
requests the page again and again (waiting time), then 32 do (CPU of web, worker and Redis for each page). Then the
only web process is killed, and the site is stopped and started on its data: each time until it serves the page again.
Limits for requests of one address are off, because all requests come from here.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Figure, Plan, Samples
from benchmarks.load import LoadResult, put_load
from benchmarks.servers import cpu_s
from benchmarks.web import CONNECTIONS, CSRF, HEADERS, request

if TYPE_CHECKING:
    from tests.support.sites import QuickstartSite
    from tests.support.visitor import HttpVisitor

FOLLOWED = 20
WARM_UP_S = 5.0
NO_LIMITS = {f"RATE_LIMIT_{rule}": "off" for rule in ("ADDRESS", "FOLLOW", "SIGNUP")}
Cost = tuple[float, LoadResult]
"""CPU ms for each page, and the result of the load."""


async def measure(plan: Plan) -> list[Figure]:
    return await asyncio.to_thread(_measure, plan)


def _measure(plan: Plan) -> list[Figure]:
    from tests.support.sites import QuickstartSite

    with tempfile.TemporaryDirectory() as name:
        site = QuickstartSite(Path(name) / "data", "--port", "0", environment=NO_LIMITS)
        try:
            home = home_request(site.wait_until_ready())
            load_home(site, home, WARM_UP_S, CONNECTIONS)
            alone, together, back_s = [], [], []
            for _ in range(plan.rounds):
                alone.append(load_home(site, home, plan.seconds, 1)[1])
                together.append(load_home(site, home, plan.seconds, CONNECTIONS))
            for _ in range(plan.rounds):
                back_s.append(restart_web(site))
            site.interrupt()
            started = time.perf_counter()
            site = QuickstartSite(Path(name) / "data", "--port", "0", environment=NO_LIMITS)
            site.wait_until_ready()
            start_s = time.perf_counter() - started
        finally:
            if not site.has_ended():
                site.interrupt()
    what = "home of 30 posts, `make run`"
    p99 = Samples.all(load.p99_ms for load in alone)
    return [
        Figure(f"{what}, one connection", "ms", Samples.all(load.p50_ms for load in alone), note=f"p99 {p99} ms"),
        Figure(f"{what}, {CONNECTIONS} connections", "requests/s", Samples.all(load.per_s for _, load in together)),
        Figure(f"{what}: web, worker and Redis", "CPU ms/request", Samples.all(cpu for cpu, _ in together)),
        Figure("the only web process killed, until it serves a page", "s", Samples.all(back_s)),
        Figure("`make run` on existing data, until it serves", "s", Samples.of(start_s)),
    ]


def follow_authors(reader: "HttpVisitor") -> None:
    handles = {post["author"]["handle"] for post in reader.get("/public/?limit=100")["posts"]}
    for handle in sorted(handles)[:FOLLOWED]:
        assert reader.post(f"/@{handle}/follow/").is_success


def home_request(site: "QuickstartSite") -> bytes:
    """Sign up, follow the authors of the public timeline, and return the request of the home page."""
    from tests.support.visitor import HttpVisitor

    reader = HttpVisitor(site.url, "ordinary").sign_up()
    follow_authors(reader)
    assert len(reader.get("/?limit=30")["posts"]) == 30
    cookie = f"sessionid={reader.http.cookies['sessionid']}; csrftoken={CSRF}"
    headers = {**HEADERS, "Host": f"127.0.0.1:{site.port}", "Accept-Encoding": "gzip", "Cookie": cookie}
    return request("GET", "/", headers)


def load_home(site: "QuickstartSite", home: bytes, seconds: float, connections: int) -> Cost:
    pids = site.processes().values()
    before = sum(map(cpu_s, pids))
    load = put_load(site.port, [home], seconds=seconds, connections=connections)
    return (sum(map(cpu_s, pids)) - before) * 1000 / load.count, load


def restart_web(site: "QuickstartSite") -> float:
    """Kill the web process. Return the seconds until a page is served."""
    site.kill_one("web")
    killed = time.perf_counter()
    while site.status("/") != 200:
        time.sleep(0.01)
    return time.perf_counter() - killed
