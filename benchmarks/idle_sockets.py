"""Thousands of idle sockets for minutes: memory a socket, processor time, and the latency of a post.

`python -m benchmarks.idle_sockets` opens 10,000 for ten minutes on one daphne (loopback, two client
processes); `--sockets` and `--minutes` reduce them. The exit status is 1 if a socket is lost, memory grows during
idleness, or a post arrives too late. `make bench` does not run it because it takes too long.
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
"""Maximum growth of the idle process in kB, including the cached fragments of the posts."""
MAX_DELIVERY_S = 5.0
"""Maximum latency of a post at the last of all sockets."""
OTHER_OPEN_FILES = 200


@dataclass(frozen=True, slots=True)
class IdleSocketsResult:
    """The measurements of `sockets` sockets in `minutes` minutes."""

    sockets: int
    minutes: float
    kb_each: float
    grown_kb: int
    cpu_percent: float
    heard_ms: list[float]  # latency at each socket, of each post

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
    """Measure the idle sockets. Raises RuntimeError if a socket does not receive a post."""
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
    """Return the milliseconds until each socket has the post."""
    for crowd in crowds:
        await asyncio.to_thread(crowd.arm, mark)
    began = time.monotonic()
    await site.publish(f"{mark} is heard by everybody")
    arrivals = await asyncio.gather(*(asyncio.to_thread(crowd.arrivals) for crowd in crowds))
    return [(at - began) * 1000 for each in arrivals for at in each]


def raise_file_limit(sockets: int) -> None:
    """Raise the limit of open files: a socket is a file on both sides. Raises SystemExit if the limit is too low."""
    required_files, (_, hard) = sockets + OTHER_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < required_files:
        sys.exit(f"{required_files:,} files are needed, {hard:,} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (required_files, hard))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sockets", type=int, default=10_000, metavar="N")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N")
    options = parser.parse_args()
    raise_file_limit(options.sockets)
    result = asyncio.run(measure(options.sockets, options.minutes))
    print(result.summary())
    return 0 if result.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
