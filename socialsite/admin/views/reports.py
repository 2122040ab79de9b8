"""The queue of reports, and one report with its posts, its claim and the account's other reports."""

from collections.abc import Mapping

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.admin.labels import JsonObject, TemplateContext
from socialsite.admin.moderation import find_shown_posts
from socialsite.admin.requests import build_next_url, get_services, record_action
from socialsite.concurrency import run_together
from socialsite.errors import Invalid, MalformedRequest
from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id
from socialsite.web.responses import done, format_iso_time, respond, select_fields
from timelines.pages.presenters import author_json, post_url
from timelines.pages.queries import decode_id, parse_cursor
from timelines.posts.post import Post
from timelines.reports.report import CATEGORIES, NOBODY, Claim, QueueEntry, Report
from timelines.reports.service import REASON_MAX_LENGTH, ReportService
from timelines.reports.views import CATEGORY_LABELS

FILTERS = ("open", "mine", "closed")
RELATED_REPORTS = 10
CLOSED_AT_ONCE = 200
Authors = Mapping[AccountId, Author]


async def index(request: SiteRequest) -> HttpResponse:
    """Show the accounts with open reports, those that the viewer has claimed, or closed reports."""
    shown, category = request.GET.get("show", "open"), request.GET.get("category", "")
    chosen = next((each for each in CATEGORIES if each == category), None)
    if shown not in FILTERS or (category and not chosen):
        raise MalformedRequest(fields={"show": _("This is not one of the choices.")})
    me, reports = require_viewer_id(request), request.services[ReportService]
    cursor = parse_cursor(request.GET, decode_id) or 0
    entries, closed = list[QueueEntry](), list[Report]()
    if shown == "closed":
        closed, next_cursor = await reports.closed(me, cursor, chosen)
    else:
        entries, next_cursor = await reports.queue(me, cursor, chosen, only_own=shown == "mine")
    ids = {each.account_id for each in entries} | {each.claim.staff_id for each in entries if each.claim}
    authors = await request.services[AccountService].find_authors(ids | find_account_ids(closed))
    query = {"show": shown, **({"category": category} if category else {})}
    next_url = build_next_url(request, next_cursor, **query)
    return respond(
        request,
        "admin/reports.html",
        page=lambda: {
            "entries": [_entry_row(each, authors) for each in entries],
            "closed": closed,
            "authors": authors,
            "show": shown,
            "category": category,
            "categories": [(name, label) for name, (label, _help) in CATEGORY_LABELS.items()],
            "next_url": next_url,
            "page_title": _("Reports"),
        },
        data=lambda: {
            "accounts": [_entry_json(each, authors) for each in entries],
            "reports": [_report_json(each, authors) for each in closed],
            "next": next_url,
        },
    )


async def show(request: SiteRequest, report_id: int) -> HttpResponse:
    """Show a report, its posts then and now, and the other reports about and by the account."""
    me, reports = require_viewer_id(request), request.services[ReportService]
    report = await reports.find(PostId(report_id), me)
    then, now, claim, related, newest = await run_together(
        reports.reports.find_posts(report.id),
        get_services(request).repositories.posts.find_shown(report.post_ids),
        reports.find_claim(report),
        reports.of_account(me, report.target_id, RELATED_REPORTS),
        find_shown_posts(get_services(request), report.target_id),
    )
    others = [each for each in related.about if each.id != report.id]
    ids = find_account_ids([report, *others, *related.by]) | ({claim.staff_id} if claim else set())
    accounts = request.services[AccountService]
    authors, target = await run_together(accounts.find_authors(ids), accounts.find(report.target_id))
    return respond(
        request,
        "admin/report.html",
        page=lambda: {
            "report": report,
            "authors": authors,
            "account": target,
            "posts": [_post_context(post, now.get(post.id), authors) for post in then],
            "newest_posts": newest,
            "claim": claim,
            "claimed_by": claim and authors.get(claim.staff_id),
            "is_claimed_by_other": claim is not None and claim.staff_id != me,
            "about": others,
            "related": related,
            "reason_max_length": REASON_MAX_LENGTH,
            "page_title": _("Report"),
        },
        data=lambda: {
            **_report_json(report, authors),
            **select_fields(report, "comment rules"),
            "posts": [{"id": str(post.id), "text": post.text, "exists": post.id in now} for post in then],
            "claim": claim and _claim_json(claim, authors),
            "reports_about": related.about_count,
            "reports_by": related.by_count,
        },
    )


async def claim(request: SiteRequest, report_id: int) -> HttpResponseBase:
    """Claim the reports about the account. With the field `reason` the claim of another staff member is taken over."""
    fields, me = get_form_data(request), require_viewer_id(request)
    reason = fields.get("reason", "").strip()
    if "reason" in fields and not reason:
        raise Invalid({"reason": _("Please say why you take this over.")})
    action = "report_takeover" if reason else "report_claim"
    await record_action(request, action, f"report:{report_id}")
    await request.services[ReportService].claim(me, PostId(report_id), reason)
    return done(request, {}, default=f"/ops/reports/{report_id}/", message=_("You work on this report for an hour."))


async def close(request: SiteRequest, report_id: int) -> HttpResponseBase:
    """Close a report without an action. With the field `all`, close all open reports about the account."""
    me, reports = require_viewer_id(request), request.services[ReportService]
    report = await reports.find(PostId(report_id), me)
    await record_action(request, "report_close", f"report:{report_id}")
    is_all = report.is_open and bool(get_form_data(request).get("all"))
    others = await reports.reports.open_ids(report.target_id, CLOSED_AT_ONCE) if is_all else []
    closed = await reports.close(me, {report.id, *others}, "no_breach")
    return done(
        request,
        {"closed": [str(each.id) for each in closed]},
        default="/ops/reports/",
        message=await add_next_report(request, _("The report is closed. The reporter is told.")),
    )


async def add_next_report(request: SiteRequest, text: str) -> str:
    """Return the sentence with a link to the oldest open report that no other staff member has claimed."""
    me = require_viewer_id(request)
    entries, _after = await request.services[ReportService].queue(me)
    open_ids = (each.oldest_id for each in entries if each.claim is None or each.claim.staff_id == me)
    if not (next_id := next(open_ids, None)):
        return text
    return format_html('{} <a href="/ops/reports/{}/">{}</a>', text, next_id, _("Next report"))


def find_account_ids(reports: list[Report]) -> set[AccountId]:
    """Return the accounts that admin/_reports.html names."""
    return {id for each in reports for id in (each.target_id, each.reporter_id, each.closed_by)} - {NOBODY}


def _entry_row(entry: QueueEntry, authors: Authors) -> TemplateContext:
    return {
        "account": authors.get(entry.account_id),
        "report_id": entry.oldest_id,
        "since_ms": ms_from_id(entry.oldest_id),
        "count": sum(entry.counts.values()),
        "categories": [(CATEGORY_LABELS[category][0], count) for category, count in entry.counts.items()],
        "claimed_by": authors.get(entry.claim.staff_id) if entry.claim else None,
    }


def _entry_json(entry: QueueEntry, authors: Authors) -> JsonObject:
    return {
        "account": _author_json(entry.account_id, authors),
        "report": str(entry.oldest_id),
        "since": format_iso_time(ms_from_id(entry.oldest_id)),
        "counts": dict(entry.counts),
        "claim": entry.claim and _claim_json(entry.claim, authors),
    }


def _report_json(report: Report, authors: Authors) -> JsonObject:
    return select_fields(
        report,
        "id category created_at closed_at",
        account=_author_json(report.target_id, authors),
        reporter=_author_json(report.reporter_id, authors),
        outcome=report.outcome or None,
        closed_by=_author_json(report.closed_by, authors),
    )


def _claim_json(claim: Claim, authors: Authors) -> JsonObject:
    until = format_iso_time(claim.until_ms)
    return {"by": _author_json(claim.staff_id, authors), "until": until, "reason": claim.reason}


def _author_json(account_id: AccountId, authors: Authors) -> JsonObject | None:
    return author_json(authors[account_id]) if account_id in authors else None


def _post_context(then: Post, now: Post | None, authors: Authors) -> TemplateContext:
    """Return a post as it was, and its present text if the text changed."""
    author = authors.get(then.author_id)
    return {
        "post": then,
        "is_deleted": now is None,
        "present_text": now.searchable_text if now and now.searchable_text != then.searchable_text else "",
        "url": post_url(then.id, author) if now and author else "",
    }
