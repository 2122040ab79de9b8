"""Sanctions: decisions of staff about an account, their undo, and the decisions about appeals.

A decision is written to the audit log, then stored with the state "not complete", then performed; then the person is
told, and the state becomes "complete". Each step may be repeated, so a worker completes what a crash interrupted.
"""

import contextlib
from collections.abc import Collection
from typing import Final

import structlog
from django.conf import settings
from django.utils.translation import get_language, ngettext, override
from django.utils.translation import gettext as _
from msgspec.structs import replace

from accounts.domain import DELETED, NO_ACCOUNT_ID, SUSPENDED
from accounts.errors import AccountNotFound, FieldErrors
from accounts.mail.values import MailKind
from accounts.models import Account
from accounts.roles import RIGHTS_BY_ROLE, outranks
from accounts.sanctions.sanction import (
    COMPLETION_DELAY_MS,
    EXCERPT_MAX_LENGTH,
    KINDS,
    KINDS_OF_POSTS,
    MAX_SANCTIONED_POSTS,
    TEXT_MAX_LENGTH,
    Sanction,
    SanctionedPost,
    SanctionId,
    SanctionKind,
)
from accounts.sanctions.texts import STARTING_TEXTS, describe_kind
from socialsite.admin import errors
from socialsite.admin.audit_log import OPERATOR, Actor, AuditLog
from socialsite.characters import normalize, shorten
from socialsite.container import Services
from socialsite.errors import ApiError, NotFound
from socialsite.ids import AccountId, PostId
from socialsite.recipes.periodic_tasks import PeriodicTask
from timelines.errors import PostNotFound
from timelines.posts.post import FOLLOWERS

COMPLETION_INTERVAL_S: Final = 10.0
SANCTIONS_PER_ROUND: Final = 100


log = structlog.stdlib.get_logger("socialsite.security")


async def get_target(services: Services, actor: Actor, account_id: AccountId) -> Account:
    """Return the account. Raises AccountNotFound if it is deleted, CannotModerateSelf, CannotModerateStaff."""
    (accounts,) = await services.store.read(services.accounts.read_many([account_id, AccountId(actor.account_id)]))
    account: Account | None = accounts.get(account_id)
    member = accounts.get(AccountId(actor.account_id))
    if account is None or account.state == DELETED:
        raise AccountNotFound
    if account_id == actor.account_id:
        raise errors.CannotModerateSelf
    if actor != OPERATOR and (member is None or not outranks(member, account)):
        raise errors.CannotModerateStaff
    return account


async def find_starting_text(services: Services, account_id: AccountId, kind: SanctionKind) -> tuple[str, str]:
    """Return the text to start from, and its language: that of the person's mails, or else the active one."""
    language = (await services.mail.find(account_id)).language or get_language() or settings.LANGUAGE_CODE
    with override(language):
        return str(STARTING_TEXTS[kind]), language


def _clean_text(text: str, field: str) -> str:
    text = normalize("NFC", text.strip()[: 2 * TEXT_MAX_LENGTH])
    if not text or len(text) > TEXT_MAX_LENGTH:
        raise FieldErrors({field: _("This text is too long.") if text else _("Please write a text.")})
    return text


class SanctionService:
    """Applies sanctions, undoes them, and decides appeals, on behalf of a staff member."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sanctions = services.repositories.sanctions
        self._audit_log = AuditLog(services.store)

    async def apply(
        self,
        actor: Actor,
        account_id: AccountId,
        kind: SanctionKind,
        text: str,
        report_ids: Collection[int] = (),
        until_ms: int = 0,
        post_ids: Collection[PostId] = (),
        *,
        rules: Collection[str] = (),
        warning: str = "",
        id: SanctionId | None = None,
    ) -> Sanction:
        """Store a sanction and perform it. A repetition with the same `id`, kind and text only completes it.

        `until_ms` is the end of a silence, `warning` the content warning of the posts that are folded. Raises
        AccountNotFound, CannotModerateSelf, CannotModerateStaff, NotSuspended, AlreadySuspended if a suspension is in
        force, FieldErrors, SanctionsCapReached, and ReportClaimed or ReportClosed if another staff member works on one
        of the reports or has decided it.
        """
        account = await get_target(self._services, actor, account_id)
        now_ms = self._services.clock.now_ms()
        posts = await self._find_posts(account_id, kind, post_ids)
        if kind not in KINDS:
            raise FieldErrors({"kind": _("This is not one of the choices.")})
        text = _clean_text(text, "text")
        if kind == "silence" and until_ms <= now_ms:
            raise FieldErrors({"duration": _("Please choose how long.")})
        if kind == "delete" and account.state != SUSPENDED:
            raise errors.NotSuspended
        new_id = await self._choose_id(account_id, kind, text, id)
        sanction = Sanction(
            kind, new_id, account_id, AccountId(actor.account_id), text, now_ms, until_ms, tuple(report_ids), posts,
            tuple(rules), warning=warning,
        )  # fmt: skip
        await self._sanctions.find_room(sanction)  # refused before it is in the audit log
        await self._services.reports.claim_all(sanction.actor_id, account_id, sanction.report_ids)
        await self._record(actor, kind, sanction)
        await self._sanctions.due.add((account_id, sanction.id), now_ms + COMPLETION_DELAY_MS)
        await self._sanctions.add(sanction, is_news=sanction.is_told)
        return await self._complete(account_id, sanction.id)

    async def undo(self, actor: Actor, account_id: AccountId, id: SanctionId) -> Sanction:
        """Undo a sanction, and tell the person. A repetition completes it.

        Raises SanctionNotFound, CannotUndo, CannotModerateSelf, AccountNotFound.
        """
        await get_target(self._services, actor, account_id)
        sanction = await self._sanctions.find(account_id, id)
        if not sanction.is_undoable and not sanction.undo_ms:
            raise errors.CannotUndo
        await self._record(actor, "undo", sanction)
        return await self.take_back(actor, sanction)

    async def take_back(self, actor: Actor, sanction: Sanction) -> Sanction:
        """Undo a sanction. The caller has recorded the undo in the audit log."""
        account_id, now_ms = sanction.account_id, self._services.clock.now_ms()
        await self._sanctions.due.add((account_id, sanction.id), now_ms + COMPLETION_DELAY_MS)
        actor_id = AccountId(actor.account_id)
        await self._sanctions.change(account_id, sanction.id, lambda each: each.with_undo(actor_id, now_ms))
        return await self._complete(account_id, sanction.id)

    async def decide_appeal(
        self, actor: Actor, account_id: AccountId, id: SanctionId, *, accept: bool, answer: str
    ) -> Sanction:
        """Accept an appeal, which undoes its sanction if that is possible, or refuse it; and tell the person.

        Raises SanctionNotFound, AppealDecided, AppealOfOwnDecision, FieldErrors, AccountNotFound, CannotModerateSelf.
        """
        await get_target(self._services, actor, account_id)
        answer = _clean_text(answer, "answer")
        sanction = await self._sanctions.find(account_id, id)
        if not sanction.is_appeal_open:
            raise errors.AppealDecided
        if sanction.actor_id == actor.account_id and await self.has_other_deciders(actor):
            raise errors.AppealOfOwnDecision
        await self._record(actor, "appeal_accepted" if accept else "appeal_refused", sanction)
        now_ms, actor_id = self._services.clock.now_ms(), AccountId(actor.account_id)

        def decide(each: Sanction) -> Sanction:
            if each.appeal is None or each.appeal.decided_ms:
                raise errors.AppealDecided
            appeal = replace(each.appeal, decided_ms=now_ms, decider_id=actor_id, is_accepted=accept, answer=answer)
            decided = replace(each, appeal=appeal)
            return decided.with_undo(actor_id, now_ms) if accept and each.is_undoable else decided

        await self._sanctions.due.add((account_id, id), now_ms + COMPLETION_DELAY_MS)
        await self._sanctions.change(account_id, id, decide, is_news=True)
        return await self._complete(account_id, id)

    async def has_other_deciders(self, actor: Actor) -> bool:
        """Return whether another staff member could decide the appeal."""
        roles = await self._services.staff.list_roles()
        return any("sanctions" in RIGHTS_BY_ROLE[role] for id, role in roles.items() if id != actor.account_id)

    async def list_appeals(self, after_ms: int, limit: int) -> tuple[list[Sanction], int | None]:
        """Return open appeals, oldest first, and where the next page begins, or None after the last page."""
        references = [reference for reference, _at_ms in await self._sanctions.appeals.oldest(limit, after_ms)]
        loaded_sanctions = await self._sanctions.find_many(references)
        for reference, sanction in zip(references, loaded_sanctions, strict=True):
            if sanction is None or sanction.appeal is None:  # its account was deleted, or no appeal was stored
                await self._sanctions.appeals.remove(reference)
            elif not sanction.is_appeal_open:  # a worker tells the person and closes the entry
                await self._sanctions.due.add(reference, self._services.clock.now_ms())
        appeals = [each for each in loaded_sanctions if each is not None and each.is_appeal_open]
        next_ms = max((each.appeal.at_ms for each in appeals if each.appeal), default=None)
        return appeals, next_ms if len(references) == limit else None

    # Completion

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("sanctions", COMPLETION_INTERVAL_S, self.complete_due),)

    async def complete_due(self) -> None:
        """Complete the sanctions whose request ended before they were complete."""
        now_ms = self._services.clock.now_ms()
        for (account_id, id), _at_ms in await self._sanctions.due.oldest(SANCTIONS_PER_ROUND, until_ms=now_ms):
            try:
                await self._complete(account_id, id)
            except NotFound:  # it was not stored, or the account is deleted
                await self._sanctions.due.remove((account_id, id))
            except ApiError as error:  # the next round tries it again
                log.warning("sanction_not_complete", account=account_id, sanction=id, reason=error.code)

    async def _complete(self, account_id: AccountId, id: SanctionId) -> Sanction:
        """Perform the pending steps of a sanction, its appeal and its undo, and return the sanction."""
        sanction = await self._sanctions.find(account_id, id)
        while not sanction.is_complete:
            sanction = await (self._perform_undo(sanction) if sanction.undo_ms else self._perform(sanction))
        appeal, is_listed = sanction.appeal, await self._sanctions.appeals.contains((account_id, id))
        if appeal is not None and sanction.is_appeal_open and not is_listed:
            await self._sanctions.appeals.add((account_id, id), appeal.at_ms)
        if is_listed and not sanction.is_appeal_open:
            if appeal is not None:
                await self._tell(sanction, "appeal_decided", appeal.answer, appeal.decided_ms)
            await self._sanctions.appeals.remove((account_id, id))
        await self._sanctions.due.remove((account_id, id))
        return sanction

    async def _perform(self, sanction: Sanction) -> Sanction:
        """Perform a sanction, tell the person, and store that it is complete."""
        services, account_id, now_ms = self._services, sanction.account_id, self._services.clock.now_ms()
        if sanction.kind != "note":
            await services.reports.finish(sanction.actor_id, [PostId(id) for id in sanction.report_ids])
        if sanction.kind == "delete":  # the mail is sent first, because the account does not exist afterwards
            await self._tell(sanction, "sanction", sanction.text, sanction.created_ms)
            await services.accounts.delete(account_id=account_id)
            return replace(sanction, done_ms=now_ms)
        if sanction.kind == "delete_posts":
            for post in sanction.posts:
                with contextlib.suppress(PostNotFound):  # the author deleted it
                    await services.publishing.delete(account_id=account_id, post_id=post.id)
        await self.settle(sanction.account_id, sanction.kind, sanction.posts)
        if sanction.is_told:
            await self._tell(sanction, "sanction", sanction.text, sanction.created_ms)
        return await self._sanctions.change(
            account_id, sanction.id, lambda each: each if each.done_ms else replace(each, done_ms=now_ms)
        )

    async def _perform_undo(self, sanction: Sanction) -> Sanction:
        """Undo the effect, unless another sanction of the account has the same effect."""
        account_id, now_ms = sanction.account_id, self._services.clock.now_ms()
        await self.settle(sanction.account_id, sanction.kind, sanction.posts)
        if sanction.appeal is None or not sanction.appeal.decided_ms:  # the answer to an appeal contains the undo
            await self._tell(sanction, "sanction_undone", "", sanction.undo_ms)
        return await self._sanctions.change(
            account_id,
            sanction.id,
            lambda each: each if each.undone_ms else replace(each, undone_ms=now_ms, done_ms=each.done_ms or now_ms),
            is_news=True,
        )

    async def settle(self, account_id: AccountId, kind: SanctionKind, posts: Collection[SanctionedPost] = ()) -> None:
        """Give the account the state of its sanctions in force of the kind. Concurrent changes are included."""
        settled = None
        while (in_force := await self._list_in_force(account_id, kind)) != settled:
            await self._set_effect(account_id, kind, posts, in_force)
            settled = in_force

    async def _list_in_force(self, account_id: AccountId, kind: SanctionKind) -> list[Sanction]:
        now_ms, rows = self._services.clock.now_ms(), await self._sanctions.list_all(account_id)
        return [
            replace(each, done_ms=0, appeal=None) for each in rows if each.kind == kind and each.is_in_force(now_ms)
        ]

    async def _set_effect(
        self,
        account_id: AccountId,
        kind: SanctionKind,
        posts: Collection[SanctionedPost],
        in_force: Collection[Sanction],
    ) -> None:
        services = self._services
        match kind:
            case "fold_posts":
                await self._set_folds(posts, in_force)
            case "mark_pictures" | "limit":
                await services.accounts.restrict(account_id, kind, int(bool(in_force)))
            case "silence":
                until_ms = max((each.until_ms for each in in_force), default=0)
                await services.accounts.restrict(account_id, kind, until_ms)
            case "suspend" if in_force:
                await services.accounts.suspend(account_id=account_id)
            case "suspend" if not (await services.accounts.get(account_id)).is_leaving:  # the owner's request remains
                await services.joining.reinstate(account_id=account_id)

    async def _set_folds(self, posts: Collection[SanctionedPost], in_force: Collection[Sanction]) -> None:
        for post in posts:
            folds = (each.warning for each in in_force for own in each.posts if own.id == post.id)
            warning = next(folds, None)
            is_folded, now_ms = warning is not None, self._services.clock.now_ms()
            with contextlib.suppress(PostNotFound):  # the author deleted it
                await self._services.edits.set_fold(
                    post.id, is_folded=is_folded, warning=post.warning if warning is None else warning, now_ms=now_ms
                )

    async def _tell(self, sanction: Sanction, kind: MailKind, text: str, at_ms: int) -> None:
        """Send a mail, if the account has an address. A repetition sends no second mail.

        The mail of a deletion belongs to no account, because the account may be deleted when the mail is sent.
        """
        services, account_id = self._services, sanction.account_id
        row, account = await services.mail.find(account_id), await services.accounts.get(account_id)
        if not row.address:
            return
        with override(row.language or settings.LANGUAGE_CODE):
            lines = [
                *text.splitlines(),
                *([describe_kind(sanction.kind, sanction.until_ms)] if kind == "sanction" else []),
            ]
        receiver = NO_ACCOUNT_ID if sanction.kind == "delete" else account_id
        context = {"lines": "\n".join(filter(str.strip, lines)), "handle": account.handle}
        mail_id = f"{at_ms:014d}-{sanction.id:x}"
        await services.mail.add_mail(receiver, kind, row, context, mail_id)

    # Checks

    async def _choose_id(
        self, account_id: AccountId, kind: SanctionKind, text: str, id: SanctionId | None
    ) -> SanctionId:
        """Return `id`, or a new id if another decision has `id`: a form was sent, changed and sent again."""
        (stored,) = await self._sanctions.find_many([(account_id, id)]) if id else [None]
        is_same = stored is None or (stored.kind, stored.text) == (kind, text)
        return id if id and is_same else SanctionId(self._services.ids.next_id())

    async def _record(self, actor: Actor, action: str, sanction: Sanction) -> None:
        await self._audit_log.record(actor, action, f"account:{sanction.account_id}", detail=f"sanction:{sanction.id}")

    async def _find_posts(
        self, account_id: AccountId, kind: SanctionKind, post_ids: Collection[PostId]
    ) -> tuple[SanctionedPost, ...]:
        """Return the posts of the account. Raises FieldErrors if the kind needs posts, or if there are too many."""
        posts = await self._services.repositories.posts.find_shown(list(post_ids)[: MAX_SANCTIONED_POSTS + 1])
        own = [post for post in posts.values() if post.author_id == account_id and post.boost_of is None]
        if kind in KINDS_OF_POSTS and not own:
            raise FieldErrors({"posts": _("Please choose at least one post.")})
        if len(post_ids) > MAX_SANCTIONED_POSTS:
            message = ngettext(
                "Please choose at most %(number)d post.",
                "Please choose at most %(number)d posts.",
                MAX_SANCTIONED_POSTS,
            )
            raise FieldErrors({"posts": message % {"number": MAX_SANCTIONED_POSTS}})
        folds = await self._list_in_force(account_id, kind) if kind == "fold_posts" else []
        own_warnings = {post.id: post.warning for each in folds for post in each.posts}
        return tuple(
            SanctionedPost(
                each.id,
                shorten(each.text, EXCERPT_MAX_LENGTH),
                own_warnings.get(each.id, each.extra.spoiler_text),
                each.audience == FOLLOWERS,
            )
            for each in own
        )  # a second warning of staff keeps the author's own warning
