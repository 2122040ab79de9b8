"""The servers: whether each answers, how full and how busy it is, what was slow on it, what falls to it."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from socialsite.container import Services
from socialsite.store import CommandRefused, Key, Node, Reply, Store, StoreError
from socialsite.store.replies import parse_info
from timelines import keys

NODE_TIMEOUT_S = 2.0  # less than its part of the dashboard has
SLOW_CALLS_SHOWN = 20
KEYS_PER_CALL_SHOWN = 4
ACCOUNTS_SAMPLED = 1_024
"""Accounts whose homes are placed, to tell each node's share of deliveries."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """From a server's slow log: the command and its keys, never a value. Times in ms."""

    node: str
    at_ms: int
    took_ms: float
    command: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """`ping_ms` is None where nobody answers; then the rest is empty. `most_bytes`: maxmemory, 0 for none.

    `delivery_share`: of the homes, by account; None where a proxy stands before the servers.
    """

    address: str
    ping_ms: float | None
    role: str = ""
    used_bytes: int = 0
    most_bytes: int = 0
    commands_s: int = 0
    clients: int = 0
    keys: int = 0
    delivery_share: float | None = None
    slow: tuple[SlowCall, ...] = ()


async def read_node_health(services: Services) -> list[NodeHealth]:
    """All nodes at once; one that is away holds nobody up for longer than WITHIN_S."""
    store = services.store
    last_id = await services.repositories.accounts.last_id()
    shares = estimate_delivery_shares(store, last_id)
    return list(await asyncio.gather(*(_read_node(node, shares.get(node)) for node in store.nodes)))


def newest_slow_calls(nodes: list[NodeHealth]) -> list[SlowCall]:
    """The newest of what the slow logs say."""
    return sorted((call for node in nodes for call in node.slow), key=lambda call: -call.at_ms)[:SLOW_CALLS_SHOWN]


def estimate_delivery_shares(store: Store, last_id: int) -> dict[Node, float]:
    """Where an entry for everybody would go. Arithmetic on names: no server is asked."""
    ids = range(1, last_id + 1, max(1, last_id // ACCOUNTS_SAMPLED))
    placed = Counter(store.node(keys.home_timeline(id)) for id in ids)
    if not set(placed) <= set(store.nodes):
        return {}
    return {node: placed[node] / len(ids) for node in store.nodes} if ids else {}


async def _read_node(node: Node, share: float | None) -> NodeHealth:
    try:
        async with asyncio.timeout(NODE_TIMEOUT_S):
            asked = time.perf_counter()
            await node.execute("PING")
            ping_ms = (time.perf_counter() - asked) * 1000
            facts = parse_info(await node.execute("INFO"))
            count = int(await node.execute("DBSIZE"))
            slow = await _read_slow_log(node)
    except (StoreError, TimeoutError):
        return NodeHealth(str(node.address), None)
    return NodeHealth(
        address=str(node.address),
        ping_ms=ping_ms,
        role=facts.get("role", ""),
        used_bytes=int(facts.get("used_memory", 0)),
        most_bytes=int(facts.get("maxmemory", 0)),
        commands_s=int(facts.get("instantaneous_ops_per_sec", 0)),
        clients=int(facts.get("connected_clients", 0)),
        keys=count,
        delivery_share=share,
        slow=slow,
    )


async def _read_slow_log(node: Node) -> tuple[SlowCall, ...]:
    try:
        rows = await node.execute("SLOWLOG", "GET", SLOW_CALLS_SHOWN)
    except CommandRefused:  # an ACL may keep it from us
        return ()
    return tuple(parse_slow_call(str(node.address), row) for row in rows)


def parse_slow_call(node: str, row: Reply) -> SlowCall:
    """Of the arguments only those that are keys of this site; whatever else was said stays unsaid."""
    _, second, took_us, arguments = row[:4]
    found = [key for argument in arguments[1:] if (key := _parse_key(argument))]
    command = arguments[0].decode("ascii", "replace").upper()[:20] if arguments else ""
    return SlowCall(node, int(second) * 1000, int(took_us) / 1000, command, tuple(found[:KEYS_PER_CALL_SHOWN]))


def _parse_key(argument: bytes) -> str | None:
    try:
        return str(Key.parse(argument.decode()))
    except ValueError:  # UnicodeDecodeError is one
        return None
