"""Thousands of idle sockets for minutes: memory a socket, processor time, and how soon a post is heard.

`python -m benchmarks.idle_sockets` opens 10,000 for ten minutes on one daphne (loopback, two client
processes); `--sockets` and `--minutes` make it smaller. Exits 1 where one of them is lost, memory grows while
nothing happens, or a post is heard too late. No part of `make bench`: it is as long as it says.
"""

import argparse
import asyncio
import resource
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.audience import FollowedSite, encode_subscription, followed_site
from benchmarks.listeners import ListenerOptions, ListenerProcess, percentile, running_listeners

MAX_GROWTH_KB = 20 * 1024
"""By how much the process may grow while nothing happens; the kept fragments of the posts are among it."""
MAX_DELIVERY_S = 5.0
"""By the last of all sockets."""
OTHER_OPEN_FILES = 200


@dataclass(frozen=True, slots=True)
class IdleSocketsResult:
    """What was seen of `sockets` in `minutes`."""

    sockets: int
    minutes: float
    kb_each: float
    grown_kb: int
    cpu_percent: float
    heard_ms: list[float]  # of every socket, of every post

    @property
    def is_good(self) -> bool:
        return self.grown_kb < MAX_GROWTH_KB and max(self.heard_ms) < MAX_DELIVERY_S * 1000

    def summary(self) -> str:
        p50, p99, last = (percentile(self.heard_ms, percent) for percent in (50, 99, 100))
        return (
            f"{self.sockets:,} idle sockets, {self.minutes:g} minutes, 0 lost: {self.kb_each:.1f} kB each, "
            f"{self.grown_kb:,} kB more at the end, {self.cpu_percent:.1f}% of a processor; a post is heard "
            f"by p50 {p50:.0f} ms, p99 {p99:.0f} ms, the last {last:.0f} ms"
        )


async def measure(sockets: int, minutes: float) -> IdleSocketsResult:
    """Raises RuntimeError where a socket does not hear a post."""
    async with followed_site(sockets) as site:
        before_kb, size = site.server.resident_kb, sockets // 2
        with ExitStack() as stack:
            halves = (site.cookies[:size], site.cookies[size:])
            crowds = [
                stack.enter_context(
                    running_listeners(ListenerOptions(site.server.port, half, encode_subscription("home")))
                )
                for half in halves
            ]
            heard = await measure_post(site, crowds, "first0")
            open_kb, cpu, began = site.server.resident_kb, site.server.cpu_s, time.monotonic()
            await asyncio.sleep(minutes * 60)
            cpu_percent = (site.server.cpu_s - cpu) / (time.monotonic() - began) * 100
            grown_kb = site.server.resident_kb - open_kb
            heard += await measure_post(site, crowds, "second")
    return IdleSocketsResult(sockets, minutes, (open_kb - before_kb) / sockets, grown_kb, cpu_percent, heard)


async def measure_post(site: FollowedSite, crowds: list[ListenerProcess], mark: str) -> list[float]:
    """Milliseconds until each socket has it."""
    for crowd in crowds:
        await asyncio.to_thread(crowd.arm, mark)
    began = time.monotonic()
    await site.publish(f"{mark} is heard by everybody")
    arrivals = await asyncio.gather(*(asyncio.to_thread(crowd.arrivals) for crowd in crowds))
    return [(at - began) * 1000 for each in arrivals for at in each]


def raise_file_limit(sockets: int) -> None:
    """A socket is a file, on either side. Raises SystemExit where the system does not allow so many."""
    wanted, (_, hard) = sockets + OTHER_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"{wanted:,} files are needed, {hard:,} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sockets", type=int, default=10_000, metavar="N")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N")
    options = parser.parse_args()
    raise_file_limit(options.sockets)
    found = asyncio.run(measure(options.sockets, options.minutes))
    print(found.summary())
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
