"""The form that reports an account or a post, and the page of the viewer's own reports."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.accounts.service import AccountService
from accounts.domain import DELETED, Author
from accounts.models import Account
from socialsite.errors import Invalid, MalformedRequest
from socialsite.ids import AccountId, PostId, parse_id
from socialsite.site.rules import rule_text
from socialsite.site.service import SiteService
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.requests import FormFields, SiteRequest, find_own_path, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import done, page_response, respond, select_fields, set_page_path
from timelines.errors import AlreadyReported, PostNotFound
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.notifications.presenters import excerpt
from timelines.pages.page import HydratedPost, PostSelection
from timelines.pages.pictures import describe_post
from timelines.pages.presenters import Json, author_json
from timelines.pages.queries import decode_id, parse_cursor
from timelines.pages.responses import TemplateContext, url_with_query
from timelines.reading.service import ReadingService
from timelines.reports.report import COMMENT_MAX_LENGTH, Report
from timelines.reports.service import ReportService

POSTS_OFFERED = 10
REPORTS_PER_PAGE = 30
OUTCOME_LABELS = {
    "": gettext_lazy("We have not decided yet."),
    "acted": gettext_lazy("We have acted on this report."),
    "no_breach": gettext_lazy("We found no breach of the rules."),
    "account_deleted": gettext_lazy("The account no longer exists."),
}
CATEGORY_LABELS = {
    "harassment": (gettext_lazy("Harassment"), gettext_lazy("Threats, insults, or following a person around")),
    "hate": (gettext_lazy("Hate"), gettext_lazy("Attacks on people for what they are or believe")),
    "nudity": (gettext_lazy("Nudity or sex"), gettext_lazy("Without a warning, or against the will of a person")),
    "self_harm": (gettext_lazy("Self-harm"), gettext_lazy("Somebody may hurt themselves, or tells others to")),
    "impersonation": (gettext_lazy("Impersonation"), gettext_lazy("It pretends to be somebody else")),
    "spam": (gettext_lazy("Spam"), gettext_lazy("Advertising, fraud, or the same thing again and again")),
    "legal": (gettext_lazy("Illegal"), gettext_lazy("It breaks the law, for example by a threat or by stolen content")),
    "violation": (gettext_lazy("Against a rule"), gettext_lazy("It breaks a rule of this site")),
    "other": (gettext_lazy("Something else"), gettext_lazy("None of these; please describe it in the details")),
}


async def show_form(request: SiteRequest) -> HttpResponseBase:
    """Show the form for the post `?post=` or the account `?account=`."""
    return await _form_page(request, FormFields(request.GET.dict().items()))


async def send(request: SiteRequest) -> HttpResponseBase:
    """Report an account, or posts of it, and mute or block it if the reporter chose so.

    A repeated report is refused, but still mutes or blocks: the first request may have ended before it did so.
    """
    fields, me, services = get_form_data(request), require_viewer_id(request), request.services
    account, post = await _find_subject(request, fields)
    rule_numbers = [number for text in fields.values_of("rules") if (number := parse_id(text)) is not None]
    chosen_ids = [post.id] if post else []
    chosen_ids += [PostId(number) for text in fields.values_of("posts") if (number := parse_id(text))]
    target_id = AccountId(account.id)
    try:
        if fields.get("category") == "other" and not fields.get("comment", "").strip() and not rule_numbers:
            raise Invalid({"comment": _("Please describe what is wrong.")})
        report = await services[ReportService].report(
            reporter_id=me,
            target_id=target_id,
            category=fields.get("category") or ("violation" if rule_numbers else ""),
            comment=fields.get("comment", ""),
            post_ids=chosen_ids,
            rule_numbers=rule_numbers,
            caller=request.caller,
        )
    except AlreadyReported as error:
        await _mute_or_block(request, target_id)
        if wants_json(request):
            raise
        return done(request, {}, default="/reports/", message=error.message)
    except Invalid as error:
        if wants_json(request):
            raise
        set_page_path(request, "/reports/new/")
        return await _form_page(request, fields, error)
    await _mute_or_block(request, target_id)
    query = urlencode({"account": target_id, "back": _find_way_back(request, fields.get("back"), account)})
    sent_url = f"/reports/sent/?{query}"
    return done(request, report_json(report, {target_id: account.author}), default=sent_url, status=201)


def _find_way_back(request: SiteRequest, url: str | None, account: Account) -> str:
    """Return the path of the page from which the form was opened, or else of the account."""
    path = find_own_path(request, request.headers.get("Referer", "") if url is None else url)
    return path if path and not path.startswith("/reports/") else f"/@{account.handle}/"


async def _mute_or_block(request: SiteRequest, target_id: AccountId) -> None:
    fields, me, services = get_form_data(request), require_viewer_id(request), request.services
    relations, now_ms = services[BlocksAndMutesService], services.clock.now_ms()
    if fields.get("block"):
        await relations.block(account_id=me, other_id=target_id, now_ms=now_ms)
    elif fields.get("mute"):
        await relations.mute(account_id=me, other_id=target_id, now_ms=now_ms)


async def sent(request: SiteRequest) -> HttpResponseBase:
    me, services, relation = require_viewer_id(request), request.services, None
    account = await services[AccountService].get_active(AccountId(parse_id(request.GET.get("account", "")) or me))
    if account.id != me:
        now_ms = services.clock.now_ms()
        relation = await services[BlocksAndMutesService].relationship(me, AccountId(account.id), now_ms)
    back = _find_way_back(request, request.GET.get("back", ""), account)
    page = {"page_title": _("Thank you"), "account": account, "relation": relation, "back": back}
    return page_response(request, "timelines/report_sent.html", page)


async def index(request: SiteRequest) -> HttpResponseBase:
    """Show the viewer's own reports and their outcomes, newest first."""
    me, cursor = require_viewer_id(request), parse_cursor(request.GET, decode_id)
    reports = await request.services[ReportService].own(me, REPORTS_PER_PAGE, cursor)
    authors = await request.services[AccountService].find_authors({each.target_id for each in reports})
    next_url = url_with_query(request, cursor=reports[-1].id) if len(reports) == REPORTS_PER_PAGE else None
    return respond(
        request,
        "timelines/reports.html",
        page=lambda: {
            "rows": [_report_context(each, authors) for each in reports],
            "next_url": next_url,
            "page_title": _("Your reports"),
        },
        data=lambda: {"reports": [report_json(each, authors) for each in reports], "next": next_url},
    )


async def _find_subject(request: SiteRequest, query: Mapping[str, str]) -> tuple[Account, HydratedPost | None]:
    """Return the account to report, and the post if one is given.

    Raises PostNotFound, AccountNotFound, and AlreadyReported if the viewer has reported the post and cannot see it now,
    for example because the form was sent twice and blocked its author.
    """
    me, services, post = require_viewer_id(request), request.services, None
    post_id, account_id = parse_id(query.get("post", "")), parse_id(query.get("account", ""))
    if post_id:
        try:
            post = (await services[ReadingService].post(PostId(post_id), viewer_id=me)).shown
        except PostNotFound as error:
            if await services[ReportService].has_reported(me, PostId(post_id)):
                raise AlreadyReported from error
            raise
        account_id = post.author.id
    if not account_id:
        raise MalformedRequest(fields={"account": _("This is not an id.")})
    return await services[AccountService].get_active(AccountId(account_id)), post


async def _form_page(request: SiteRequest, fields: FormFields, error: Invalid | None = None) -> HttpResponseBase:
    account, post = await _find_subject(request, fields)
    offered = await _find_offered_posts(request, account, post)
    rules = list(map(rule_text, request.services[SiteService].settings.rules))
    return respond(
        request,
        "timelines/report.html",
        page=lambda: {
            "account": account,
            "back": _find_way_back(request, fields.get("back"), account),
            "post": post and _post_context(post),
            "posts": [_post_context(each) for each in offered],
            "rules": rules,
            "categories": CATEGORY_LABELS.items(),
            "fields": fields,
            "chosen_posts": fields.values_of("posts"),
            "chosen_rules": fields.values_of("rules"),
            "comment_max_length": COMMENT_MAX_LENGTH,
            "errors": error.fields if error else {},
            "page_title": _("Report @%(handle)s") % {"handle": account.handle},
        },
        data=lambda: {
            "account": author_json(account),
            "posts": [str(each.id) for each in ([post] if post else []) + offered],
            "rules": rules,
            "categories": [name for name in CATEGORY_LABELS if rules or name != "violation"],
        },
        status=get_error_status(error),
    )


async def _find_offered_posts(request: SiteRequest, account: Account, post: HydratedPost | None) -> list[HydratedPost]:
    """Return the newest posts of the account that the viewer sees, without the post that is reported."""
    page = await request.services[ReadingService].profile(
        AccountId(account.id),
        viewer_id=require_viewer_id(request),
        limit=POSTS_OFFERED + 1,
        selection=PostSelection(exclude_boosts=True),
    )
    return [each.shown for each in page.entries if post is None or each.shown.id != post.id][:POSTS_OFFERED]


def _post_context(post: HydratedPost) -> TemplateContext:
    return {"id": str(post.id), "text": excerpt(describe_post(post.post))}


def _report_context(report: Report, authors: Mapping[AccountId, Author]) -> TemplateContext:
    target = authors.get(report.target_id)
    return {
        "report": report,
        "handle": target.handle if target is not None and target.state != DELETED else "",
        "category": CATEGORY_LABELS[report.category][0],
        "outcome": OUTCOME_LABELS[report.outcome],
    }


def report_json(report: Report, authors: Mapping[AccountId, Author]) -> Json:
    """Return a report as its reporter sees it."""
    target = authors.get(report.target_id)
    return select_fields(
        report,
        "id category comment created_at closed_at",
        rules=list(map(rule_text, report.rules)),
        account=None if target is None else author_json(target),
        posts=[str(id) for id in report.post_ids],
        outcome=report.outcome or None,
    )
