"""The balance of load between nodes, on the slashdot graph: 82,168 accounts, 870,161 follows, a post by each.

Every account has a home, and its post goes to its followers' homes by the repository's own push; entries are
counted where they arrived (INFO commandstats), bytes of profiles and homes by MEMORY USAGE of every key. The
worst node is compared with the mean. Follows have 16 partitions, so three nodes cannot have the same number:
the edges of each node are reported. docs/reference/scale.md lists keys that make a single node busy.
"""

from collections import Counter
from typing import TYPE_CHECKING

from redis import Redis

from benchmarks.environment import prepare
from benchmarks.figures import Budget, Figure, Plan, Samples, at_most
from benchmarks.graphs import followers_of

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
    """Create a home for each account, then publish a post of each to its profile and its followers' homes."""
    from socialsite.ids import AccountId
    from timelines import keys

    services = place.services
    people = sorted({*followers, *(one for many in followers.values() for one in many)})
    for start in range(0, len(people), BATCH):
        homes = (("RPUSH", keys.home_timeline(each), "-0") for each in people[start : start + BATCH])
        await services.store.execute_all(homes)
    for author, readers in followers.items():
        post_id = services.ids.next_id()
        await services.repositories.author_timelines.add(AccountId(author), post_id)
        await services.repositories.homes.push(readers, post_id)


def measure_loads(name: str, place: "Place", followers: dict[int, list[int]]) -> list[Figure]:
    deliveries: list[int] = []
    timeline_bytes: list[int] = []
    for client in place.deployment.masters():
        with client:
            deliveries.append(client.info("commandstats")["cmdstat_lpushx"]["calls"])
            timeline_bytes.append(sum(bytes_of(client)))
    if sum(deliveries) != sum(map(len, followers.values())):
        raise RuntimeError("not every delivery arrived where it was counted")
    return [
        worst_ratio(f"deliveries, {name}", deliveries, at_most(MAX_IMBALANCE)),
        worst_ratio(f"timeline bytes, {name}", timeline_bytes, at_most(MAX_IMBALANCE)),
        worst_ratio(f"follow edges, both sides, {name}", count_edges_by_node(place, followers), None),
    ]


def bytes_of(client: Redis) -> list[int]:
    """Return the size of each timeline on a server."""
    names = list(client.scan_iter("timelines:*", count=10_000))
    sizes: list[int] = []
    for start in range(0, len(names), BATCH):
        pipe = client.pipeline(transaction=False)
        for each in names[start : start + BATCH]:
            pipe.memory_usage(each)
        sizes += pipe.execute()
    return sizes


def count_edges_by_node(place: "Place", followers: dict[int, list[int]]) -> list[int]:
    """Count the edges of each node by the partitioner's own look-up."""
    from socialsite.store.pair_partitions import partition_of_pair

    store = place.services.store
    pairs = store.partitioned_component("follows", place.services.config.follow_partitions)
    counts = Counter({id(node): 0 for node in store.topology("follows").nodes})
    nodes = [id(partition.node) for partition in map(pairs.partition, range(pairs.count))]
    for followed, many in followers.items():
        for follower in many:
            counts[nodes[partition_of_pair(follower, followed, len(nodes))]] += 1
    return list(counts.values())


def worst_ratio(what: str, loads: list[int], budget: Budget | None) -> Figure:
    mean = sum(loads) / len(loads)
    note = ", ".join(f"{load:,}" for load in loads)
    return Figure(f"worst node, {what}", "x the mean", Samples.of(max(loads) / mean), budget, note=note)
