"""Accounts and sessions as clients get them in JSON (docs/interface.md). Ids are strings, times ISO 8601."""

from collections.abc import Iterable

from accounts.domain import OpenSession
from accounts.models import Account
from socialsite.web.requests import time_text


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
        "created_at": time_text(account.created_ms),
    }


def sessions_json(sessions: Iterable[OpenSession]) -> dict[str, object]:
    return {
        "sessions": [
            {
                "id": session.id,
                "device": session.device,
                "created_at": time_text(session.created_ms),
                "last_used_at": time_text(session.last_used_ms),
                "current": session.current,
            }
            for session in sessions
        ]
    }
