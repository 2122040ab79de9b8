"""Memory of an idle socket: the growth of a daphne process with 100 sockets when 2,000 more are opened.

Ours: signed-in readers, each with their home subscribed. Reference: a bare Channels consumer that does
nothing, under the same daphne. The first 100 warm both up. Every round has servers of its own.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.audience import SOCKET_COUNT, encode_subscription, followed_site
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.listeners import ListenerOptions, raise_file_limit, running_listeners
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import BenchmarkDaphne, running_daphne

WARMUP_SOCKETS = 100


async def measure(plan: Plan) -> list[Figure]:
    raise_file_limit()
    sockets = plan.size(SOCKET_COUNT)

    async def ours() -> float:
        async with followed_site(sockets + WARMUP_SOCKETS) as site:
            return socket_kb(site.server, site.cookies, "/ws/stream/", encode_subscription("home"))

    async def bare() -> float:
        await asyncio.sleep(0)
        with running_daphne("benchmarks.layer.asgi:application") as server:
            return socket_kb(server, [""] * (sockets + WARMUP_SOCKETS), "/ws/bare/", "{}")

    results = await measure_in_rounds(plan.rounds, {"ours": ours, "bare": bare})
    return [
        Figure(
            f"an idle socket, of {sockets:,}",
            "kB",
            Samples.all(results["ours"]),
            at_most(1.3),
            Samples.all(results["bare"]),
            "a bare Channels consumer",
        )
    ]


def socket_kb(server: BenchmarkDaphne, cookies: Sequence[str], path: str, subscribe: str) -> float:
    with ExitStack() as stack:
        stack.enter_context(
            running_listeners(ListenerOptions(server.port, list(cookies[:WARMUP_SOCKETS]), subscribe, path))
        )
        before = server.resident_kb
        stack.enter_context(
            running_listeners(ListenerOptions(server.port, list(cookies[WARMUP_SOCKETS:]), subscribe, path))
        )
        return (server.resident_kb - before) / (len(cookies) - WARMUP_SOCKETS)
