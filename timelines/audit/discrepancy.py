"""What an audit finds."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from socialsite.store import Key

if TYPE_CHECKING:
    from timelines.audit.reader import Looking

Repair = Callable[[], Awaitable[object]]
"""Safe to repeat, and safe where the finding has healed meanwhile."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`kind` at `key`; `detail` names the part of the value, so that two looks can be held side by side.

    `needs_walk`: what the repair takes away is built anew from what only a walk over everything meets.
    """

    kind: str
    key: Key
    detail: str = ""
    repair: Repair | None = field(default=None, compare=False, repr=False)
    is_damage: bool = field(default=True, compare=False)
    needs_walk: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}" + (f" {self.detail}" if self.detail else "")


Check = Callable[["Looking", Sequence[Key]], Awaitable[list[Finding]]]
"""What is wrong with these keys of one family, in a few round trips."""
