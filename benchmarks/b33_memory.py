"""Memory of an idle site as `make run` starts it, after 200 pages of 20 readers who follow twenty accounts.

The sum of PSS of all processes, Redis and the supervisor too. Each round is the first start of a site, with its demo.
"""

import asyncio
import tempfile
from pathlib import Path

from benchmarks.b29_make_run import NO_LIMITS, follow_authors
from benchmarks.figures import Figure, Plan, Samples, at_most

READERS, PAGES, SITE_MB = 20, 200, 190


async def measure(plan: Plan) -> list[Figure]:
    pss_mb = [await asyncio.to_thread(memory_after_pages, plan.size(PAGES)) for _ in range(plan.rounds)]
    return [
        Figure(f"an idle site after {PAGES} pages of {READERS} readers", "MB", Samples.all(pss_mb), at_most(SITE_MB))
    ]


def memory_after_pages(pages: int) -> float:
    from tests.support.processes import proportional_kb
    from tests.support.sites import QuickstartSite
    from tests.support.visitor import HttpVisitor

    with tempfile.TemporaryDirectory() as name:
        site = QuickstartSite(Path(name) / "data", "--port", "0", environment=NO_LIMITS)
        try:
            site.wait_until_ready()
            readers = [HttpVisitor(site.url, f"reader{number}").sign_up() for number in range(READERS)]
            for reader in readers:
                follow_authors(reader)
            for number in range(pages):
                assert readers[number % READERS].http.get("/").is_success
            return proportional_kb([site.pid, *site.processes().values()]) / 1000
        finally:
            site.interrupt()
