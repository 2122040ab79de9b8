"""One post to 2,000 sockets of one daphne process: its CPU for each delivery, and the p99 latency.

Ours: published through the service; in one case to 2,000 signed-in readers with open homes, through the worker's
passes, with their rights checked before each send; in another to 2,000 visitors of the public timeline; in a third to
the streams `user` of 2,000 apps, as JSON of the client API.
Reference: channels_redis's pub/sub layer, one group_send to 2,000 consumers that send the text on, a frame of
the same size as that of the homes; no worker, no rights. Waiting is from the call of publish (group_send) to the
arrival at a client process on the same two cores, which uses a share of them.
"""

from contextlib import AsyncExitStack
from functools import partial

from benchmarks.audience import SOCKET_COUNT, PushResult, api_audience, home_audience, layer_audience, public_audience
from benchmarks.figures import Budget, Figure, Plan, Samples, at_most
from benchmarks.listeners import raise_file_limit
from benchmarks.rounds import measure_in_rounds

POSTS = 5


async def measure(plan: Plan) -> list[Figure]:
    raise_file_limit()
    sockets = plan.size(SOCKET_COUNT)
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(home_audience(sockets))
        public = await stack.enter_async_context(public_audience(sockets))
        api = await stack.enter_async_context(api_audience(sockets))
        layer = await stack.enter_async_context(layer_audience(sockets, home.frame_bytes))
        audiences = {"home": home, "public": public, "api": api, "layer": layer}
        sides = {name: partial(each.push, POSTS) for name, each in audiences.items()}
        results = await measure_in_rounds(plan.rounds, sides)
    to = f"{sockets:,} sockets"
    return [
        *figures(f"one post to {to}, their homes", results["home"], results["layer"]),
        *figures(f"one post to {to}, the public timeline", results["public"], results["layer"]),
        *figures(f"one post to {to}, API streams of their homes", results["api"], results["layer"]),
    ]


def figures(what: str, ours: list[PushResult], layer: list[PushResult]) -> list[Figure]:
    against = "channels_redis pub/sub"
    cpu, layer_cpu = Samples.all(m.cpu_us for m in ours), Samples.all(m.cpu_us for m in layer)
    p99, layer_p99 = Samples.all(m.p99_ms for m in ours), Samples.all(m.p99_ms for m in layer)
    note = f"p50 {Samples.all(m.p50_ms for m in ours)} ms"
    return [
        Figure(what, "CPU us/delivery", cpu, at_most(0.25), layer_cpu, against),
        Figure(what, "ms p99", p99, Budget("<=", 300), layer_p99, against, note, absolute=True),
    ]
