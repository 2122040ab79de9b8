"""Callbacks from accounts to the rest of the site, which accounts never imports.

Each callback may be called again with the same arguments. OnSessionsEnded is only a hint, since the live layer checks
its sessions anyway. An error of the store in this callback does not undo the end of the sessions.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import structlog

from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.service import Service
from socialsite.store.commands import Command, Reply
from socialsite.store.errors import StoreError
from socialsite.web.requests import Badge

CheckTexts = Callable[[Mapping[str, str]], None]
"""Called with texts of a profile by field, before they are stored. It raises FieldErrors for a blocked text."""
OnNamesChanged = Callable[[Sequence[AccountId]], Awaitable[None]]
"""Called after a change of names or states, to update the search index."""
OnProfileEdited = Callable[[Account], Awaitable[None]]
"""Called with the account after a change of its profile, to check its links."""
OnPasswordChanged = Callable[[AccountId], Awaitable[None]]
"""Called after a change of the password, to send a mail and to end the link of an address."""
FindByAddress = Callable[[str], Awaitable[Account | None]]
"""Returns the account that has a confirmed mail address, for a log-in with the address."""
OnSessionsEnded = Callable[[AccountId, str | None], Awaitable[None]]
"""Called with the account id and the id of the ended session; None means all sessions of the account."""
OnSessionReplaced = Callable[[AccountId, str, str], Awaitable[None]]
"""Called with the account id and the ids of a session and of the new one in its place, before the former ends."""


class EndSessions(Protocol):
    """The signature of SessionService.end_all, which ends all sessions of an account except one."""

    async def __call__(self, account_id: AccountId, except_id: str | None = None) -> None: ...


OnAccountDeleted = Callable[[AccountId], Awaitable[None]]
"""Called before the state becomes "deleted", to store a job, and afterwards, to delete data."""


class BadgePort(Service):
    """Reads the viewer's unread notifications in the round trip that reads the session."""

    read_command: Callable[[AccountId], Command]
    parse_reply: Callable[[AccountId, Reply], Awaitable[Badge]]
    """Returns the badge for (account id, reply). It may execute one more read. Raises StoreUnavailable."""


log = structlog.get_logger("accounts.security")


async def notify_sessions_ended(
    ports: Sequence[OnSessionsEnded], account_id: AccountId, session_id: str | None
) -> None:
    """Call the ports. An error of the store is only logged, since the sessions have ended anyway."""
    log.info("session_ended" if session_id else "sessions_ended", account=account_id)
    try:
        for port in ports:
            await port(account_id, session_id)
    except StoreError as error:
        log.warning("session_end_not_told", account=account_id, reason=type(error).__name__)
