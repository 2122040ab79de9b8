"""How evenly nodes are loaded, on the slashdot graph: 82,168 accounts and 870,161 follows, a post by each.

Every account has a home, and its post goes to its followers' homes by the repository's own push; entries are
counted where they arrived (INFO commandstats), bytes of profiles and homes by MEMORY USAGE of every key. The
worst node is held against the mean. Follows lie in 16 partitions, so three nodes cannot have the same number:
the edges that nodes hold are reported. docs/reference/scale.md has what makes a single key busy.
"""

from collections import Counter
from typing import TYPE_CHECKING

from redis import Redis

from benchmarks.environment import prepare
from benchmarks.figures import Budget, Figure, Plan, Samples, at_most
from benchmarks.graphs import followers_of
from benchmarks.running import run_alone

if TYPE_CHECKING:
    from benchmarks.standing import Place

TOPOLOGIES = ("4 shards", "cluster of 3")
MAX_IMBALANCE = 1.2
BATCH = 2_000


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks.standing import standing_services

    followers = followers_of("slashdot", 0.1 if plan.quick else 1.0)
    figures: list[Figure] = []
    for name in TOPOLOGIES:
        async with standing_services(name) as standing:
            await publish_by_everybody(standing[name], followers)
            figures += measure_loads(name, standing[name], followers)
    return figures


async def publish_by_everybody(place: "Place", followers: dict[int, list[int]]) -> None:
    """A home for each account, then a post of each: its profile, and its followers' homes."""
    from socialsite.ids import AccountId
    from timelines import keys

    services = place.services
    people = sorted({*followers, *(one for many in followers.values() for one in many)})
    for start in range(0, len(people), BATCH):
        homes = (("RPUSH", keys.home_timeline(each), "-0") for each in people[start : start + BATCH])
        await services.store.gather(homes)
    for author, readers in followers.items():
        post_id = services.ids.next_id()
        await services.repositories.author_feeds.add(AccountId(author), post_id)
        await services.repositories.homes.push(readers, post_id)


def measure_loads(name: str, place: "Place", followers: dict[int, list[int]]) -> list[Figure]:
    deliveries: list[int] = []
    held: list[int] = []
    for client in place.deployment.masters():
        with client:
            deliveries.append(client.info("commandstats")["cmdstat_lpushx"]["calls"])
            held.append(sum(bytes_of(client)))
    if sum(deliveries) != sum(map(len, followers.values())):
        raise RuntimeError("not every delivery arrived where it was counted")
    return [
        worst_ratio(f"deliveries, {name}", deliveries, at_most(MAX_IMBALANCE)),
        worst_ratio(f"timeline bytes, {name}", held, at_most(MAX_IMBALANCE)),
        worst_ratio(f"follow edges, both sides, {name}", count_edges_by_node(place, followers), None),
    ]


def bytes_of(client: Redis) -> list[int]:
    """Of each timeline on a server."""
    names = list(client.scan_iter("timelines:*", count=10_000))
    found: list[int] = []
    for start in range(0, len(names), BATCH):
        pipe = client.pipeline(transaction=False)
        for each in names[start : start + BATCH]:
            pipe.memory_usage(each)
        found += pipe.execute()
    return found


def count_edges_by_node(place: "Place", followers: dict[int, list[int]]) -> list[int]:
    """Where they would lie: the same look-up that places them."""
    from socialsite.store.pair_partitions import partition_of_pair

    store = place.services.store
    pairs = store.partitioned_component("follows", place.services.config.follow_partitions)
    found = Counter({id(node): 0 for node in store.topology("follows").nodes})
    nodes = [id(partition.node) for partition in pairs.partitions]
    for followed, many in followers.items():
        for follower in many:
            found[nodes[partition_of_pair(follower, followed, len(nodes))]] += 1
    return list(found.values())


def worst_ratio(what: str, loads: list[int], budget: Budget | None) -> Figure:
    mean = sum(loads) / len(loads)
    note = ", ".join(f"{load:,}" for load in loads)
    return Figure(f"worst node, {what}", "x the mean", Samples.of(max(loads) / mean), budget, note=note)


if __name__ == "__main__":
    run_alone("B19", measure)
