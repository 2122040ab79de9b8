"""A discrepancy that an audit found, and its repair."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from socialsite.store import Key

Repair = Callable[[], Awaitable[object]]
"""A repair is safe to repeat, and safe if the discrepancy has disappeared meanwhile."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A discrepancy of the kind `kind` at `key`. `detail` identifies the wrong part, so that two reads can be compared.

    `is_damage` is False for a leftover, the harmless rest of a crash or of expiry. `needs_walk` is True if the repair
    deletes a value that only a walk over all keys rebuilds.
    """

    kind: str
    key: Key
    detail: str = ""
    repair: Repair | None = field(default=None, compare=False, repr=False)
    is_damage: bool = field(default=True, compare=False)
    needs_walk: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}" + (f" {self.detail}" if self.detail else "")


def detail_of(member: bytes) -> str:
    """Return the text of a set's member for `detail`."""
    return member.decode(errors="backslashreplace")[:40]
