"""Posts on their way: each running fan-out and how far it has come. Reads the outbox, takes nothing out.

A pass carries the last edge it delivered to; partitions are served one after the other, edges in order of
time. So what is done is the followers of the partitions before, and those up to that edge of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from socialsite.container import Services
from socialsite.ids import AccountId, ms_from_id
from socialsite.recipes.job_queue import CONSUMER_GROUP, parse_payload
from socialsite.store import Command, CommandRefused, Key, Store
from socialsite.store.pair_partitions import PartitionLayout
from timelines import keys
from timelines.graph.edge_list import LAYOUT_VERSION_FACTOR
from timelines.jobs import FanOutPhase, SyndicatePass, SyndicatePost, decode_job

JOBS_READ_MAX = 500
"""Oldest jobs of the outbox that are looked at."""
FAN_OUTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class FanOutPass:
    """A post's next pass. `is_taken`: a worker has it."""

    post_id: int
    author_id: AccountId
    phase: FanOutPhase
    partition: int
    at_ms: int
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class FanOut:
    """`done` of `total` followers (in the phase `lists`: of the lists that hold the author)."""

    next_pass: FanOutPass
    done: int
    total: int

    @property
    def published_ms(self) -> int:
        return ms_from_id(self.next_pass.post_id)

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 1.0


async def read_fan_outs(services: Services) -> list[FanOut]:
    """The oldest ones."""
    found = await _read_passes(services.store, services.outbox.stream_key)
    layout = services.store.partitioned_component("follows", services.config.follow_partitions).layout
    under = [_in_current_layout(layout, each) for each in found]
    commands = [command for each in under for command in _count_commands(each, layout)]
    replies = iter(await services.store.gather(commands))
    return [_build_fan_out(each, [next(replies) for _ in range(layout.count + 1)]) for each in under]


async def _read_passes(store: Store, stream: Key) -> list[FanOutPass]:
    node = store.node(stream)
    rows = await node.execute("XRANGE", stream, "-", "+", "COUNT", JOBS_READ_MAX)
    try:
        pending = await node.execute("XPENDING", stream, CONSUMER_GROUP, "-", "+", JOBS_READ_MAX)
    except CommandRefused:  # no worker has ever been here
        pending = []
    taken = {row[0] for row in pending}
    jobs = (_parse_pass(parse_payload(fields), id in taken) for id, fields in rows)
    return [each for each in jobs if each is not None][:FAN_OUTS_SHOWN]


def _parse_pass(payload: bytes, is_taken: bool) -> FanOutPass | None:
    try:
        job = decode_job(payload)
    except msgspec.DecodeError:
        return None
    if isinstance(job, SyndicatePost):
        return FanOutPass(job.post.id, job.post.author_id, "homes", 0, -1, is_taken)
    if isinstance(job, SyndicatePass):
        return FanOutPass(job.post_id, job.author_id, job.phase, job.partition, job.at_ms, is_taken)
    return None


def _in_current_layout(layout: PartitionLayout, each: FanOutPass) -> FanOutPass:
    """With the number of its partition as it is cut now; a pass of an earlier cut begins again."""
    generation, number = divmod(each.partition, LAYOUT_VERSION_FACTOR)
    if generation == layout.version and number < layout.count:
        return replace(each, partition=number)
    return replace(each, partition=0, at_ms=-1)


def _count_commands(each: FanOutPass, layout: PartitionLayout) -> list[Command]:
    """The size of each partition, and how much of the present one is done."""
    side = keys.followers if each.phase == "homes" else keys.lists_with_account
    parts = [side(tag, each.author_id) for tag in layout.tags]
    present = parts[each.partition]
    return [*(("ZCARD", part) for part in parts), ("ZCOUNT", present, "-inf", each.at_ms)]


def _build_fan_out(each: FanOutPass, counts: Sequence[int]) -> FanOut:
    *sizes, within = counts
    return FanOut(each, sum(sizes[: each.partition]) + within, sum(sizes))
