"""The mail address of an account, and the mails to it. Each mail is a job, which handler.py performs."""

import secrets
from collections.abc import Mapping

import structlog
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.accounts.repository import AccountRepository
from accounts.addresses import InvalidAddress, normalize_address
from accounts.domain import NO_ACCOUNT_ID
from accounts.errors import AddressTaken, FieldErrors, InvalidLink
from accounts.mail.links import address_digest, find_reset_account, is_reset_token, parse_confirmation
from accounts.mail.queue import MailQueue
from accounts.mail.repository import MailAccount, MailRepository
from accounts.mail.values import DIGEST_PERIODS_MS, MailKind, RequestReset, SendMail, SentMail, encode_job
from accounts.models import Account
from accounts.security.events import SecurityEvents
from socialsite.clock import DAY_MS
from socialsite.errors import Conflict
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.rate_limit import Identifier, RateLimiter
from socialsite.service import Service
from socialsite.site.hosts import compile_hosts, is_blocked_host
from socialsite.site.service import SiteService
from socialsite.store.errors import StoreError

MAILS_PER_DAY = 10
"""The maximum number of mails of one kind to one address in a day, so that nobody can flood a mailbox."""
RESETS_PER_HOUR = 2
"""The same of links to reset a password. They work for an hour, so nobody can leave the owner without one for a day."""
HOUR_MS = DAY_MS // 24
Facts = Mapping[str, str]
NO_FACTS: Facts = {}

log = structlog.get_logger("accounts.security")


class MailService(Service):
    """Stores addresses, and adds the jobs of mails."""

    mails: MailRepository
    mail_queue: MailQueue
    accounts: AccountRepository
    events: SecurityEvents
    limits: ActionLimits
    limiter: RateLimiter
    clock: TimeSource
    site: SiteService

    async def notify(self, account_id: AccountId, kind: MailKind, facts: Facts = NO_FACTS, mail_id: str = "") -> bool:
        """Add a mail to the confirmed address of the account. Return False if it has none.

        A repetition with the same `mail_id` sends no second mail.
        """
        receiver = await self.mails.find(account_id)
        return bool(receiver.address) and await self.add_mail(account_id, kind, receiver, facts, mail_id)

    async def notify_if_available(self, account_id: AccountId, kind: MailKind, **facts: str) -> None:
        """Call `notify` after a change that is stored. An error of the store is only logged."""
        try:
            await self.notify(account_id, kind, facts)
        except StoreError as error:
            log.warning("mail_not_stored", account=account_id, kind=kind, reason=type(error).__name__)

    async def add_mail(
        self, account_id: AccountId, kind: MailKind, receiver: MailAccount, facts: Facts = NO_FACTS, mail_id: str = ""
    ) -> bool:
        """Add the job of a new mail. Return False if the address got too many of this kind today."""
        now_ms = self.clock.now_ms()
        id, address, language = mail_id or new_mail_id(now_ms), receiver.address, receiver.language
        return await self.add_job(SendMail(account_id, id, kind, address, language, now_ms, dict(facts)))

    async def add_job(self, job: SendMail, per_day: int = MAILS_PER_DAY) -> bool:
        """Store the job of a mail, and then its state. Return False if the address got too many of this kind today."""
        now_ms, name = self.clock.now_ms(), f"mail{job.kind.replace('_', '')}"
        if job.kind == "reset":
            name, per_day = f"{name}{now_ms // HOUR_MS % 24}", RESETS_PER_HOUR
        if not await self.limiter.hit_daily(name, {Identifier(address_digest(job.address)): per_day}, 1, now_ms):
            log.warning("mail_limited", account=job.account_id, kind=job.kind)
            return False
        await self.mail_queue.add(encode_job(job))
        mail = SentMail(job.kind, job.address, "queued", job.created_ms)
        await self.mails.store_mail(job.account_id, job.id, mail, only_new=True)
        return True

    # The address of an account

    async def find(self, account_id: AccountId) -> MailAccount:
        return await self.mails.find(account_id)

    async def list_mails(self, account_id: AccountId) -> list[SentMail]:
        """Return the state of the last mails to the account, newest first."""
        return await self.mails.list_mails(account_id)

    async def request_address(self, account_id: AccountId, address: str, caller: Caller | None) -> None:
        """Send a mail with a link that confirms the normalized address. Raises FieldErrors, RateLimited.

        The result is the same if another account has the address.
        """
        self.check_domain(address)
        await self.limits.enforce(caller, "mail")
        language = get_language() or ""
        await self.mails.change(account_id, pending=address, language=language)
        await self.add_mail(account_id, "confirm_address", MailAccount(address, language=language))

    def check_domain(self, address: str) -> None:
        """Raise FieldErrors if the domain of a normalized address, or a domain above it, is blocked."""
        if is_blocked_host(address.rpartition("@")[2], compile_hosts(self.site.settings.blocked_mail_domains)):
            raise FieldErrors({"address": _("This site does not accept addresses of this mail provider.")})

    async def confirm_address(self, token: str, caller: Caller | None = None) -> tuple[AccountId, str]:
        """Make the address of a link the address of its account, and return both. A repetition changes nothing.

        Raises InvalidLink, and AddressTaken if another account has the address.
        """
        account_id, address = parse_confirmation(token)
        row, digest = await self.mails.find(account_id), address_digest(address)
        if address not in (row.pending, row.address):
            raise InvalidLink
        if not await self.mails.claim(digest, account_id):
            raise AddressTaken
        if address == row.pending and not await self._replace_address(account_id, row, address, caller):
            present = (await self.mails.find(account_id)).address  # another request has changed it
            if address_digest(present) != digest:
                await self.mails.release(digest, account_id)
                raise InvalidLink
        return account_id, address

    async def remove_address(self, account_id: AccountId, caller: Caller | None = None) -> None:
        """Remove the address, the pending address and the digests. Raises Conflict if another request changes them."""
        await self.choose_digest(account_id, "off")
        if not await self._replace_address(account_id, await self.mails.find(account_id), "", caller):
            raise Conflict

    async def forget_pending(self, account_id: AccountId) -> None:
        """Forget the unconfirmed address, which ends its link: a thief of the session may have requested it."""
        await self.mails.change(account_id, pending="")

    async def forget(self, account_id: AccountId) -> None:
        """Free the mail address of a deleted account, so that another account can have it, and send no digest."""
        row = await self.mails.find(account_id)
        if row.address:
            await self.mails.release(address_digest(row.address), account_id)
        await self.mails.digests.remove(account_id)

    async def find_by_address(self, address: str) -> Account | None:
        """Return the account with this confirmed address, in any state.

        A free address takes the same round trips as an address of an account: who has an address is not public.
        """
        try:
            address = normalize_address(address)
        except InvalidAddress:
            return None
        owner_id = await self.mails.find_owner(address_digest(address)) or NO_ACCOUNT_ID
        row, account = await self.mails.find(owner_id), await self.accounts.find(owner_id)
        return account if row.address.lower() == address.lower() else None

    async def choose_digest(self, account_id: AccountId, digest: str) -> None:
        """Set how often the account gets a digest: a value of DIGESTS. The next digest is sent after a whole period."""
        if digest in DIGEST_PERIODS_MS:  # send_due removes an entry whose choice was not stored
            await self.mails.digests.add(account_id, self.clock.now_ms() + DIGEST_PERIODS_MS[digest])
            await self.mails.change(account_id, digest=digest, language=get_language() or "")
        else:
            await self.mails.change(account_id, digest="")
            await self.mails.digests.remove(account_id)

    # Passwords

    async def announce_password(self, account_id: AccountId) -> None:
        """Mail the change of a password, and end the link of an address that is not confirmed."""
        await self.forget_pending(account_id)
        await self.notify_if_available(account_id, "password_changed")

    async def request_reset(self, address: str, caller: Caller | None) -> None:
        """Store a job that looks for the normalized address. Raises RateLimited.

        Result and time are the same whether or not an account has the address.
        """
        await self.limits.enforce(caller, "mail")
        now_ms = self.clock.now_ms()
        job = RequestReset(new_mail_id(now_ms), address, get_language() or "", now_ms)
        await self.mail_queue.add(encode_job(job))

    async def find_reset_account(self, token: str) -> Account:
        """Return the account whose password the link resets. Raises InvalidLink."""
        account_id = find_reset_account(token)
        account, address = await self.accounts.find(account_id), (await self.mails.find(account_id)).address
        if account is None or not account.can_reset_password:
            raise InvalidLink
        if not address or not is_reset_token(account, address, token):
            raise InvalidLink
        return account

    async def _replace_address(
        self, account_id: AccountId, former: MailAccount, address: str, caller: Caller | None
    ) -> bool:
        """Store the address, or "" for none. Return False if `former` is outdated or the account is deleted.

        Another former address gets a mail before the change, so that no crash loses it, and is released after it.
        """
        former_digest = address_digest(former.address)
        is_left = bool(former.address) and former_digest != address_digest(address)
        if is_left:
            await self.add_mail(account_id, "address_changed", former)
        if not await self.mails.change(account_id, former, address=address, pending=""):
            return False
        if is_left:
            await self.mails.release(former_digest, account_id)
        log.info("address_changed", account=account_id, removed=not address)
        await self.events.record(account_id, "address_changed", caller)
        return True


def new_mail_id(now_ms: int) -> str:
    return f"{now_ms:014d}-{secrets.token_hex(6)}"
