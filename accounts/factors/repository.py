"""Stores the factors of accounts, and the challenges of passkeys."""

import msgspec

from accounts import keys
from accounts.factors.values import PASSKEYS_CAP, Factors
from socialsite.ids import AccountId
from socialsite.store.commands import load_script
from socialsite.store.store import Store

CHALLENGE_TTL_MS = 5 * 60_000
FIELDS_CAP = PASSKEYS_CAP + 2
STORE_BRIEFLY_SCRIPT = load_script("store_briefly.lua", __package__)
REPLACE_FACTOR_SCRIPT = load_script("replace_factor.lua", __package__)


class Challenge(msgspec.Struct, frozen=True, array_like=True):
    """The use of a challenge. `account_id` is 0 if the answer of the passkey contains the account."""

    purpose: str
    account_id: int
    user_verification: str


class FactorRepository:
    def __init__(self, store: Store) -> None:
        self._accounts, self._sessions = store.component("accounts"), store.component("sessions")

    async def find(self, account_id: AccountId) -> Factors:
        reply = await self._accounts.execute("HGETALL", keys.factors(account_id))
        return Factors({name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)})

    async def replace(self, account_id: AccountId, field: str, old: bytes | None, new: bytes | None) -> int:
        """Replace a value; None means absent. Returns 1, 0 if `old` is outdated, or -1 if there is no room."""
        key = keys.factors(account_id)
        command = REPLACE_FACTOR_SCRIPT.command([key], [field, old or b"", new or b"", FIELDS_CAP])
        (reply,) = await self._accounts.write(key, command)  # waits for replicas: a used code must stay used
        return int(reply)

    async def delete_all(self, account_id: AccountId) -> bool:
        """Delete all factors. Return whether there were any."""
        return bool(await self._accounts.write_one("DEL", keys.factors(account_id)))

    async def add_challenge(self, digest: str, challenge: Challenge) -> None:
        key = keys.passkey_challenge(digest)
        args = (msgspec.msgpack.encode(challenge), CHALLENGE_TTL_MS)
        await self._sessions[key].run(STORE_BRIEFLY_SCRIPT, [key], args)

    async def take_challenge(self, digest: str) -> Challenge | None:
        """Return and delete a challenge. Only one of several concurrent calls gets the challenge."""
        value = await self._sessions.write_one("GETDEL", keys.passkey_challenge(digest))
        return None if value is None else msgspec.msgpack.decode(value, type=Challenge)
