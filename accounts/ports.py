"""What the rest of the site may want to know of accounts; accounts itself never imports the rest.

A port must be safe to repeat. `SessionsEnded` is a hint (the live layer checks open sessions anyway), so
trouble with the store in it does not undo what was done.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from socialsite.ids import AccountId
from socialsite.store.commands import Command, Reply
from socialsite.store.errors import StoreError
from socialsite.web.requests import Badge

OnAccountCreated = Callable[[], None]
"""Somebody signed up, or an operator made an account: to count it."""
OnNamesChanged = Callable[[Sequence[AccountId]], Awaitable[None]]
"""What these accounts are called changed, or whether they are shown at all: search may keep up."""
OnSessionsEnded = Callable[[AccountId, str | None], Awaitable[None]]
"""(account, session id), or None for every session of the account."""
OnAccountDeleted = Callable[[AccountId], Awaitable[None]]
"""The account's state is "deleted" by now: sweep what it leaves."""


@dataclass(frozen=True, slots=True)
class BadgePort:
    """Reads the viewer's unread notifications in the round trip that reads the session."""

    read_command: Callable[[AccountId], Command]
    parse_reply: Callable[[AccountId, Reply], Awaitable[Badge]]
    """May read once more. Raises StoreUnavailable."""


log = structlog.get_logger("accounts.security")


def ignore_account_created() -> None:
    """Nobody counts."""


async def ignore_names_changed(account_ids: Sequence[AccountId]) -> None:
    """Nobody keeps names."""


async def ignore_sessions_ended(account_id: AccountId, session_id: str | None) -> None:
    """Nobody listens."""


async def ignore_account_deleted(account_id: AccountId) -> None:
    """Nobody listens."""


async def notify_sessions_ended(port: OnSessionsEnded, account_id: AccountId, session_id: str | None) -> None:
    """Call the port; store trouble is logged, the sessions are over anyway."""
    log.info("session_ended" if session_id else "sessions_ended", account=account_id)
    try:
        await port(account_id, session_id)
    except StoreError as error:
        log.warning("session_end_not_told", account=account_id, reason=type(error).__name__)
