"""Checks the index of confirmed mail addresses, a keyed digest -> account, in both directions."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from accounts import keys as account_keys
from accounts.domain import DELETED
from accounts.mail.links import address_digest
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines.audit.context import Checks
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.reader import ABSENT, AuditReader


class MailAddressChecks(Checks):
    async def accounts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that the index has the address of each account. Without the entry no link can reset the password.

        After a change of SECRET_KEY all digests differ, and the repair writes them again.
        """
        states = await reader.read_states(int(key.tag) for key in checked)
        rows = await reader.read_each(checked, ("HGET", "address"))
        digests = {
            key: address_digest(address.decode())
            for key, (address,) in rows
            if address and states[int(key.tag)] not in (ABSENT, DELETED)
        }
        owners = await reader.execute_all(("GET", account_keys.address_owner(digest)) for digest in digests.values())
        claimants: dict[str, int] = {}
        for (key, digest), owner in zip(digests.items(), owners, strict=True):
            account_id = AccountId(int(key.tag))
            claimant = claimants.setdefault(digest, account_id if owner is None else int(owner))
            if owner is None or claimant != account_id:
                claim = partial(self._context.mails.claim, digest, account_id)
                yield Discrepancy("address_unindexed", key, repair=claim if claimant == account_id else None)

    async def owners(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each entry leads to the account with this address. A wrong entry blocks the address for others."""
        rows = await reader.read_each(checked, ("GET",))
        owners = {key: AccountId(int(owner)) for key, (owner,) in rows if owner is not None}
        addresses = await reader.execute_all(
            ("HGET", account_keys.mail_account(id), "address") for id in owners.values()
        )
        for (key, owner), address in zip(owners.items(), addresses, strict=True):
            if address is None or address_digest(address.decode()) != key.tag:
                release = partial(self._context.mails.release, key.tag, owner)
                yield Discrepancy("address_of_nobody", key, str(owner), release, is_damage=False)
