"""The newest events that concern the security of an account: log-ins, refused attempts, changes.

Refused attempts have a list of their own, so that a stranger who guesses passwords removes no other event.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from accounts import keys
from accounts.domain import NO_ACCOUNT_ID
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import Caller
from socialsite.service import Service
from socialsite.store.commands import load_script
from socialsite.store.key import Key
from socialsite.store.store import Store

EVENTS_CAP: Final = 80
REFUSALS_CAP: Final = 20
EVENT_TTL_MS: Final = 90 * DAY_MS
REFUSAL_KINDS = frozenset({"login_refused", "factor_refused", "confirmation_refused", "passkey_repeated"})
DETAIL_MAX_LENGTH = 100  # code points
NETWORK_CAP: Final = 50
"""The number of accounts that a network keeps, those of the newest log-ins."""
ADD_EVENT_SCRIPT, ADD_TO_NETWORK_SCRIPT = (
    load_script(name, __package__) for name in ("add_event.lua", "add_to_network.lua")
)


class SecurityEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event at `at_ms`. `network` is the rough place of the caller, "" for a command of an operator."""

    at_ms: int
    kind: str
    network: str = ""
    details: dict[str, str] = {}


_decoder = msgspec.msgpack.Decoder(SecurityEvent)


class SecurityEvents(Service):
    store: Store
    clock: TimeSource

    async def record(self, account_id: AccountId | None, kind: str, caller: Caller | None, **details: str) -> None:
        """Store an event. For None nothing is stored, in the same time: a log-in with an unknown handle needs this."""
        texts = {name: text[:DETAIL_MAX_LENGTH] for name, text in details.items() if text}
        event = SecurityEvent(self.clock.now_ms(), kind, rough_network(caller.address) if caller else "", texts)
        is_refusal = kind in REFUSAL_KINDS
        build_key = keys.security_refusals if is_refusal else keys.security_events
        key = build_key(account_id or NO_ACCOUNT_ID)
        cap = 0 if account_id is None else REFUSALS_CAP if is_refusal else EVENTS_CAP
        args = (msgspec.msgpack.encode(event), cap, EVENT_TTL_MS)
        accounts = self.store.component("accounts")
        await accounts[key].execute(*ADD_EVENT_SCRIPT.command([key], args))
        if kind == "login" and event.network and account_id is not None:
            network, numbers = _network_key(event.network), (account_id, event.at_ms, NETWORK_CAP, EVENT_TTL_MS)
            await accounts[network].execute(*ADD_TO_NETWORK_SCRIPT.command([network], numbers))

    async def list_newest(self, account_id: AccountId) -> Sequence[SecurityEvent]:
        """Return the events of the last 90 days, newest first."""
        lists = (keys.security_events(account_id), EVENTS_CAP), (keys.security_refusals(account_id), REFUSALS_CAP)
        replies = await self.store.execute_all([("LRANGE", key, 0, cap - 1) for key, cap in lists])
        events = [_decoder.decode(value) for reply in replies for value in reply]
        oldest_ms = self.clock.now_ms() - EVENT_TTL_MS
        return sorted((event for event in events if event.at_ms > oldest_ms), key=lambda event: -event.at_ms)

    async def list_accounts(self, networks: Iterable[str]) -> list[AccountId]:
        """Return the accounts that logged in from one of the networks lately."""
        replies = await self.store.execute_all(
            [("ZREVRANGE", _network_key(each), 0, NETWORK_CAP - 1) for each in networks]
        )
        return list(dict.fromkeys(AccountId(int(id)) for reply in replies for id in reply))

    async def leave_networks(self, account_id: AccountId) -> None:
        """Remove a deleted account from the networks of its log-ins."""
        networks = {event.network for event in await self.list_newest(account_id)}
        await self.store.execute_all([("ZREM", _network_key(each), account_id) for each in networks])


def _network_key(network: str) -> Key:
    return keys.network_accounts(hashlib.sha256(network.encode()).hexdigest()[:32])


def rough_network(address: str) -> str:
    """Return the IPv4 /24 or IPv6 /48 network of an address, or "" if the text is not an address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return str(ipaddress.ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False))
