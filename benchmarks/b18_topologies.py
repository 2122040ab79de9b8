"""B1 and B4 on one server, on four shards and on a cluster of three masters, in one run.

One machine cannot show that more machines carry more: all servers share its cores, and figures made of
time (deliveries/s, pages/s) only show that no topology breaks down. The measure of growth is the work of the
client, which must not rise with the number of nodes: this process's own CPU time for a delivery by the
worker (from the outbox to 10,000 full homes) and for a page of 30 (ReadingService.home, 32 concurrent readers),
against one server, all over TCP as a cluster requires.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from benchmarks.b4_home_read import LIMIT, READERS, pages_per_s
from benchmarks.environment import prepare
from benchmarks.figures import Budget, Figure, Plan, Samples, at_most
from benchmarks.rounds import measure_in_rounds

if TYPE_CHECKING:
    from benchmarks.delivering import Deliverer
    from benchmarks.standing import Standing
    from socialsite.container import Services
    from socialsite.ids import AccountId

Cost = tuple[float, float]
"""(CPU us of this process, elapsed us) for one delivery or page."""
Side = Callable[[], Awaitable[Cost]]
FOLLOWERS, POSTS = 10_000, 20
FULL_HOME_ENTRIES = 1_000
FOLLOWS, PEOPLE = 100, 50
MAX_RATIO_TO_SINGLE = 1.15
"""Limit of the client's CPU time for a delivery, relative to one server."""
MAX_PAGE_RATIO = 1.4
"""Limit of the client's CPU time for a page, relative to one server."""


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks.standing import standing_services

    async with standing_services() as standing:
        figures = await _deliveries(standing, plan)
    async with standing_services() as standing:
        return [*figures, *await _pages(standing, plan)]


async def _deliveries(standing: "Standing", plan: Plan) -> list[Figure]:
    """Measure B1."""
    from benchmarks.delivering import running_deliverer
    from socialsite.ids import AccountId

    async with AsyncExitStack() as stack:
        workers = {
            name: await stack.enter_async_context(running_deliverer(each.services, AccountId(1)))
            for name, each in standing.items()
        }
        sides = {
            name: await prepare_fan_out(each.services, workers[name], plan.size(FOLLOWERS))
            for name, each in standing.items()
        }
        costs = await measure_in_rounds(plan.rounds, sides)
        for worker in workers.values():
            await worker.require_arrived()
    what = f"B1: one post to {plan.size(FOLLOWERS):,} full homes"
    return compare_with_single(what, "delivery", costs, at_most(MAX_RATIO_TO_SINGLE))


async def _pages(standing: "Standing", plan: Plan) -> list[Figure]:
    """Measure B4 for readers of a synthetic site."""
    from benchmarks.town import create_synthetic_site, readers_of

    sides: dict[str, Side] = {}
    for name, each in standing.items():
        town = await create_synthetic_site(each.services, posts=plan.size(20_000))
        readers = await readers_of(each.services, town, readers=PEOPLE, follow=FOLLOWS)
        sides[name] = prepare_home_reads(each.services, readers, plan)
    costs = await measure_in_rounds(plan.rounds, sides)
    what = f"B4: home page of {LIMIT}, {READERS} readers at once"
    return compare_with_single(what, "page", costs, at_most(MAX_PAGE_RATIO))


async def prepare_fan_out(services: "Services", worker: "Deliverer", followers: int) -> Side:
    """Create an author whose followers have full homes."""
    from benchmarks.full_homes import followed_author
    from benchmarks.standing import restore_homes

    author, owners = await followed_author(services, followers)
    await restore_homes(services, owners, FULL_HOME_ENTRIES)

    async def cost() -> Cost:
        cpu_s = time.process_time()
        seconds = sum([await worker.deliver(author) for _ in range(POSTS)])
        deliveries = POSTS * followers
        return (time.process_time() - cpu_s) * 1e6 / deliveries, seconds * 1e6 / deliveries

    return cost


def prepare_home_reads(services: "Services", readers: "list[AccountId]", plan: Plan) -> Side:
    async def cost() -> Cost:
        read, cpu_s, started = services.reading.home, time.process_time(), time.perf_counter()
        rate = await pages_per_s(lambda reader: read(reader, limit=LIMIT), readers, plan.seconds / 3)
        pages = rate * (time.perf_counter() - started)
        return (time.process_time() - cpu_s) * 1e6 / pages, 1e6 / rate

    return cost


def compare_with_single(what: str, one: str, costs: dict[str, list[Cost]], budget: Budget | None) -> list[Figure]:
    """Return each topology's CPU time relative to one server, with its rate as a note."""
    single, *others = costs
    least = Samples.all(cpu for cpu, _ in costs[single])
    figures = []
    for name, found in costs.items():
        rate = Samples.all(1e6 / by_clock for _, by_clock in found)
        ours, note = Samples.all(cpu for cpu, _ in found), f"{rate} a second"
        unit = f"CPU us of the client/{one}"
        if name in others:
            figures.append(Figure(f"{what}, {name}", unit, ours, budget, least, single, note))
        else:
            figures.append(Figure(f"{what}, {name}", unit, ours, note=note))
    return figures
