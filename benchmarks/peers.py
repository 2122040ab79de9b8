"""`python -m benchmarks.peers URL TOKEN [--pids PID,...]`: what a server costs behind the Mastodon API.

Sends the same requests to any server of this API: the home of 40, 40 notifications, and a post. One connection, one
request after another; the first tenth warms the server and is not counted. With the ids of all processes of the server
(web, workers, database, cache) it prints their processor time for each request, and the sum of their memory (PSS) at
the end. Run it on the server's machine, as a user that may read /proc/PID/smaps_rollup.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence

import httpx

from benchmarks.servers import cpu_s
from tests.support.processes import proportional_kb

LIMIT = 40
Send = Callable[[int], httpx.Response]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("url", help="of the server, such as http://127.0.0.1:8000")
    parser.add_argument("token", help="an access token with the scopes read and write")
    parser.add_argument("--pids", default="", help="ids of all processes of the server, with commas")
    parser.add_argument("--requests", type=int, default=200, metavar="N", help="of each kind; default 200")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
    options = parser.parse_args()
    pids = [int(pid) for pid in options.pids.split(",") if pid]
    headers = {"Authorization": f"Bearer {options.token}"}
    with httpx.Client(base_url=options.url, headers=headers, timeout=30, trust_env=False) as client:
        number = itertools.count(time.time_ns())
        kinds: dict[str, Send] = {
            f"home of {LIMIT}": lambda _: client.get("/api/v1/timelines/home", params={"limit": LIMIT}),
            f"notifications of {LIMIT}": lambda _: client.get("/api/v1/notifications", params={"limit": LIMIT}),
            "publish": lambda _: client.post("/api/v1/statuses", data={"status": f"Post number {next(number)}"}),
        }
        for name, send in kinds.items():
            rounds = [measure(send, options.requests, pids) for _ in range(options.rounds)]
            waits, cpus = zip(*rounds, strict=True)
            print(f"{name}: {statistics.median(waits):.2f} ms, {statistics.median(cpus):.2f} ms of CPU")
    if pids:
        print(f"memory: {proportional_kb(pids) / 1000:.0f} MB")


def measure(send: Send, count: int, pids: Sequence[int]) -> tuple[float, float]:
    """Return the ms and the CPU ms of a request, work after the answer included."""
    for warming in range(max(1, count // 10)):
        send(warming).raise_for_status()
    cpu, started = sum(map(cpu_s, pids)), time.perf_counter()
    for request in range(count):
        send(request).raise_for_status()
    elapsed = time.perf_counter() - started
    time.sleep(1)  # deliveries after the last answer
    return elapsed * 1000 / count, (sum(map(cpu_s, pids)) - cpu) * 1000 / count


if __name__ == "__main__":
    main()
