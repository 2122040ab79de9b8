"""Checks for keys with a value of a wrong Redis type. Every read of such a key and every write to it fails.

The repair deletes a cache or a temporary value. It moves a source to quarantine, so that the next check finds it
missing and rebuilds it: relations from their other sides, author timelines and replies from posts, handles and indexes
from accounts and lists. A post becomes a tombstone, and an account becomes suspended. An audit of a sample does not
read every value that refers to a key, so it repairs only keys that can be repaired without these values.
"""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from socialsite.clock import DAY_MS
from socialsite.maintenance.key_families import QUARANTINE_DAYS, is_disposable, quarantine_key
from socialsite.store import Key
from socialsite.store.commands import load_script
from timelines.audit.accounts import AccountChecks
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.reader import AuditReader, Check
from timelines.posts.stored_values import DELETED as TOMBSTONE

QUARANTINE = load_script("quarantine.lua", __package__)
NO_TYPE = "none"
"""The reply of TYPE for a key that does not exist."""


class TypeChecks:
    def __init__(self, context: AuditContext, accounts: AccountChecks) -> None:
        self._store = context.store
        self._accounts = accounts

    def has_type(self, redis_type: str) -> Check:
        """Return a check that reports only keys of another type than `redis_type`."""
        return partial(self._check, redis_type)

    async def _check(self, right_type: str, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        for key, (redis_type,) in await reader.read_each(checked, ("TYPE",)):
            if redis_type.decode() not in (right_type, NO_TYPE):
                yield self.discrepancy(key, right_type, redis_type.decode())

    async def read_type(self, key: Key) -> str:
        (redis_type,) = await self._store.execute_all([("TYPE", key)])
        return str(redis_type.decode())

    def discrepancy(self, key: Key, right_type: str, wrong_type: str) -> Discrepancy:
        repair = partial(self._repair, key, right_type)
        return Discrepancy("key_of_wrong_type", key, wrong_type, repair, needs_walk=not can_repair_alone(key))

    async def _repair(self, key: Key, right_type: str) -> None:
        if is_disposable(key):
            await self._store.execute_all([("UNLINK", key)])
        elif await self.quarantine(key, right_type):
            if key.component == "posts" and key.endswith("}:post"):
                await self._store.execute_all([("SET", key, TOMBSTONE, "NX")])
            elif key.component == "accounts" and key.endswith("}:account"):
                await self._accounts.fill(key)

    async def quarantine(self, key: Key, right_type: str) -> bool:
        """Move a value of the wrong type to quarantine for QUARANTINE_DAYS. Return whether the value existed."""
        args = (right_type, QUARANTINE_DAYS * DAY_MS)
        return bool(await self._store.node(key).execute(*QUARANTINE.command((key, quarantine_key(key)), args)))


def can_repair_alone(key: Key) -> bool:
    """Return whether the value can be rebuilt or replaced without other keys."""
    word = key.rpartition("}:")[2]
    if (key.component, word) in (("posts", "post"), ("accounts", "account")):
        return True
    return is_disposable(key) and (key.component, word) not in (("public", "posts"), ("timelines", "tag"))
