"""Who may join: sign-up by the mode of the site, applications and their decisions, invitations."""

from collections.abc import Sequence

import structlog
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables
from msgspec import structs

from accounts import errors, forms
from accounts.accounts.service import AccountService
from accounts.accounts.validation import InvalidText, clean_text
from accounts.domain import ACTIVE, DELETED, WAITING, Preferences
from accounts.joining import values
from accounts.joining.repository import JoiningRepository
from accounts.mail.repository import MailRepository
from accounts.mail.service import MailService
from accounts.mail.values import MailKind
from accounts.models import Account
from accounts.security.events import rough_network
from socialsite.clock import DAY_MS
from socialsite.concurrency import run_together
from socialsite.errors import Forbidden
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import Caller
from socialsite.service import Service
from socialsite.site.service import SiteService

APPLICATIONS_CAP = 10_000
"""The number of applications above which no more are accepted."""
APPLICATIONS_PER_NETWORK = 100
"""The number of applications that one network may send in a week, also interrupted ones. It keeps room for others."""
ACCOUNT_BYTES = 5_300
"""About the bytes that a new account takes, with its session and its entries in indexes."""
UNFINISHED_MS = DAY_MS // 24
"""The age at which an entry of the queue without a waiting account is removed."""
log = structlog.get_logger("accounts.security")


class JoiningService(Service):
    """Creates the accounts of people who sign up, and decides about their applications."""

    joining: JoiningRepository
    accounts: AccountService
    mail: MailService
    mails: MailRepository
    site: SiteService
    clock: TimeSource

    # Sign-up

    async def check(self, code: str, handle: str = "") -> Account | None:
        """Return the account that invites by this code, or None without a code.

        A handle that has used the code before, in an interrupted sign-up, may use it again.

        Raises SignUpClosed, InvitationNeeded, InvitationInvalid.
        """
        mode = self.site.settings.joining
        if mode == "closed":
            raise errors.SignUpClosed
        if not code and mode == "invitation":
            raise errors.InvitationNeeded
        if not code:
            return None
        return (await self._find_inviter(code, handle.lower()))[1]

    def asks_reason(self, code: str) -> bool:
        """Return whether a sign-up needs a reason, because staff approves it. An invitation replaces the approval."""
        return not code and self.site.settings.joining == "approval"

    async def check_handle(self, handle: str) -> None:
        """Raise FieldErrors or HandleTaken if a new account cannot have the handle."""
        stored_handle, _texts = self.accounts.check_new(handle, handle)
        if await self.accounts.accounts.is_handle_claimed(stored_handle):
            raise errors.HandleTaken

    @sensitive_variables("password")
    async def sign_up(
        self,
        *,
        handle: str,
        password: str,
        display_name: str,
        code: str = "",
        reason: str = "",
        address: str = "",
        caller: Caller,
        preferences: Preferences | None = None,
    ) -> Account:
        """Create an account by the mode of the site. Its state is "waiting" if staff has to approve it.

        Its posts have the default audience of the site until its owner chooses another. An invitation replaces the
        approval. Raises the errors of `check` and of `AccountService.sign_up`.
        """
        await self.check(code, handle)
        if address:
            self.mail.check_domain(address)
        handle, texts = self.accounts.check_new(handle, display_name)  # before a use of the invitation is taken
        network, now_ms = rough_network(caller.address), self.clock.now_ms()
        if (audience := self.site.settings.default_audience) != "public":
            preferences = structs.replace(preferences or Preferences(), audience=audience)
        await self.accounts.limits.enforce_bytes("accounts", caller, ACCOUNT_BYTES + len(reason.encode()))
        facts = await self._take_place(handle, code, reason, network, now_ms)
        try:
            account = await self.accounts.sign_up(
                handle=handle,
                password=password,
                display_name=texts["display_name"],
                now_ms=now_ms,
                is_known=False,
                preferences=preferences,
                waits="reason" in facts,
                facts=facts,
            )
        except errors.HandleTaken:
            if code:
                await self._return_use(code, handle)
            raise
        if "reason" not in facts:
            await self.joining.count_sign_up(network)
        return account

    async def _take_place(self, handle: str, code: str, reason: str, network: str, now_ms: int) -> dict[str, str]:
        """Take a use of the invitation, or enqueue an application if the site approves accounts.

        Returns the facts to store with the account. Raises FieldErrors, InvitationInvalid, SignUpClosed, HandleTaken.
        """
        if code:
            invitation = await self._take_use(code, handle)
            return {"inviter": str(invitation.inviter_id), "invitation": invitation.secret}
        if self.site.settings.joining != "approval":
            return {}
        reason = check_text(reason, "reason", forms.REASON_MIN_LENGTH, forms.REASON_MAX_LENGTH)
        await self._enqueue(handle, network, now_ms)
        return {"reason": reason, "network": network}

    # Applications

    async def _enqueue(self, handle: str, network: str, now_ms: int) -> None:
        """Store an application before its account, so that no crash hides it. Raises SignUpClosed, HandleTaken."""
        if await self.accounts.accounts.is_handle_claimed(handle):
            raise errors.HandleTaken
        sign_ups, length = await run_together(self.joining.count_sign_up(network), self.joining.applications.count())
        if sign_ups > APPLICATIONS_PER_NETWORK or length >= APPLICATIONS_CAP:
            raise errors.SignUpClosed
        await self.joining.applications.add(handle, now_ms, keeps_time=True)

    async def find_application(self, account_id: AccountId) -> values.Application:
        """Return the application that the account stored at its sign-up, with the decision."""
        return (await self.joining.find_applications([account_id]))[account_id]

    async def count_waiting(self) -> int:
        return await self.joining.applications.count()

    async def waiting(self, after_ms: int, limit: int) -> tuple[list[values.WaitingAccount], int | None]:
        """Return the oldest accounts that wait after a time, and the time from which the next page continues."""
        queue = await self.joining.applications.oldest(limit, after_ms)
        ids = await self.accounts.find_ids_by_handle(handle for handle, _applied_ms in queue)
        found, applications, rows = await run_together(
            self.accounts.find_authors(ids.values()),
            self.joining.find_applications(list(ids.values())),
            run_together(*(self.mails.find(account_id) for account_id in ids.values())),
        )
        mails = dict(zip(ids.values(), rows, strict=True))
        counts = await self.joining.count_by_network(list({each.network for each in applications.values()}))
        page = []
        for handle, applied_ms in queue:
            author = found.get(ids.get(handle, AccountId(0)))
            is_deleted = author is None or author.state == DELETED  # the handle is free for a sign-up now
            if author is not None and (application := applications[author.id]).decided_by:
                await self._finish(author.id, handle, application)  # a process died after it decided
            elif author is not None and author.state == WAITING:
                row, count = mails[author.id], counts[application.network]
                address = row.address or row.pending
                page.append(values.WaitingAccount(author, applied_ms, application, address, bool(row.address), count))
            elif not is_deleted or applied_ms < self.clock.now_ms() - UNFINISHED_MS:
                await self.joining.applications.remove(handle)  # withdrawn, or the sign-up has failed
        return page, queue[-1][1] if len(queue) == limit else None

    async def approve(self, account_id: AccountId, decider_id: AccountId) -> None:
        """Let the account in. Its owner gets a mail. Raises AlreadyDecided, AccountNotFound."""
        await self._decide(account_id, decider_id, ACTIVE, "", 0)

    async def refuse(self, account_id: AccountId, decider_id: AccountId, text: str) -> None:
        """Refuse the account with a text. It is deleted when its owner has read the text, or after 30 days.

        Raises FieldErrors, AlreadyDecided, AccountNotFound.
        """
        text = check_text(text, "text", 1, forms.ANSWER_MAX_LENGTH)
        delete_ms = self.clock.now_ms() + values.REFUSAL_KEPT_MS
        if (await self.accounts.get(account_id)).state == WAITING:  # otherwise the entry may belong to another deletion
            await self.accounts.accounts.deletions.add(account_id, delete_ms)
        await self._decide(account_id, decider_id, WAITING, text, delete_ms)

    async def reinstate(self, *, account_id: AccountId) -> bool:
        """Undo a suspension. Returns whether the account was suspended. The call may be repeated.

        If the account was not approved, it waits again at its former place. If it was refused, it is deleted again.
        """
        changed = await self.accounts.reinstate(account_id=account_id)
        account = await self.accounts.get(account_id)
        if account.state != WAITING:
            return changed
        if not (await self.find_application(account_id)).decided_by:
            await self.joining.applications.add(account.handle, account.created_ms, keeps_time=True)
        elif not account.delete_ms:
            delete_ms = self.clock.now_ms() + values.REFUSAL_KEPT_MS
            await self.accounts.accounts.deletions.add(account_id, delete_ms)
            await self.accounts.accounts.edit(account_id, {"delete_ms": str(delete_ms)})
        return changed

    async def mark_refusal_read(self, account: Account) -> None:
        """Delete a refused account an hour after its owner has read the refusal for the first time."""
        delete_ms = self.clock.now_ms() + values.READ_REFUSAL_KEPT_MS
        if account.delete_ms > delete_ms:
            await self.accounts.accounts.deletions.add(AccountId(account.id), delete_ms)
            await self.accounts.accounts.edit(AccountId(account.id), {"delete_ms": str(delete_ms)})

    async def _decide(
        self, account_id: AccountId, decider_id: AccountId, state: str, refusal: str, delete_ms: int
    ) -> None:
        account = await self.accounts.get(account_id)
        earlier = await self.joining.decide(account_id, [decider_id, self.clock.now_ms(), state, refusal, delete_ms])
        if earlier < 0:
            raise errors.AccountNotFound
        if earlier:
            decider = await self.accounts.find(AccountId(earlier))
            raise errors.AlreadyDecided(decider.handle if decider else "?")
        log.info("application_decided", account=account_id, state=state)
        await self._finish(account_id, account.handle, await self.find_application(account_id))

    async def _finish(self, account_id: AccountId, handle: str, application: values.Application) -> None:
        """Perform a decision, and then remove the application from the queue. It may be repeated."""
        kind: MailKind = "refused" if application.refusal else "approved"
        context = {"lines": application.refusal} if application.refusal else {}
        await self.accounts.on_names_changed([account_id])
        await self.mail.notify(account_id, kind, context, f"{application.decided_ms:014d}-{account_id:x}")
        await self.joining.applications.remove(handle)

    # Invitations

    def may_invite(self, account: Account) -> bool:
        """Return whether the account may invite others, and its invitations can be used."""
        if not account.is_active or account.limited or account.silenced_until_ms > self.clock.now_ms():
            return False
        return account.is_staff or self.site.settings.members_invite

    async def invitations(self, account_id: AccountId) -> dict[str, values.Invitation]:
        """Return the invitations of the account by the random text of their code, the newest first."""
        return await self.joining.invitations(account_id)

    async def find_invited(self, account_ids: Sequence[AccountId], inviter_id: AccountId) -> list[AccountId]:
        """Return the accounts among `account_ids` that this account has invited."""
        found = await self.joining.find_applications(account_ids)
        return [account_id for account_id, application in found.items() if application.inviter_id == inviter_id]

    async def invite(self, account: Account, *, uses: int, days: str, note: str) -> values.InvitationCode:
        """Make an invitation. Raises Forbidden, FieldErrors."""
        if not self.may_invite(account):
            raise Forbidden
        if not 1 <= uses <= forms.INVITATION_USES_CAP or days not in forms.INVITATION_DAYS:
            raise errors.FieldErrors(
                {"uses" if days in forms.INVITATION_DAYS else "days": _("This is not one of the choices.")}
            )
        note = check_text(note, "note", 0, forms.INVITATION_NOTE_MAX_LENGTH)
        code, now_ms = values.InvitationCode.generate(AccountId(account.id)), self.clock.now_ms()
        await self.accounts.limits.enforce_bytes("invitations", AccountId(account.id), len(note.encode()))
        row = values.Invitation(now_ms, now_ms + forms.INVITATION_DAYS[days] * DAY_MS, uses, note)
        if await self.joining.replace_invitation(code, None, row) < 0:
            raise errors.FieldErrors({"uses": _("You have as many invitations as this site allows. End one first.")})
        return code

    async def end_invitation(self, account_id: AccountId, secret: str) -> bool:
        """End an invitation, and delete it if nobody has used it. Return whether it existed."""
        return await self.joining.change_invitation(
            values.InvitationCode(account_id, secret),
            lambda row: structs.replace(row, is_ended=True) if row.handles else None,
        )

    async def _find_inviter(self, text: str, handle: str) -> tuple[values.InvitationCode, Account]:
        """Return an invitation that the handle may use, and the account that invites. Raises InvitationInvalid."""
        code = values.InvitationCode.parse(text)
        if code is None:
            raise errors.InvitationInvalid
        row, inviter = await run_together(self.joining.find_invitation(code), self.accounts.find(code.inviter_id))
        is_usable = row is not None and row.is_usable_by(handle, self.clock.now_ms())
        if not is_usable or inviter is None or not self.may_invite(inviter):
            raise errors.InvitationInvalid
        return code, inviter

    async def _take_use(self, text: str, handle: str) -> values.InvitationCode:
        """Count a use for the handle, once. Raises InvitationInvalid."""
        code, _inviter = await self._find_inviter(text, handle)

        def add_handle(row: values.Invitation) -> values.Invitation:
            if not row.is_usable_by(handle, self.clock.now_ms()):
                raise errors.InvitationInvalid
            return row if handle in row.handles else structs.replace(row, handles=(*row.handles, handle))

        if not await self.joining.change_invitation(code, add_handle):
            raise errors.InvitationInvalid
        return code

    async def _return_use(self, text: str, handle: str) -> None:
        """Remove the use of an invitation by a handle that is taken, unless the account was created with it.

        After any other error the handle keeps the use, since a concurrent sign-up of the handle may share it.
        """
        code = values.InvitationCode.parse(text)
        account = await self.accounts.find_by_handle(handle)
        if code is None or account is None:
            return
        if (await self.find_application(AccountId(account.id))).invitation != code.secret:
            await self.joining.change_invitation(
                code, lambda row: structs.replace(row, handles=tuple(each for each in row.handles if each != handle))
            )


def check_text(text: str, field: str, shortest: int, longest: int) -> str:
    """Return the stored form of a text. Raises FieldErrors if it is shorter or longer, or cannot be shown."""
    try:
        cleaned = clean_text(text, longest)
    except InvalidText as error:
        if error.code != "too_long":
            raise errors.FieldErrors({field: _("This text has characters that cannot be shown.")}) from None
        message = ngettext("Write at most %(most)d character.", "Write at most %(most)d characters.", longest)
        raise errors.FieldErrors({field: message % {"most": longest}}) from None
    if len(cleaned) < shortest:
        message = ngettext("Write at least %(least)d character.", "Write at least %(least)d characters.", shortest)
        raise errors.FieldErrors({field: message % {"least": shortest}})
    return cleaned
