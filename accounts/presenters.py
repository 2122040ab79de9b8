"""Accounts and sessions as clients get them in JSON (docs/reference/interface.md). Ids are strings, times ISO 8601."""

from collections.abc import Iterable

from accounts.domain import ActiveSession
from accounts.models import Account
from socialsite.web.requests import format_iso_time


def account_json(account: Account) -> dict[str, object]:
    """What an account tells of itself; a profile adds its counts."""
    return {
        "id": str(account.id),
        "handle": account.handle,
        "display_name": account.display_name,
        "url": account.get_absolute_url(),
        "bio": account.bio,
        "link": account.link,
        "private": account.is_private,
        "created_at": format_iso_time(account.created_ms),
    }


def sessions_json(sessions: Iterable[ActiveSession]) -> dict[str, object]:
    return {
        "sessions": [
            {
                "id": session.id,
                "device": session.device,
                "created_at": format_iso_time(session.created_ms),
                "last_used_at": format_iso_time(session.last_used_ms),
                "current": session.current,
            }
            for session in sessions
        ]
    }
