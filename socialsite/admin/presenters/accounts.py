"""Accounts, dead letters and the audit log."""

from collections.abc import Mapping
from dataclasses import asdict

from accounts.domain import SUSPENDED, Author
from accounts.mail.presenters import mails_json, mails_page
from accounts.presenters import account_json
from accounts.sanctions.presenters import sanction_json
from accounts.sanctions.sanction import KINDS
from accounts.sanctions.texts import KIND_LABELS
from accounts.sessions.presenters import sessions_json
from socialsite.admin.audit_log import AuditLogEntry
from socialsite.admin.dead_letters import DeadLetterDetails
from socialsite.admin.labels import JsonObject, TemplateContext
from socialsite.admin.moderation import AccountOverview
from socialsite.ids import AccountId
from socialsite.web.responses import format_iso_time, select_fields


def author_json(author: Author) -> JsonObject:
    return {"id": str(author.id), "handle": author.handle, "state": author.state}


def overview_page(
    case: AccountOverview, own_id: int, authors: Mapping[AccountId, Author], now_ms: int, decisions: int | None = None
) -> TemplateContext:
    """Return the context of admin/account.html. `decisions` is the number of decisions and notes, None for all."""
    account, shown = case.account, case.sanctions[:decisions]
    is_suspended = account.state == SUSPENDED and not account.is_leaving  # a leaving owner may come back
    return {
        "case": case,
        "account": account,
        "authors": authors,
        "mails": mails_page(case.mails),
        "usage": [{"rule": u.rule, "limit": u.limit, "used": -(-u.used_milli // 1000)} for u in case.rate_limit_usage],
        "is_own": account.id == own_id,
        "sanctions": shown,
        "hidden_decisions": len(case.sanctions) - len(shown),
        "is_suspended": is_suspended,
        "is_silenced": account.silenced_until_ms > now_ms,
        "kinds": [
            (kind, KIND_LABELS[kind])
            for kind in KINDS
            if (kind != "note" and (kind == "delete") == is_suspended) or kind == "warning"
        ],
        "page_title": f"@{account.handle}",
    }


def overview_json(case: AccountOverview, now_ms: int) -> JsonObject:
    account, visits = case.account, case.view_counts
    return {
        "account": account_json(account)
        | select_fields(
            account,
            "state limited",
            staff=account.is_staff,
            pictures_marked=account.marks_pictures,
            silenced_until=format_iso_time(account.silenced_until_ms) if account.silenced_until_ms else None,
        ),
        "decisions": [
            {"by": str(each.actor_id), **sanction_json(each, now_ms, is_for_staff=True)} for each in case.sanctions
        ],
        "counts": {**asdict(case.counts), "posts": case.posts},
        "last_seen": format_iso_time(visits.seen_ms) if visits and visits.seen_ms else None,
        "mail": {
            "address": case.mail_account.address or None,
            "pending": case.mail_account.pending or None,
            "mails": mails_json(case.mails),
        },
        "application": case.application.reason or None,
        "sharing_networks": [str(each) for each in case.sharing_ids],
        **sessions_json(case.sessions),
    }


def letter_json(letter: DeadLetterDetails, authors: Mapping[AccountId, Author]) -> JsonObject:
    author = authors.get(letter.account_id) if letter.account_id else None
    return select_fields(letter.letter, "id at reason tries", job=letter.letter.job_id) | select_fields(
        letter,
        "kind cursor",
        account=author.handle if author else None,
        post=str(letter.post_id) if letter.post_id else None,
    )


def audit_log_json(entry: AuditLogEntry, authors: Mapping[AccountId, Author]) -> JsonObject:
    by = authors.get(entry.actor_id)
    return select_fields(entry, "id at action target detail", by=by.handle if by else None, request=entry.request_id)
