"""A gather whose nodes fail one by one: a node in trouble keeps nobody else's replies back.

For work where part of the answer is worth having: flushing buffers, recording statistics.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from socialsite.store import Command, Key, Node, Reply, Store, StoreError
from socialsite.store.scripts import key_of

T = TypeVar("T")


async def gather_apart(store: Store, commands: Sequence[Command]) -> list[Reply | StoreError]:
    """One round trip a node, replies in order; an error of a node stands in the place of all its replies."""
    replies: list[Reply | StoreError] = [None] * len(commands)

    async def ask(node: Node, positions: list[int]) -> None:
        try:
            answers: Sequence[Reply] = await node.pipeline([commands[position] for position in positions])
        except StoreError as error:
            answers = [error] * len(positions)
        for position, answer in zip(positions, answers, strict=True):
            replies[position] = answer

    groups, homeless = by_node(store, range(len(commands)), lambda position: key_of(commands[position]))
    for position, error in homeless:
        replies[position] = error
    await asyncio.gather(*(ask(node, positions) for node, positions in groups))
    return replies


Groups = list[tuple[Node, list[T]]]
Homeless = list[tuple[T, StoreError]]


def by_node(store: Store, things: Sequence[T], key: Callable[[T], Key]) -> tuple[Groups[T], Homeless[T]]:
    """Things by the node of their key, each in its order; and those whose slot nobody holds now."""
    groups: dict[int, tuple[Node, list[T]]] = {}
    homeless: Homeless[T] = []
    for thing in things:
        try:
            node = store.node(key(thing))
        except StoreError as error:
            homeless.append((thing, error))
        else:
            groups.setdefault(id(node), (node, []))[1].append(thing)
    return list(groups.values()), homeless
