"""Invitations for pages and in JSON."""

from collections.abc import Mapping
from typing import Any

from accounts.joining.values import Invitation, InvitationCode
from socialsite.ids import AccountId
from socialsite.web.responses import format_iso_time


def invitations_page(
    rows: Mapping[str, Invitation], inviter_id: AccountId, site_url: str, now_ms: int
) -> list[dict[str, Any]]:
    """Return the rows of a page: the link, the facts, and whether the link can be used."""
    return [
        {
            "secret": secret,
            "url": f"{site_url}invite/{InvitationCode(inviter_id, secret)}/",
            "is_open": row.is_open(now_ms),
            "is_used_up": len(row.handles) >= row.uses,
            "used": len(row.handles),
            "uses": row.uses,
            "note": row.note,
            "handles": row.handles,
            "created_ms": row.created_ms,
            "expires_ms": row.expires_ms,
        }
        for secret, row in rows.items()
    ]


def invitations_json(
    rows: Mapping[str, Invitation], inviter_id: AccountId, site_url: str, now_ms: int
) -> list[dict[str, Any]]:
    return [
        {
            "id": row["secret"],
            "url": row["url"] if row["is_open"] else None,
            "uses": row["uses"],
            "handles": list(row["handles"]),
            "note": row["note"],
            "created_at": format_iso_time(row["created_ms"]),
            "expires_at": format_iso_time(row["expires_ms"]),
        }
        for row in invitations_page(rows, inviter_id, site_url, now_ms)
    ]
