"""Stores the factors of accounts, and the challenges of passkeys."""

from accounts import keys
from accounts.factors.values import PASSKEYS_CAP, Factors
from socialsite.ids import AccountId
from socialsite.store import Repository
from socialsite.store.commands import load_script

CHALLENGE_TTL_MS = 5 * 60_000
STORE_BRIEFLY_SCRIPT = load_script("store_briefly.lua", __package__)
REPLACE_FACTOR_SCRIPT = load_script("replace_factor.lua", __package__)


class FactorRepository(Repository):
    async def find(self, account_id: AccountId) -> Factors:
        reply = await self._accounts.execute("HGETALL", keys.factors(account_id))
        return Factors({name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)})

    async def replace(self, account_id: AccountId, field: str, old: bytes | None, new: bytes | None) -> int:
        """Replace a value; None means absent. Returns 1, 0 if `old` is outdated, or -1 above PASSKEYS_CAP."""
        args = (field, old or b"", new or b"", PASSKEYS_CAP)
        # `write` waits for replicas if they are required: after a failover a used code must stay used.
        return int(await self._accounts.write(*REPLACE_FACTOR_SCRIPT.command([keys.factors(account_id)], args)))

    async def delete_all(self, account_id: AccountId) -> None:
        await self._accounts.write("DEL", keys.factors(account_id))

    async def add_challenge(self, digest: str) -> None:
        key = keys.passkey_challenge(digest)
        await self._sessions[key].execute(*STORE_BRIEFLY_SCRIPT.command([key], [1, CHALLENGE_TTL_MS]))

    async def take_challenge(self, digest: str) -> bool:
        """Delete a challenge. Only one of several concurrent calls returns True."""
        return bool(await self._sessions.write("DEL", keys.passkey_challenge(digest)))
