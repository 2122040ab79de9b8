"""Stores the mail address of each account, the owner of each address, and the state of the last mails."""

from dataclasses import dataclass

from accounts import keys
from accounts.mail.values import MAILS_CAP, SentMail, decode_mail, encode_mail
from socialsite.ids import AccountId
from socialsite.recipes.time_queue import TimeQueue
from socialsite.store.commands import load_script
from socialsite.store.store import Store

STORE_MAIL = load_script("store_mail.lua", __package__)
CHANGE_ADDRESS = load_script("change_address.lua", __package__)
CLAIM_ADDRESS = load_script("claim_address.lua", __package__)


@dataclass(frozen=True, slots=True)
class MailAccount:
    """The mail address of an account and its choices about mail. `address` is confirmed, `pending` is not; each is ""
    if there is none."""

    address: str = ""
    pending: str = ""
    language: str = ""
    digest: str = "off"


class MailRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")
        self.digests = TimeQueue(store, keys.due_digests(), lambda member: AccountId(int(member)))

    async def find(self, account_id: AccountId) -> MailAccount:
        fields = ("address", "pending", "language", "digest")
        values = await self._accounts.execute("HMGET", keys.mail_account(account_id), *fields)
        return MailAccount(**{field: value.decode() for field, value in zip(fields, values, strict=True) if value})

    async def change(self, account_id: AccountId, former: MailAccount | None = None, **fields: str) -> bool:
        """Set fields; "" removes a field. Returns whether the fields were set.

        They are not set if the account is absent or deleted, or if the stored addresses differ from those of `former`.
        """
        changed = [keys.account(account_id), keys.mail_account(account_id)]
        expected = (1, former.address, former.pending) if former else (0, "", "")
        arguments = [part for pair in fields.items() for part in pair]
        return bool(await self._accounts.write(*CHANGE_ADDRESS.command(changed, [*expected, *arguments])))

    # Owners of addresses

    async def find_owner(self, digest: str) -> AccountId | None:
        reply = await self._accounts.execute("GET", keys.address_owner(digest))
        return None if reply is None else AccountId(int(reply))

    async def claim(self, digest: str, account_id: AccountId) -> bool:
        """Make the account the owner of the address if it has none. Return whether the account is the owner now."""
        return bool(await self._accounts.write(*CLAIM_ADDRESS.command([keys.address_owner(digest)], [account_id, ""])))

    async def release(self, digest: str, account_id: AccountId) -> None:
        """Remove the account as the owner of the address, if it is the owner."""
        await self._accounts.write(*CLAIM_ADDRESS.command([keys.address_owner(digest)], ["", account_id]))

    # The state of mails

    async def find_mail(self, account_id: AccountId, mail_id: str) -> SentMail | None:
        value = await self._accounts.execute("HGET", keys.sent_mails(account_id), mail_id)
        return None if value is None else decode_mail(value)

    async def list_mails(self, account_id: AccountId) -> list[SentMail]:
        """Return the state of the last mails, newest first."""
        reply = await self._accounts.execute("HGETALL", keys.sent_mails(account_id))
        mails = sorted(zip(reply[::2], reply[1::2], strict=True), reverse=True)
        return [decode_mail(value) for _id, value in mails]

    async def store_mail(self, account_id: AccountId, mail_id: str, mail: SentMail, *, only_new: bool = False) -> bool:
        """Store the state of a mail, with `only_new` unless it has one. Return False if the account is deleted."""
        changed = [keys.account(account_id), keys.sent_mails(account_id)]
        args = (mail_id, encode_mail(mail), MAILS_CAP, int(only_new))
        return bool(await self._accounts.write(*STORE_MAIL.command(changed, args)))

    async def delete_mail(self, account_id: AccountId, mail_id: str) -> None:
        await self._accounts.write("HDEL", keys.sent_mails(account_id), mail_id)
