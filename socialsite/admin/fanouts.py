"""The running fan-outs and their progress, read from the outbox without changing it.

A pass contains the last follow edge to which it delivered. Partitions are processed one after another, and the edges of
a partition in order of time. So the progress is the size of the earlier partitions plus the number of edges up to the
last edge in the present partition.
"""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from socialsite.container import Services
from socialsite.ids import ms_from_id
from socialsite.recipes.job import parse_payload
from socialsite.recipes.job_queue import CONSUMER_GROUP
from socialsite.store import Command, CommandRefused, Key, Store
from socialsite.store.pair_partitions import PartitionLayout
from timelines import keys
from timelines.graph.edge_list import LAYOUT_VERSION_FACTOR
from timelines.jobs import SyndicatePass, SyndicatePost, decode_job

JOBS_READ_MAX = 500
"""Maximum number of jobs that are read from the outbox, oldest first."""
FAN_OUTS_SHOWN = 20


class FanOut(NamedTuple):
    """The progress of a fan-out. `done` of `total` followers have the post, or lists in the phase `lists`.

    `is_claimed` means that a worker is processing the next pass.
    """

    next_pass: SyndicatePass
    is_claimed: bool
    done: int
    total: int

    @property
    def published_ms(self) -> int:
        return ms_from_id(self.next_pass.post_id)

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 1.0


async def read_fan_outs(services: Services) -> list[FanOut]:
    """Return the FAN_OUTS_SHOWN oldest fan-outs."""
    stored_passes = await _read_passes(services.store, services.outbox.stream_key)
    layout = services.store.partitioned_component("follows", services.config.follow_partitions).layout
    passes = [(_in_current_layout(layout, each), is_claimed) for each, is_claimed in stored_passes]
    commands = [command for each, _is_claimed in passes for command in _count_commands(each, layout)]
    replies = iter(await services.store.execute_all(commands))
    fan_outs = []
    for each, is_claimed in passes:
        *sizes, current = (next(replies) for _ in range(layout.count + 1))
        fan_outs.append(FanOut(each, is_claimed, sum(sizes[: each.partition]) + current, sum(sizes)))
    return fan_outs


async def _read_passes(store: Store, stream: Key) -> list[tuple[SyndicatePass, bool]]:
    """Return the next pass of each fan-out, and whether a worker is processing it."""
    node = store.node(stream)
    rows = await node.execute("XRANGE", stream, "-", "+", "COUNT", JOBS_READ_MAX)
    try:
        pending = await node.execute("XPENDING", stream, CONSUMER_GROUP, "-", "+", JOBS_READ_MAX)
    except CommandRefused:  # no worker has run yet
        pending = []
    claimed_ids = {row[0] for row in pending}
    jobs = ((_parse_pass(parse_payload(fields)), id in claimed_ids) for id, fields in rows)
    return [(each, is_claimed) for each, is_claimed in jobs if each is not None][:FAN_OUTS_SHOWN]


def _parse_pass(payload: bytes) -> SyndicatePass | None:
    try:
        job = decode_job(payload)
    except msgspec.DecodeError:
        return None
    if isinstance(job, SyndicatePost):
        return SyndicatePass(job.post.id, job.post.author_id, "homes", 0, -1, 0)
    return job if isinstance(job, SyndicatePass) else None


def _in_current_layout(layout: PartitionLayout, each: SyndicatePass) -> SyndicatePass:
    """Return the pass with its partition in the present layout. A pass of an earlier layout starts again."""
    version, number = divmod(each.partition, LAYOUT_VERSION_FACTOR)
    if version == layout.version and number < layout.count:
        return replace(each, partition=number)
    return replace(each, partition=0, at_ms=-1)


def _count_commands(each: SyndicatePass, layout: PartitionLayout) -> list[Command]:
    """Return the commands that count the edges of each partition and the progress in the present partition."""
    side = keys.followers if each.phase == "homes" else keys.lists_with_account
    parts = [side(tag, each.author_id) for tag in layout.tags]
    return [*(("ZCARD", part) for part in parts), ("ZCOUNT", parts[each.partition], "-inf", each.at_ms)]
