"""Keys that hold a value of another type than theirs: nobody can read them, and whoever writes them fails.

The repair: what is rebuilt or forgotten anyway is deleted; a source is set aside (repositories/aside.py), so
that the next look finds it missing and builds it anew from what refers to it: edges from their other sides,
profiles and replies from posts, handles and indexes from accounts and lists. What nothing else knows becomes
what its own check makes of a lost one: a tombstone, a suspended account. A sample would not come by all that
refers to a key, so it touches only what needs none of that.
"""

from collections.abc import Sequence
from functools import partial

from socialsite.maintenance.families import is_disposable
from socialsite.store import Key
from timelines.audit.accounts import AccountChecks
from timelines.audit.discrepancy import Check, Finding
from timelines.audit.quarantine import Aside
from timelines.audit.reader import Looking
from timelines.audit.repairs import Places
from timelines.posts.stored_values import DELETED as TOMBSTONE

NO_TYPE = "none"
"""What TYPE says of a key that is gone."""


class TypeChecks:
    def __init__(self, places: Places, accounts: AccountChecks) -> None:
        self._places = places
        self._accounts = accounts
        self._aside = Aside(places.store)

    def only(self, right: str) -> Check:
        """For families that are held against nothing but their type."""
        return partial(self._typed, right)

    async def _typed(self, right: str, look: Looking, found: Sequence[Key]) -> list[Finding]:
        types = await look.gather(("TYPE", key) for key in found)
        return [
            self.wrong(key, right, kind.decode())
            for key, kind in zip(found, types, strict=True)
            if kind.decode() not in (right, NO_TYPE)
        ]

    async def of(self, key: Key) -> str:
        (kind,) = await self._places.store.gather([("TYPE", key)])
        return str(kind.decode())

    def wrong(self, key: Key, right: str, kind: str) -> Finding:
        mend = partial(self._mend, key, right)
        return Finding("key_of_wrong_type", key, kind, mend, needs_walk=not is_mended_alone(key))

    async def _mend(self, key: Key, right: str) -> None:
        if is_disposable(key):
            await self._places.store.gather([("UNLINK", key)])
        elif await self._aside.put(key, right):
            if key.component == "posts" and key.endswith("}:post"):
                await self._places.store.gather([("SET", key, TOMBSTONE, "NX")])
            elif key.component == "accounts" and key.endswith("}:account"):
                await self._accounts.fill(key)


def is_mended_alone(key: Key) -> bool:
    """Readers build it anew, or time does, or its place is taken at once."""
    word = key.rpartition("}:")[2]
    if (key.component, word) in (("posts", "post"), ("accounts", "account")):
        return True
    return is_disposable(key) and (key.component, word) not in (("public", "posts"), ("timelines", "tag"))
