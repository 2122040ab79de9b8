"""Memory of an idle socket: by how much the resident memory of a daphne with 100 sockets grows by 2,000 more.

Ours: signed-in readers, each with their home subscribed. Reference: a bare Channels consumer that does
nothing, under the same daphne. The first 100 warm both up. Every round has servers of its own.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.audience import SOCKETS, followed_site, subscription
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.listeners import Crowd, listening, raise_file_limit
from benchmarks.rounds import in_turn
from benchmarks.running import alone
from benchmarks.servers import Daphne, daphne

WARM = 100


async def measure(plan: Plan) -> list[Figure]:
    raise_file_limit()
    sockets = plan.size(SOCKETS)

    async def ours() -> float:
        async with followed_site(sockets + WARM) as site:
            return socket_kb(site.server, site.cookies, "/ws/stream/", subscription("home"))

    async def bare() -> float:
        await asyncio.sleep(0)
        with daphne("benchmarks.layer.asgi:application") as server:
            return socket_kb(server, [""] * (sockets + WARM), "/ws/bare/", "{}")

    found = await in_turn(plan.rounds, {"ours": ours, "bare": bare})
    return [
        Figure(
            f"an idle socket, of {sockets:,}",
            "kB",
            Samples.all(found["ours"]),
            at_most(1.3),
            Samples.all(found["bare"]),
            "a bare Channels consumer",
        )
    ]


def socket_kb(server: Daphne, cookies: Sequence[str], path: str, subscribe: str) -> float:
    with ExitStack() as stack:
        stack.enter_context(listening(Crowd(server.port, list(cookies[:WARM]), subscribe, path)))
        before = server.resident_kb
        stack.enter_context(listening(Crowd(server.port, list(cookies[WARM:]), subscribe, path)))
        return (server.resident_kb - before) / (len(cookies) - WARM)


if __name__ == "__main__":
    alone("B8", measure)
