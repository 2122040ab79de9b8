"""Posts on their way: each running fan-out and how far it has come. Reads the outbox, takes nothing out.

A pass carries the last edge it delivered to; partitions are served one after the other, edges in order of
time. So what is done is the followers of the partitions before, and those up to that edge of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from accounts.domain import AccountId
from socialsite.ids import ms_of
from socialsite.recipes.job_queue import GROUP
from socialsite.recipes.jobs import payload_of
from socialsite.store import Command, CommandRefused, Key, Store
from socialsite.store.connections import Layout
from timelines import keys
from timelines.graph.passes import GENERATION
from timelines.jobs import Phase, SyndicatePass, SyndicatePost, decode_job

if TYPE_CHECKING:
    from socialsite.services import Services

LOOKED_AT = 500
"""Oldest jobs of the outbox that are looked at."""
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Running:
    """A post's next pass. `is_taken`: a worker has it."""

    post_id: int
    author_id: AccountId
    phase: Phase
    partition: int
    at_ms: int
    is_taken: bool


@dataclass(frozen=True, slots=True)
class FanOut:
    """`done` of `total` followers (in the phase `lists`: of the lists that hold the author)."""

    running: Running
    done: int
    total: int

    @property
    def published_ms(self) -> int:
        return ms_of(self.running.post_id)

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 1.0


async def running_fan_outs(services: "Services") -> list[FanOut]:
    """The oldest ones."""
    found = await _running(services.store, services.outbox.stream)
    layout = services.store.pairs("follows", services.config.follow_partitions).layout
    under = [_under(layout, each) for each in found]
    commands = [command for each in under for command in _counting(each, layout)]
    replies = iter(await services.store.gather(commands))
    return [_fan_out(each, [next(replies) for _ in range(layout.count + 1)]) for each in under]


async def _running(store: Store, stream: Key) -> list[Running]:
    node = store.node(stream)
    rows = await node.execute("XRANGE", stream, "-", "+", "COUNT", LOOKED_AT)
    try:
        pending = await node.execute("XPENDING", stream, GROUP, "-", "+", LOOKED_AT)
    except CommandRefused:  # no worker has ever been here
        pending = []
    taken = {row[0] for row in pending}
    jobs = (_next_pass(payload_of(fields), id in taken) for id, fields in rows)
    return [each for each in jobs if each is not None][:SHOWN]


def _next_pass(payload: bytes, is_taken: bool) -> Running | None:
    try:
        job = decode_job(payload)
    except msgspec.DecodeError:
        return None
    if isinstance(job, SyndicatePost):
        return Running(job.post.id, job.post.author_id, "homes", 0, -1, is_taken)
    if isinstance(job, SyndicatePass):
        return Running(job.post_id, job.author_id, job.phase, job.partition, job.at_ms, is_taken)
    return None


def _under(layout: Layout, each: Running) -> Running:
    """With the number of its partition as it is cut now; a pass of an earlier cut begins again."""
    generation, number = divmod(each.partition, GENERATION)
    if generation == layout.generation and number < layout.count:
        return replace(each, partition=number)
    return replace(each, partition=0, at_ms=-1)


def _counting(each: Running, layout: Layout) -> list[Command]:
    """The size of each partition, and how much of the present one is done."""
    side = keys.followers if each.phase == "homes" else keys.listed
    parts = [side(tag, each.author_id) for tag in layout.tags]
    present = parts[each.partition]
    return [*(("ZCARD", part) for part in parts), ("ZCOUNT", present, "-inf", each.at_ms)]


def _fan_out(each: Running, counts: Sequence[int]) -> FanOut:
    *sizes, within = counts
    return FanOut(each, sum(sizes[: each.partition]) + within, sum(sizes))
