"""Accounts, dead letters and the audit log."""

from collections.abc import Mapping
from dataclasses import asdict

from accounts.domain import Author
from accounts.mail.presenters import mails_json, mails_page
from accounts.presenters import account_json
from accounts.sanctions.presenters import sanction_json, sanction_rows
from accounts.sanctions.sanction import KINDS
from accounts.sanctions.texts import KIND_LABELS
from accounts.sessions.presenters import sessions_json
from socialsite.admin.audit_log import AuditLogEntry
from socialsite.admin.dead_letters import DeadLetterDetails
from socialsite.admin.moderation import AccountOverview
from socialsite.admin.presenters.labels import (
    ACTION_LABELS,
    LETTER_KIND_LABELS,
    STATE_LABELS,
    JsonObject,
    TemplateContext,
)
from socialsite.ids import AccountId
from socialsite.web.responses import format_iso_time


def author_row(author: Author) -> TemplateContext:
    return {"author": author, "state": STATE_LABELS[author.state]}


def author_json(author: Author) -> JsonObject:
    return {"id": str(author.id), "handle": author.handle, "state": author.state}


def overview_page(
    case: AccountOverview, own_id: int, authors: Mapping[AccountId, Author], now_ms: int, decisions: int | None = None
) -> TemplateContext:
    """Return the context of ops/account.html, with so many of the newest decisions and notes."""
    account, shown = case.account, case.sanctions[:decisions]
    return {
        "account": account,
        "state": STATE_LABELS[account.state],
        "counts": case.counts,
        "posts": case.posts,
        "visits": case.view_counts,
        "sessions": case.sessions,
        "address": case.mail_account.address,
        "pending_address": case.mail_account.pending,
        "mails": mails_page(case.mails),
        "usage": [{"rule": u.rule, "limit": u.limit, "used": -(-u.used_milli // 1000)} for u in case.rate_limit_usage],
        "is_own": account.id == own_id,
        "sanctions": [
            {**row, "actor": authors.get(each.actor_id)}
            for each, row in zip(shown, sanction_rows(shown, now_ms), strict=True)
        ],
        "hidden_decisions": len(case.sanctions) - len(shown),
        "newest_posts": case.newest_posts,
        "logins": case.logins,
        "is_silenced": account.silenced_until_ms > now_ms,
        "kinds": [
            (kind, KIND_LABELS[kind])
            for kind in KINDS
            if (kind != "note" and (kind == "delete") == (account.state == "suspended")) or kind == "warning"
        ],
        "page_title": f"@{account.handle}",
    }


def overview_json(case: AccountOverview, now_ms: int) -> JsonObject:
    account, visits = case.account, case.view_counts
    return {
        "account": {
            **account_json(account),
            "state": account.state,
            "staff": account.is_staff,
            "limited": account.limited,
            "pictures_marked": account.marks_pictures,
            "silenced_until": format_iso_time(account.silenced_until_ms) if account.silenced_until_ms else None,
        },
        "decisions": [
            {"by": str(each.actor_id), **sanction_json(each, now_ms, is_for_staff=True)} for each in case.sanctions
        ],
        "counts": {**asdict(case.counts), "posts": case.posts},
        "last_seen": format_iso_time(visits.seen_ms) if visits.seen_ms else None,
        "mail": {
            "address": case.mail_account.address or None,
            "pending": case.mail_account.pending or None,
            "mails": mails_json(case.mails),
        },
        **sessions_json(case.sessions),
    }


def letter_page(letter: DeadLetterDetails, authors: Mapping[AccountId, Author]) -> TemplateContext:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.letter.id,
        "at_ms": letter.letter.at_ms,
        "reason": letter.letter.reason,
        "tries": letter.letter.tries,
        "kind": LETTER_KIND_LABELS[letter.kind],
        "author": author,
        "post_id": letter.post_id,
        "cursor": ", ".join(f"{name} {value}" for name, value in letter.cursor.items()),
    }


def letter_json(letter: DeadLetterDetails, authors: Mapping[AccountId, Author]) -> JsonObject:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.letter.id,
        "job": letter.letter.job_id,
        "at": format_iso_time(letter.letter.at_ms),
        "reason": letter.letter.reason,
        "tries": letter.letter.tries,
        "kind": letter.kind,
        "account": author.handle if author else None,
        "post": str(letter.post_id) if letter.post_id else None,
        "cursor": letter.cursor,
    }


def audit_log_page(entry: AuditLogEntry, authors: Mapping[AccountId, Author]) -> TemplateContext:
    what, _colon, id = entry.target.partition(":")
    account = authors.get(AccountId(int(id))) if what == "account" else None
    return {
        "at_ms": entry.at_ms,
        "by": authors.get(AccountId(entry.actor_id)),
        "action": ACTION_LABELS.get(entry.action, entry.action),
        "account": account,
        "target": id,
        "detail": entry.detail,
        "request_id": entry.request_id,
    }


def audit_log_json(entry: AuditLogEntry, authors: Mapping[AccountId, Author]) -> JsonObject:
    by = authors.get(AccountId(entry.actor_id))
    return {
        "id": entry.id,
        "at": format_iso_time(entry.at_ms),
        "by": by.handle if by else None,
        "action": entry.action,
        "target": entry.target,
        "detail": entry.detail,
        "request": entry.request_id,
    }
