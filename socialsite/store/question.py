"""A question: commands, and how their replies are understood. Several questions share one round trip."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from socialsite.store.node import Reply
from socialsite.store.scripts import Command

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """`understand` gets the replies to `commands`, in their order.

    `may_lag`: reads whose answer may be a second old, so a replica may give it (docs/topologies.md).
    """

    commands: Sequence[Command]
    understand: Callable[[Sequence[Reply]], Answer]
    may_lag: bool = False
