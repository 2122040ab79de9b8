"""The form with which staff decides about an account, the undo, and the queue of appeals."""

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors
from accounts.factors.step_up import require_step_up
from accounts.forms import parse_choice
from accounts.sanctions.presenters import sanction_json
from accounts.sanctions.sanction import (
    KINDS,
    KINDS_OF_POSTS,
    MAX_SANCTIONED_POSTS,
    MAX_WARNING_LENGTH,
    SILENCE_MS,
    TEXT_MAX_LENGTH,
    Sanction,
    SanctionId,
    SanctionKind,
)
from accounts.sanctions.texts import KIND_LABELS, describe_kind
from socialsite.admin.moderation import find_shown_posts
from socialsite.admin.requests import build_next_url, get_actor, get_services
from socialsite.admin.sanctions import SanctionService, find_starting_text, get_target
from socialsite.admin.views import accounts
from socialsite.admin.views.reports import add_next_report
from socialsite.ids import AccountId, PostId, parse_id
from socialsite.site.service import SiteService
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import FormFields, SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, json_response, page_response, respond
from timelines.pages.queries import decode_id
from timelines.pages.queries import parse_cursor as parse_id_cursor
from timelines.posts.post import FOLLOWERS
from timelines.reports.service import ReportService

APPEALS_PER_PAGE = 30
REPORTS_AT_ONCE = 50
DURATION_LABELS = {
    "1h": gettext_lazy("1 hour"),
    "1d": gettext_lazy("1 day"),
    "7d": gettext_lazy("7 days"),
    "30d": gettext_lazy("30 days"),
}


@shows_errors(accounts.show, FieldErrors)
async def act_page(request: SiteRequest, account_id: int) -> HttpResponse:
    """Show the form of the kind `?kind=`, with the text to start from in the language of the person's mails.

    If that is unknown, the text is in the language of the page. The posts and the rules of the reports
    `?report=` are chosen already.
    """
    kind = parse_choice("kind", request.GET.get("kind"), KINDS)
    text, language = await find_starting_text(get_services(request), AccountId(account_id), kind)
    with override(language):
        fields = FormFields([("kind", kind), ("text", text), ("warning", _("Sensitive content"))])
    for name in ("report", "post"):
        fields.replace(name, request.GET.getlist(name))
    found = await request.services[ReportService].reports.find_many(_parse_ids(fields, "report"))
    reports = [each for each in found if each.target_id == account_id]
    fields.replace("rule", [rule for each in reports for rule in each.rules])
    fields.replace("post", [*fields.values_of("post"), *(str(id) for each in reports for id in each.post_ids)])
    return await _show_form(request, AccountId(account_id), fields)


@shows_errors(accounts.show, FieldErrors)
async def act(request: SiteRequest, account_id: int) -> HttpResponseBase:
    """Apply a sanction, which answers the reports `report`, or with the field `all` every open report of the account.

    With the field `preview` the form is shown again, with what the person will read.
    """
    id, fields, services = AccountId(account_id), get_form_data(request), get_services(request)
    kind = parse_choice("kind", fields.get("kind"), KINDS)
    if fields.get("preview"):
        return await _show_form(request, id, fields, is_preview=True)
    if kind == "delete":
        require_step_up(request)
    report_ids = _parse_ids(fields, "report")
    if fields.get("all"):
        report_ids += await services.reports.reports.open_ids(id, REPORTS_AT_ONCE)
    elif not report_ids and kind != "note":  # a decision from the page of the account answers its reports, too
        report_ids += await services.reports.find_answerable(require_viewer_id(request), id, REPORTS_AT_ONCE)
    try:
        sanction = await SanctionService(services).apply(
            get_actor(request),
            id,
            kind,
            fields.get("text", ""),
            sorted(set(report_ids)),
            _find_until_ms(request, fields),
            [PostId(post_id) for post_id in _parse_ids(fields, "post")],
            rules=[rule for rule in _find_rules(request) if rule in fields.values_of("rule")],
            warning=" ".join(fields.get("warning", "").split())[:MAX_WARNING_LENGTH],
            id=SanctionId(parse_id(fields.get("id", "")) or 0) or None,
        )
    except FieldErrors as error:
        if wants_json(request):
            raise
        return await _show_form(request, id, fields, error=error)
    message = _("The note is added.") if kind == "note" else await _describe_decision(request, id, kind)
    if sanction.report_ids:
        message = await add_next_report(request, message)
    return _decided(request, sanction, f"/ops/accounts/{account_id}/", message)


async def _describe_decision(request: SiteRequest, id: AccountId, kind: SanctionKind) -> str:
    handle = (await get_services(request).accounts.get(id)).handle
    names = {"handle": handle, "decision": KIND_LABELS[kind]}
    return _("@%(handle)s: %(decision)s. The person is told.") % names


async def undo(request: SiteRequest, account_id: int, sanction_id: int) -> HttpResponseBase:
    sanctions = SanctionService(get_services(request))
    sanction = await sanctions.undo(get_actor(request), AccountId(account_id), SanctionId(sanction_id))
    url, message = f"/ops/accounts/{account_id}/", _("The decision is undone. The person is told.")
    return _decided(request, sanction, url, message)


async def appeals(
    request: SiteRequest, account_id: int = 0, sanction_id: int = 0, error: FieldErrors | None = None
) -> HttpResponse:
    """Show the open appeals, oldest first. `error` belongs to the answer to the appeal of a sanction."""
    now_ms, actor = request.services.clock.now_ms(), get_actor(request)
    sanctions = SanctionService(get_services(request))
    open_appeals, cursor = await sanctions.list_appeals(parse_id_cursor(request.GET, decode_id) or 0, APPEALS_PER_PAGE)
    ids = {each.account_id for each in open_appeals} | {each.actor_id for each in open_appeals}
    authors = await request.services[AccountService].find_authors(ids)
    others_decide = await sanctions.has_other_deciders(actor)
    next_url = build_next_url(request, cursor)
    answer = get_form_data(request).get("answer", "")
    refused = {sanction_id: {"text": answer, "error": error.fields["answer"]}} if error else {}
    return respond(
        request,
        "admin/appeals.html",
        page=lambda: {
            "appeals": open_appeals,
            "authors": authors,
            "refused": refused,
            "own_id": actor.account_id if others_decide else None,
            "text_max_length": TEXT_MAX_LENGTH,
            "next_url": next_url,
            "page_title": _("Appeals"),
        },
        data=lambda: {
            "appeals": [
                {"account": str(each.account_id), **sanction_json(each, now_ms, is_for_staff=True)}
                for each in open_appeals
            ],
            "next": next_url,
        },
        status=get_error_status(error),
    )


@shows_errors(appeals, FieldErrors)
async def decide(request: SiteRequest, account_id: int, sanction_id: int) -> HttpResponseBase:
    """Accept or refuse an appeal (`decision`), with the text `answer`."""
    fields = get_form_data(request)
    decision = parse_choice("answer", fields.get("decision"), ("accept", "refuse"))
    sanction = await SanctionService(get_services(request)).decide_appeal(
        get_actor(request),
        AccountId(account_id),
        SanctionId(sanction_id),
        accept=decision == "accept",
        answer=fields.get("answer", ""),
    )
    return _decided(request, sanction, "/ops/appeals/", _("The appeal is decided. The person is told."))


def _decided(request: SiteRequest, sanction: Sanction, url: str, message: str) -> HttpResponseBase:
    """Redirect to `url`. The `next` of the form is for a step-up and leads to the form, which would decide again."""
    if wants_json(request):
        return json_response({"decision": sanction_json(sanction, request.services.clock.now_ms(), is_for_staff=True)})
    messages.success(request, message, fail_silently=True)
    return SeeOther(url)


async def _show_form(
    request: SiteRequest,
    account_id: AccountId,
    fields: FormFields,
    *,
    is_preview: bool = False,
    error: FieldErrors | None = None,
) -> HttpResponse:
    services, kind = get_services(request), parse_choice("kind", fields.get("kind"), KINDS)
    account = await get_target(services, get_actor(request), account_id)
    chosen = _parse_ids(fields, "post")
    posts = await find_shown_posts(services, account_id, chosen) if kind in KINDS_OF_POSTS else []
    page = {
        "account": account,
        "kind": kind,
        "label": KIND_LABELS[kind],
        "effect": describe_kind(kind, _find_until_ms(request, fields)) if kind != "silence" else "",
        "fields": fields,
        "errors": error.fields if error else {},
        "sanction_id": parse_id(fields.get("id", "")) or services.ids.next_id(),
        "posts": [
            {"post": post, "is_chosen": post.id in chosen, "is_hidden": post.audience == FOLLOWERS} for post in posts
        ],
        "rules": [{"text": rule, "is_chosen": rule in fields.values_of("rule")} for rule in _find_rules(request)],
        "chosen_rules": fields.values_of("rule"),
        "report_ids": _parse_ids(fields, "report"),
        "durations": DURATION_LABELS.items() if kind == "silence" else (),
        "preview_effect": describe_kind(kind, _find_until_ms(request, fields)) if is_preview else "",
        "text_max_length": TEXT_MAX_LENGTH,
        "is_final": kind in ("delete_posts", "delete"),
        "page_title": _("Decide about @%(handle)s") % {"handle": account.handle},
    }
    return page_response(request, "admin/act.html", page, get_error_status(error))


def _parse_ids(fields: FormFields, name: str) -> list[int]:
    """Return the ids of a repeated field, without texts that are no ids."""
    ids = [parse_id(text) for text in fields.values_of(name)[: MAX_SANCTIONED_POSTS + 1]]
    return [id for id in ids if id]


def _find_until_ms(request: SiteRequest, fields: FormFields) -> int:
    duration_ms = SILENCE_MS.get(fields.get("duration", ""), 0)
    return request.services.clock.now_ms() + duration_ms if duration_ms else 0


def _find_rules(request: SiteRequest) -> tuple[str, ...]:
    return request.services[SiteService].settings.rules
