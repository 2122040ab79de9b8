"""Sanctions on the pages of the person and of staff, and in JSON. Only staff learns who decided."""

from collections.abc import Iterable

from accounts.sanctions.sanction import APPEAL_MAX_LENGTH, APPEAL_MIN_LENGTH, Sanction
from accounts.sanctions.texts import KIND_LABELS, describe_kind
from socialsite.web.responses import format_iso_time, select_fields

WrongAppeal = tuple[int, str, str]
"""The id of a sanction, the text that was refused, and the error."""
NO_APPEAL: WrongAppeal = (0, "", "")


def sanction_rows(
    sanctions: Iterable[Sanction], now_ms: int, wrong: WrongAppeal = NO_APPEAL
) -> list[dict[str, object]]:
    """Return the rows of templates/accounts/_sanction.html."""
    return [
        {
            "sanction": each,
            "label": KIND_LABELS[each.kind],
            "effect": describe_kind(each.kind, each.until_ms),
            "is_in_force": each.is_in_force(now_ms),
            "is_appealable": each.is_appealable(now_ms),
            "appeal_lengths": (APPEAL_MIN_LENGTH, APPEAL_MAX_LENGTH),
            "text": wrong[1] if each.id == wrong[0] else "",
            "error": wrong[2] if each.id == wrong[0] else "",
        }
        for each in sanctions
    ]


def sanction_json(sanction: Sanction, now_ms: int, *, is_for_staff: bool = False) -> dict[str, object]:
    appeal = sanction.appeal
    return select_fields(
        sanction,
        "id kind text rules created_at",
        posts=[
            {"id": str(post.id), "excerpt": "" if is_for_staff and post.is_for_followers else post.excerpt}
            for post in sanction.posts
        ],
        until=format_iso_time(sanction.until_ms) if sanction.until_ms else None,
        undone_at=format_iso_time(sanction.undo_ms) if sanction.undo_ms else None,
        in_force=sanction.is_in_force(now_ms),
        appealable=sanction.is_appealable(now_ms),
        appeal=appeal
        and select_fields(
            appeal, "text at", accepted=appeal.is_accepted if appeal.decided_ms else None, answer=appeal.answer or None
        ),
    )
