"""The audit trail: what staff ordered, who, when and to whom. Entries are only ever added.

An entry is written before its order is carried out, so nothing happens without one; an order that then fails
has left its entry, too. The log has the same line (`staff_action`), under the id of the request.
"""

from dataclasses import dataclass

import structlog

from socialsite.recipes.jobs import stream_id
from socialsite.store import Key, Store, load

TRAIL_CAP = 10_000
NOTE = load("note_order.lua", __package__)

log = structlog.stdlib.get_logger("socialsite.security")


def trail() -> Key:
    """STREAM: by (account id), action, target, request. The newest TRAIL_CAP; written by /ops/ alone."""
    return Key("jobs", tag="audit", name="trail")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who orders, and by which request."""

    account_id: int
    request_id: str


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """`action` is a fixed word; `target` is `account:<id>` or `letter:<id>`."""

    id: str
    by: int
    action: str
    target: str
    request_id: str

    @property
    def at_ms(self) -> int:
        """Unix ms by the server's clock."""
        return int(self.id.partition("-")[0])


class AuditTrail:
    def __init__(self, store: Store, cap: int = TRAIL_CAP) -> None:
        self._store = store
        self._cap = cap

    async def note(self, actor: Actor, action: str, target: str) -> None:
        """Write an order down, on as many replicas as any write of this site."""
        key, by = trail(), actor.account_id
        entry = ("by", by, "action", action, "target", target, "request", actor.request_id)
        await self._store.write(key, NOTE.command([key], [self._cap, *entry]))
        log.warning("staff_action", account=by, action=action, target=target)

    async def page(self, limit: int, cursor: str | None = None) -> list[TrailEntry]:
        """Newest first, strictly older than the entry `cursor`. Raises ValueError for what is no cursor."""
        newest = f"({stream_id(cursor)}" if cursor else "+"
        rows = await self._store.node(trail()).execute("XREVRANGE", trail(), newest, "-", "COUNT", limit)
        return [_entry(id, fields) for id, fields in rows]


def _entry(id: bytes, fields: list[bytes]) -> TrailEntry:
    found = {n.decode(): v.decode() for n, v in zip(fields[::2], fields[1::2], strict=True)}
    return TrailEntry(id.decode(), int(found["by"]), found["action"], found["target"], found["request"])
