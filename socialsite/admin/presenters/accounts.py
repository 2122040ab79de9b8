"""Accounts, dead letters and the audit trail."""

from collections.abc import Mapping
from dataclasses import asdict

from accounts.domain import AccountId, Author
from accounts.presenters import account_json, sessions_json
from socialsite.admin.audit_log import TrailEntry
from socialsite.admin.dead_letters import Letter
from socialsite.admin.moderation import Case
from socialsite.admin.presenters.labels import ACTIONS, LETTERS, STATES, Json, Page
from socialsite.web.requests import time_text


def author_row(author: Author) -> Page:
    return {"author": author, "state": STATES[author.state]}


def author_line_json(author: Author) -> Json:
    return {"id": str(author.id), "handle": author.handle, "state": author.state}


def case_page(case: Case, own_id: int) -> Page:
    """What ops/account.html takes."""
    account = case.account
    return {
        "account": account,
        "state": STATES[account.state],
        "counts": case.counts,
        "posts": case.posts,
        "visits": case.visits,
        "sessions": case.sessions,
        "usage": [{"rule": u.rule, "limit": u.limit, "used": -(-u.used_milli // 1000)} for u in case.usage],
        "is_own": account.id == own_id,
        "page_title": f"@{account.handle}",
    }


def case_json(case: Case) -> Json:
    account, visits = case.account, case.visits
    return {
        "account": {**account_json(account), "state": account.state, "staff": account.is_staff},
        "counts": {**asdict(case.counts), "posts": case.posts},
        "last_seen": time_text(visits.seen_ms) if visits.seen_ms else None,
        **sessions_json(case.sessions),
    }


def letter_page(letter: Letter, authors: Mapping[AccountId, Author]) -> Page:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.dead.id,
        "at_ms": letter.dead.at_ms,
        "reason": letter.dead.reason,
        "tries": letter.dead.tries,
        "kind": LETTERS[letter.kind],
        "author": author,
        "post_id": letter.post_id,
        "cursor": ", ".join(f"{name} {value}" for name, value in letter.cursor.items()),
    }


def letter_json(letter: Letter, authors: Mapping[AccountId, Author]) -> Json:
    author = authors.get(letter.account_id) if letter.account_id else None
    return {
        "id": letter.dead.id,
        "job": letter.dead.job_id,
        "at": time_text(letter.dead.at_ms),
        "reason": letter.dead.reason,
        "tries": letter.dead.tries,
        "kind": letter.kind,
        "account": author.handle if author else None,
        "post": str(letter.post_id) if letter.post_id else None,
        "cursor": letter.cursor,
    }


def trail_page(entry: TrailEntry, authors: Mapping[AccountId, Author]) -> Page:
    what, _colon, id = entry.target.partition(":")
    account = authors.get(AccountId(int(id))) if what == "account" else None
    return {
        "at_ms": entry.at_ms,
        "by": authors.get(AccountId(entry.by)),
        "action": ACTIONS.get(entry.action, entry.action),
        "account": account,
        "target": id,
        "request_id": entry.request_id,
    }


def trail_json(entry: TrailEntry, authors: Mapping[AccountId, Author]) -> Json:
    by = authors.get(AccountId(entry.by))
    return {
        "id": entry.id,
        "at": time_text(entry.at_ms),
        "by": by.handle if by else None,
        "action": entry.action,
        "target": entry.target,
        "request": entry.request_id,
    }
