"""Invitations for pages and in JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from accounts.joining.values import Invitation, InvitationCode
from socialsite.ids import AccountId
from socialsite.web.responses import select_fields


def invitations_page(
    rows: Mapping[str, Invitation], inviter_id: AccountId, site_url: str, now_ms: int
) -> list[dict[str, Any]]:
    """Return the rows of a page: each invitation with its link, and whether the link can be used."""
    return [
        {
            "secret": secret,
            "url": f"{site_url}invite/{InvitationCode(inviter_id, secret)}/",
            "is_open": row.is_open(now_ms),
            "invitation": row,
        }
        for secret, row in rows.items()
    ]


def invitations_json(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        select_fields(
            row["invitation"],
            "uses handles note created_at expires_at",
            id=row["secret"],
            url=row["url"] if row["is_open"] else None,
        )
        for row in rows
    ]
