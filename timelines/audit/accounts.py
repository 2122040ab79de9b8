"""Accounts, their handles, and the counter of their ids."""

from collections.abc import Mapping, Sequence
from functools import partial

from accounts import keys as account_keys
from accounts.accounts.stored_values import ACCOUNT_FIELDS
from accounts.domain import DELETED, SUSPENDED
from socialsite.ids import AccountId
from socialsite.store import Command, Key, Reply
from timelines import keys
from timelines.audit.discrepancy import Finding
from timelines.audit.reader import Looking
from timelines.audit.repairs import Places

NUMBERS = frozenset({"created_ms", "staff", "version"})
LATER = frozenset({"private"})
"""Fields that accounts of earlier releases do not have."""
NEW_FOR_MS = 60_000  # a sign-up may still be between the account and its handle


class AccountChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def accounts(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        ids = [int(key.tag) for key in found]
        counter = account_keys.account_ids()
        last = await look.number(counter)
        rows = await look.gather(("HMGET", key, *ACCOUNT_FIELDS) for key in found)
        findings: list[Finding] = []
        if ids and last is not None and max(ids) > last:
            highest = found[ids.index(max(ids))]
            findings.append(Finding("account_counter_low", highest, repair=partial(self._raise, max(ids))))
        whole: dict[Key, dict[str, str]] = {}
        for key, row in zip(found, rows, strict=True):
            if row.count(None) == len(ACCOUNT_FIELDS):
                continue  # gone since the walk met it
            if lost := lost_of(row):
                findings.append(self._half(key, lost))
            else:
                whole[key] = facts_of(row)
        findings += await self._handles_of(look, whole)
        return findings + await self._unswept(look, [k for k, f in whole.items() if f["state"] == DELETED])

    async def handles(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """Each handle leads to an account of that handle."""
        owners = dict(zip(found, await look.gather(("GET", key) for key in found), strict=True))
        pairs = [(key, int(owner)) for key, owner in owners.items() if owner is not None and owner.isdigit()]
        asked = [("HGET", account_keys.account(AccountId(owner)), "handle") for _, owner in pairs]
        findings = [
            Finding("handle_of_nobody", key, "", self._places.run(("DEL", key)))
            for key, owner in owners.items()
            if owner is not None and not owner.isdigit()
        ]
        for (key, owner), handle in zip(pairs, await look.gather(asked), strict=True):
            repair = self._places.run(("DEL", key))
            if handle is None:
                if (await look.states([owner]))[owner] == "absent":
                    findings.append(Finding("handle_without_account", key, str(owner), repair))
            elif account_keys.handle(handle.decode()) != key:
                findings.append(Finding("handle_of_nobody", key, str(owner), repair))
        return findings

    async def _handles_of(self, look: Looking, accounts: Mapping[Key, Mapping[str, str]]) -> list[Finding]:
        """Each account is found by its handle."""
        claims = [account_keys.handle(facts["handle"]) for facts in accounts.values()]
        owners = await look.gather(("GET", claim) for claim in claims)
        findings: list[Finding] = []
        settled_ms = self._places.clock.now_ms() - NEW_FOR_MS
        for key, claim, owner in zip(accounts, claims, owners, strict=True):
            if owner == key.tag.encode() or (int(accounts[key]["created_ms"]) > settled_ms and owner is None):
                continue
            if owner is None:
                repair = self._places.run(("SET", claim, key.tag, "NX"))
                findings.append(Finding("account_without_handle", key, repair=repair))
            else:
                repair = partial(self._rename, key, claim, int(owner), accounts[key]["handle"])
                findings.append(Finding("handle_of_another", key, owner.decode(), repair))
        return findings

    def _half(self, key: Key, lost: Sequence[str]) -> Finding:
        """What is lost is filled in so that the account can be read, and hidden where its state is lost."""
        return Finding("account_half", key, ",".join(lost), partial(self.fill, key, lost))

    async def fill(self, key: Key, lost: Sequence[str] = ACCOUNT_FIELDS) -> None:
        """Put something into what an account has lost."""
        handle = f"lost_{key.tag}"
        fill = dict.fromkeys(ACCOUNT_FIELDS, "") | {
            "handle": handle, "display_name": handle, "password": "!", "created_ms": "0",
            "state": SUSPENDED, "staff": "0", "version": "1",
        }  # fmt: skip
        drops = [("HDEL", key, name) for name in lost if name in NUMBERS]
        await self._places.store.gather([*drops, *(("HSETNX", key, name, fill[name]) for name in lost)])
        if "handle" in lost:
            claim = account_keys.handle(handle)
            await self._places.store.gather([("SET", claim, key.tag, "NX")])

    async def _rename(self, key: Key, claim: Key, owner: int, handle: str) -> None:
        """Two accounts, one handle: it stays with the one it leads to, if that one has it by its own word."""
        other = account_keys.account(AccountId(owner))
        (held,) = await self._places.store.gather([("HGET", other, "handle")])
        if held == handle.encode():
            spare = f"lost_{key.tag}"
            commands: list[Command] = [
                ("HSET", key, "handle", spare), ("HINCRBY", key, "version", 1),
                ("SET", account_keys.handle(spare), key.tag, "NX"),
            ]  # fmt: skip
            await self._places.store.gather(commands)
        else:
            await self._places.store.gather([("SET", claim, key.tag)])

    async def _raise(self, highest: int) -> None:
        """By the difference, so that ids given out meanwhile stay given out."""
        key = account_keys.account_ids()
        (last,) = await self._places.store.gather([("GET", key)])
        if int(last or 0) < highest:
            await self._places.store.gather([("INCRBY", key, highest - int(last or 0))])

    async def _unswept(self, look: Looking, deleted: Sequence[Key]) -> list[Finding]:
        """A deleted account has nothing left, once the worker has been there."""
        findings: list[Finding] = []
        sides = (keys.following, keys.followers, keys.lists_with_account)
        partitions = range(self._places.config.follow_partitions)
        for key in deleted:
            account_id = int(key.tag)
            if not await look.is_unswept(account_id):
                continue
            owned = [*self._places.profiles.keys.feed_keys(account_id), keys.list_index(account_id)]
            owned += [side(f"p{number}", account_id) for side in sides for number in partitions]
            left = sum(await look.gather(("ZCARD", each) for each in owned))
            if left:  # counted, so that a sweep at work is no damage: it leaves less at the second look
                findings.append(Finding("account_unswept", key, str(left), self._places.sweep(account_id)))
        return findings


def lost_of(row: Reply) -> list[str]:
    """Fields that are not there, or no numbers where numbers belong."""
    return [
        name
        for name, value in zip(ACCOUNT_FIELDS, row, strict=True)
        if (value is None and name not in LATER) or (name in NUMBERS and value and not value.isdigit())
    ]


def facts_of(row: Reply) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in zip(ACCOUNT_FIELDS, row, strict=True)}
