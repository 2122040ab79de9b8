"""A question: commands, and how their replies are understood. Several questions share one round trip."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from socialsite.store.node import Reply
from socialsite.store.scripts import Command

Answer = TypeVar("Answer")


class Question(msgspec.Struct, Generic[Answer], frozen=True):
    """`understand` gets the replies to `commands`, in their order.

    `may_lag`: reads whose answer may be a second old, so a replica may give it (docs/topologies.md).
    """

    commands: Sequence[Command]
    understand: Callable[[Sequence[Reply]], Answer]
    may_lag: bool = False
