"""A gather whose nodes fail one by one: a node in trouble keeps nobody else's replies back.

For work where part of the answer is worth having: flushing buffers, recording statistics.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from socialsite.store import Command, Key, Node, Reply, Store, StoreError
from socialsite.store.commands import routing_key

T = TypeVar("T")


async def gather_partial(store: Store, commands: Sequence[Command]) -> list[Reply | StoreError]:
    """One round trip a node, replies in order; an error of a node stands in the place of all its replies."""
    replies: list[Reply | StoreError] = [None] * len(commands)

    async def ask(node: Node, positions: list[int]) -> None:
        try:
            answers: Sequence[Reply] = await node.pipeline([commands[position] for position in positions])
        except StoreError as error:
            answers = [error] * len(positions)
        for position, answer in zip(positions, answers, strict=True):
            replies[position] = answer

    groups, homeless = group_by_node(store, range(len(commands)), lambda position: routing_key(commands[position]))
    for position, error in homeless:
        replies[position] = error
    await asyncio.gather(*(ask(node, positions) for node, positions in groups))
    return replies


NodeGroups = list[tuple[Node, list[T]]]
Unroutable = list[tuple[T, StoreError]]


def group_by_node(store: Store, things: Sequence[T], key: Callable[[T], Key]) -> tuple[NodeGroups[T], Unroutable[T]]:
    """Things by the node of their key, each in its order; and those whose slot nobody holds now."""
    groups: dict[int, tuple[Node, list[T]]] = {}
    homeless: Unroutable[T] = []
    for thing in things:
        try:
            node = store.node(key(thing))
        except StoreError as error:
            homeless.append((thing, error))
        else:
            groups.setdefault(id(node), (node, []))[1].append(thing)
    return list(groups.values()), homeless
