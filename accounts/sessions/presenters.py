"""Sessions in JSON (docs/reference/interface.md)."""

from collections.abc import Iterable

from accounts.sessions.values import AccessToken, ActiveSession
from socialsite.web.responses import format_iso_time


def sessions_json(sessions: Iterable[ActiveSession], tokens: Iterable[AccessToken] = ()) -> dict[str, object]:
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
        ],
        "apps": [
            {
                "id": token.id,
                "name": token.app_name,
                "website": token.grant.website or None,
                "scopes": token.scopes,
                "created_at": format_iso_time(token.created_ms),
                "last_used_at": format_iso_time(token.last_used_ms),
            }
            for token in tokens
        ],
    }
