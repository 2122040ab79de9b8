"""The audit log: each action of staff with its actor, time and target. Entries are never changed.

An entry is written before its action, so every action has an entry, including failed actions. The log of the process
has the same event (`staff_action`) with the id of the request.
"""

from typing import Final, NamedTuple

import msgspec
import structlog

from accounts.domain import NO_ACCOUNT_ID
from socialsite import keys
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import validated_stream_id
from socialsite.store import Repository, load_script
from socialsite.store.replies import parse_hash

AUDIT_LOG_MAX_ENTRIES = 200_000
"""Maximum number of entries, about 25 MB. At the rate limit of staff, one account fills the log in a week."""
ENTRIES_SCANNED_MAX, ENTRIES_PER_BATCH = 5_000, 500
ADD_ENTRY_SCRIPT = load_script("add_audit_entry.lua", __package__)

log = structlog.stdlib.get_logger("socialsite.security")


class Actor(NamedTuple):
    """The staff account that requests an action, and the id of the request."""

    account_id: int
    request_id: str


OPERATOR: Final = Actor(NO_ACCOUNT_ID, "manage.py")
"""The actor of a command. It has no account, and may act on every account."""


class AuditLogEntry(msgspec.Struct, frozen=True, rename={"actor_id": "by", "request_id": "request"}):
    """An action of staff. `action` is a key of ACTION_LABELS; `target` is `account:<id>` or `letter:<id>`.

    `detail` names the object of some actions, for example `sanction:<id>`.
    """

    id: str
    actor_id: AccountId
    action: str
    target: str
    request_id: str
    detail: str = ""

    @property
    def at_ms(self) -> int:
        """Return the time of the entry in Unix ms, by the server's clock."""
        return int(self.id.partition("-")[0])

    @property
    def account_id(self) -> AccountId | None:
        """Return the account that the action concerns, or None."""
        kind, _, id = self.target.partition(":")
        return AccountId(int(id)) if kind == "account" else None


class AuditLog(Repository):
    async def record(self, actor: Actor, action: str, target: str, detail: str = "") -> None:
        """Write an entry, and wait for replicas as for every write of the site."""
        key, by = keys.audit_log(), actor.account_id
        entry = ("by", by, "action", action, "target", target, "request", actor.request_id, "detail", detail)
        await self._store.write(*ADD_ENTRY_SCRIPT.command([key], [AUDIT_LOG_MAX_ENTRIES, *entry]))
        log.warning("staff_action", account=by, action=action, target=target, detail=detail)

    async def search(
        self, limit: int, cursor: str | None = None, *, since_ms: int = 0, until_ms: int | None = None, **facts: str
    ) -> tuple[list[AuditLogEntry], str | None]:
        """Return entries whose stored fields equal `facts`, newest first, and the cursor that continues the search.

        A page reads at most ENTRIES_SCANNED_MAX entries, so it may have fewer than `limit`. The cursor is None after
        the oldest entry of the time.
        """
        matches: list[AuditLogEntry] = []
        newest = f"({validated_stream_id(cursor)}" if cursor else "+" if until_ms is None else str(until_ms)
        for _batch in range(ENTRIES_SCANNED_MAX // ENTRIES_PER_BATCH):
            rows = await self._store.node(keys.audit_log()).execute(
                "XREVRANGE", keys.audit_log(), newest, since_ms, "COUNT", ENTRIES_PER_BATCH
            )
            for id, fields in rows:
                values = parse_hash(fields)
                if facts.items() <= values.items():
                    matches.append(msgspec.convert({**values, "id": id.decode()}, AuditLogEntry, strict=False))
                    if len(matches) == limit:
                        return matches, matches[-1].id
            if len(rows) < ENTRIES_PER_BATCH:
                return matches, None
            newest = f"({rows[-1][0].decode()}"
        return matches, newest[1:]
