"""Run commands on several nodes so that an error of one node does not lose the replies of the others.

This is for work that is useful even if a part of it fails, such as flushing buffers or recording statistics.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from socialsite.store import Command, Key, Node, Reply, Store, StoreError
from socialsite.store.commands import routing_key

T = TypeVar("T")
NodeGroups = list[tuple[Node, list[T]]]
Unroutable = list[tuple[T, StoreError]]


async def gather_partial(store: Store, commands: Sequence[Command]) -> list[Reply | StoreError]:
    """Run the commands in one round trip per node and return the replies in order.

    If a node fails, its error replaces each of its replies.
    """
    replies: list[Reply | StoreError] = [None] * len(commands)

    async def run_group(node: Node, positions: list[int]) -> None:
        try:
            answers: Sequence[Reply] = await node.execute_all([commands[position] for position in positions])
        except StoreError as error:
            answers = [error] * len(positions)
        for position, answer in zip(positions, answers, strict=True):
            replies[position] = answer

    groups, unroutable = group_by_node(store, range(len(commands)), lambda position: routing_key(commands[position]))
    for position, error in unroutable:
        replies[position] = error
    await asyncio.gather(*(run_group(node, positions) for node, positions in groups))
    return replies


def group_by_node(store: Store, items: Sequence[T], key_of: Callable[[T], Key]) -> tuple[NodeGroups[T], Unroutable[T]]:
    """Group items by the node of their key. Return the items without a node separately, with their errors."""
    groups: dict[int, tuple[Node, list[T]]] = {}
    unroutable: Unroutable[T] = []
    for item in items:
        try:
            node = store.node(key_of(item))
        except StoreError as error:
            unroutable.append((item, error))
        else:
            groups.setdefault(id(node), (node, []))[1].append(item)
    return list(groups.values()), unroutable
