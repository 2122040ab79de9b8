"""Sessions in JSON (docs/reference/interface.md)."""

from collections.abc import Iterable

from accounts.sessions.values import AccessToken, ActiveSession
from socialsite.web.responses import select_fields


def sessions_json(sessions: Iterable[ActiveSession], tokens: Iterable[AccessToken] = ()) -> dict[str, object]:
    return {
        "sessions": [select_fields(session, "id device created_at last_used_at current") for session in sessions],
        "apps": [
            select_fields(
                token, "id scopes created_at last_used_at", name=token.app_name, website=token.grant.website or None
            )
            for token in tokens
        ],
    }
