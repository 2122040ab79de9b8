"""Stores invitations by the account that invites, and the queue of applications."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from accounts import keys
from accounts.factors.repository import REPLACE_FACTOR_SCRIPT
from accounts.forms import INVITATION_USES_CAP
from accounts.joining.values import (
    INVITATIONS_CAP,
    Application,
    Invitation,
    InvitationCode,
    decode_invitation,
    encode_invitation,
)
from socialsite.clock import DAY_MS
from socialsite.errors import Unavailable
from socialsite.ids import AccountId
from socialsite.recipes.time_queue import TimeQueue
from socialsite.store.commands import Reply, load_script
from socialsite.store.store import Store

MAX_ATTEMPTS = 2 * INVITATION_USES_CAP
"""Concurrent uses of one invitation make an attempt fail, but not more often than it has uses."""
DECIDE_SCRIPT = load_script("decide_application.lua", __package__)
APPLICATION_FIELDS: Final = ("reason", "network", "decided_by", "refusal", "inviter", "invitation", "decided_ms")


class JoiningRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")
        self.applications = TimeQueue(store, keys.applications(), bytes.decode)
        """The handles of the queue by the time of their sign-up. A handle is added before its account is created."""

    # Invitations

    async def invitations(self, account_id: AccountId) -> dict[str, Invitation]:
        """Return all invitations of the account by the random text of their code, the newest first."""
        reply = await self._accounts.execute("HGETALL", keys.invitations(account_id))
        pairs = [(secret.decode(), decode_invitation(row)) for secret, row in zip(reply[::2], reply[1::2], strict=True)]
        return dict(sorted(pairs, key=lambda pair: -pair[1].created_ms))

    async def find_invitation(self, code: InvitationCode) -> Invitation | None:
        row = await self._accounts.execute("HGET", keys.invitations(code.inviter_id), code.secret)
        return None if row is None else decode_invitation(row)

    async def replace_invitation(self, code: InvitationCode, old: Invitation | None, new: Invitation | None) -> int:
        """Replace an invitation; None means absent. Returns 1, 0 if `old` is outdated, or -1 at the cap."""
        rows = [encode_invitation(row) if row is not None else b"" for row in (old, new)]
        key, args = keys.invitations(code.inviter_id), [code.secret, *rows, INVITATIONS_CAP]
        return int(await self._accounts.write(*REPLACE_FACTOR_SCRIPT.command([key], args)))

    async def change_invitation(self, code: InvitationCode, edit: Callable[[Invitation], Invitation | None]) -> bool:
        """Replace an invitation by what `edit` returns, or delete it if that is None. Return whether it existed.

        Raises Unavailable if others change it all the time.
        """
        for _attempt in range(MAX_ATTEMPTS):
            row = await self.find_invitation(code)
            if row is None:
                return False
            changed = edit(row)
            if changed == row or await self.replace_invitation(code, row, changed):
                return True
        raise Unavailable

    # Applications

    async def find_applications(self, account_ids: Sequence[AccountId]) -> dict[AccountId, Application]:
        """Return the applications that the accounts stored at their sign-up."""
        commands = [("HMGET", keys.account(account_id), *APPLICATION_FIELDS) for account_id in account_ids]
        replies = await self._accounts.execute_all(commands)
        return dict(zip(account_ids, map(_parse_application, replies), strict=True))

    async def decide(self, account_id: AccountId, decision: Sequence[str | int]) -> int:
        """Store a decision, which has the arguments of decide_application.lua.

        Returns 0, the id of the account that decided before, or -1 if none is possible.
        """
        return int(await self._accounts.write(*DECIDE_SCRIPT.command([keys.account(account_id)], decision)))

    # Networks

    async def count_sign_up(self, network: str) -> int:
        """Count a sign-up of the network, and return how many it has sent in about a week."""
        key = keys.network_sign_ups(_digest(network))
        _reply, count = await self._accounts.write_all([("SET", key, 0, "PX", 7 * DAY_MS, "NX"), ("INCR", key)])
        return int(count)

    async def count_by_network(self, networks: Sequence[str]) -> dict[str, int]:
        """Return how many sign-ups each network has sent in about a week."""
        replies = await self._accounts.execute_all([("GET", keys.network_sign_ups(_digest(each))) for each in networks])
        return {network: int(reply or 0) for network, reply in zip(networks, replies, strict=True)}


def _parse_application(reply: Reply) -> Application:
    reason, network, decided_by, refusal, inviter, invitation, decided_ms = ((value or b"").decode() for value in reply)
    decider_id, inviter_id = AccountId(int(decided_by or 0)), AccountId(int(inviter or 0))
    return Application(reason, network, decider_id, refusal, inviter_id, invitation, int(decided_ms or 0))


def _digest(network: str) -> str:
    return hashlib.sha256(network.encode()).hexdigest()[:32]
