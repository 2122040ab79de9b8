"""Pages of staff: applications for an account, first posts that wait for staff, and invitations with their accounts."""

from collections.abc import Awaitable, Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.accounts.service import AccountService
from accounts.domain import Author
from accounts.errors import AccountNotFound, AlreadyDecided, FieldErrors
from accounts.forms import ANSWER_MAX_LENGTH, parse_choice
from accounts.joining.presenters import invitations_page
from accounts.joining.service import JoiningService, check_text
from socialsite.admin.presenters.accounts import author_json
from socialsite.admin.requests import build_next_url, record_action
from socialsite.errors import ApiError, MalformedRequest
from socialsite.ids import AccountId, parse_id
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, format_iso_time, json_response, respond, select_fields
from timelines.drafts.draft import Draft
from timelines.drafts.service import DraftService
from timelines.errors import DraftNotFound
from timelines.media.service import MediaService
from timelines.pages.queries import decode_id, parse_cursor

APPLICATIONS_PER_PAGE, HELD_PER_PAGE, INVITATIONS_PER_PAGE = 30, 20, 20
DECISIONS_AT_ONCE = APPLICATIONS_PER_PAGE
INVITERS_SHOWN = 10

Decide = Callable[[str, str], Awaitable[None]]
"""Decides about the value of a row. The second argument is the text of a refusal, "" for an approval."""


async def applications(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    """Show the accounts that wait for approval, the oldest first."""
    after_ms = parse_cursor(request.GET, decode_id) or 0
    page, next_ms = await request.services[JoiningService].waiting(after_ms, APPLICATIONS_PER_PAGE)
    next_url = build_next_url(request, next_ms)
    return respond(
        request,
        "admin/applications.html",
        page=lambda: {
            "applications": page,
            "next_url": next_url,
            "page_title": _("Applications"),
            **_sent_decision(request, "account", error),
        },
        data=lambda: {
            "applications": [
                author_json(each.author)
                | select_fields(
                    each,
                    "applied_at network_count",
                    reason=each.application.reason,
                    address=each.address or None,
                    address_confirmed=each.is_address_confirmed,
                    network=each.application.network or None,
                )
                for each in page
            ],
            "next": next_url,
        },
        status=get_error_status(error),
    )


def _sent_decision(request: SiteRequest, name: str, error: FieldErrors | None) -> dict[str, object]:
    """Return the values that the form of a refused decision shows again: its rows and its text."""
    fields, errors = get_form_data(request), error.fields if error else {}
    return {
        "error": next((text for field, text in errors.items() if field != name), ""),
        "none_chosen": errors.get(name, ""),
        "chosen": fields.values_of(name),
        "text": fields.get("text", ""),
    }


@shows_errors(applications, FieldErrors)
async def decide_applications(request: SiteRequest) -> HttpResponseBase:
    """Approve or refuse the chosen accounts. An account about which another has decided meanwhile is named."""
    joining, decider_id = request.services[JoiningService], require_viewer_id(request)

    async def decide(value: str, refusal: str) -> None:
        account_id = AccountId(parse_id(value) or 0)
        await request.services[AccountService].get(account_id)
        await record_action(request, "refuse_application" if refusal else "approve", f"account:{account_id}")
        if refusal:
            await joining.refuse(account_id, decider_id, refusal)
        else:
            await joining.approve(account_id, decider_id)

    return await _decide_each(request, "account", decide, "/ops/applications/")


async def held(request: SiteRequest, error: FieldErrors | None = None) -> HttpResponse:
    """Show the first posts with links that wait for staff, the oldest first."""
    after_ms = parse_cursor(request.GET, decode_id) or 0
    page, next_ms = await request.services[DraftService].held(after_ms, HELD_PER_PAGE)
    authors = await request.services[AccountService].find_authors({account_id for account_id, _draft in page})
    rows = [await _held_row(request, draft, authors[owner]) for owner, draft in page if owner in authors]
    next_url = build_next_url(request, next_ms)
    return respond(
        request,
        "admin/held.html",
        page=lambda: {
            "posts": rows,
            "next_url": next_url,
            "page_title": _("Held posts"),
            **_sent_decision(request, "post", error),
        },
        data=lambda: {
            "posts": [
                {
                    "id": row["id"],
                    "account": author_json(row["author"]),
                    "fields": row["fields"],
                    "held_at": format_iso_time(row["held_ms"]),
                }
                for row in rows
            ],
            "next": next_url,
        },
        status=get_error_status(error),
    )


async def _held_row(request: SiteRequest, draft: Draft, author: Author) -> dict[str, Any]:
    pictures = await request.services[MediaService].find_all_own(author.id, draft.media_ids)
    return {
        "id": f"{author.id}:{draft.id}:{draft.held_ms}",
        "author": author,
        "held_ms": draft.held_ms,
        "fields": draft.fields,
        "texts": draft.texts,
        "pictures": [row.attachment for row in pictures],
    }


@shows_errors(held, FieldErrors)
async def decide_held(request: SiteRequest) -> HttpResponseBase:
    """Publish a held post, or give it back to its author with a text."""
    drafts = request.services[DraftService]

    async def decide(value: str, refusal: str) -> None:
        owner, draft_id, held_ms = (parse_id(part) for part in (value + "::").split(":")[:3])
        if owner is None or draft_id is None or held_ms is None:
            raise MalformedRequest
        await record_action(request, "refuse_post" if refusal else "release_post", f"account:{owner}")
        if refusal:
            await drafts.refuse(AccountId(owner), draft_id, held_ms, refusal)
        else:
            await drafts.release(AccountId(owner), draft_id, held_ms)

    return await _decide_each(request, "post", decide, "/ops/held/")


async def _find_inviters(accounts: AccountService, joining: JoiningService, account_id: AccountId) -> list[Author]:
    """Return who invited the account, who invited that account, and so on."""
    inviters: list[Author] = []
    inviter_id = (await joining.find_application(account_id)).inviter_id
    while inviter_id and len(inviters) < INVITERS_SHOWN and (inviter := await accounts.find(inviter_id)) is not None:
        inviters.append(inviter.author)
        inviter_id = (await joining.find_application(inviter_id)).inviter_id
    return inviters


async def invitations(request: SiteRequest, account_id: int) -> HttpResponse:
    """Show who invited an account, and the accounts that it invited: one level of the tree, by invitation."""
    accounts, joining, me = request.services[AccountService], request.services[JoiningService], AccountId(account_id)
    account = await accounts.get(me)
    inviters = await _find_inviters(accounts, joining, me)
    skipped = parse_cursor(request.GET, decode_id) or 0
    stored = await joining.invitations(me)
    shown = dict(list(stored.items())[skipped : skipped + INVITATIONS_PER_PAGE])
    rows = invitations_page(shown, me, "/", request.services.clock.now_ms())
    ids = await accounts.find_ids_by_handle({handle for each in shown.values() for handle in each.handles})
    invited = await joining.find_invited(list(ids.values()), me)
    authors = await accounts.find_authors(invited)
    for row in rows:
        row["invited"] = [authors[ids[handle]] for handle in row["invitation"].handles if ids.get(handle) in authors]
    is_last = skipped + INVITATIONS_PER_PAGE >= len(stored)
    next_url = build_next_url(request, None if is_last else skipped + INVITATIONS_PER_PAGE)
    return respond(
        request,
        "admin/invitations.html",
        page=lambda: {
            "account": account,
            "inviters": inviters,
            "invitations": rows,
            "next_url": next_url,
            "page_title": _("Invitations of @%(handle)s") % {"handle": account.handle},
        },
        data=lambda: {
            "account": author_json(account.author),
            "inviters": list(map(author_json, inviters)),
            "invitations": [
                select_fields(
                    row["invitation"], "created_at expires_at uses note", invited=list(map(author_json, row["invited"]))
                )
                for row in rows
            ],
            "next": next_url,
        },
    )


async def _decide_each(request: SiteRequest, name: str, decide: Decide, url: str) -> HttpResponseBase:
    """Decide about each value of a field. Errors of single values do not stop the others, and are shown together.

    Raises FieldErrors if no value is chosen, or if a refusal has no text.
    """
    fields, done, errors = get_form_data(request), 0, list[ApiError]()
    if not fields.values_of(name) and not wants_json(request):
        is_account = name == "account"
        raise FieldErrors({name: _("Tick the applicants to approve.") if is_account else _("Tick the posts first.")})
    refusal = ""
    if parse_choice("decision", fields.get("decision"), ("approve", "refuse")) == "refuse":
        if not fields.get("text", "").strip():
            raise FieldErrors({"text": _("Please write a text.")})
        refusal = check_text(fields["text"], "text", 1, ANSWER_MAX_LENGTH)
    for value in fields.values_of(name)[:DECISIONS_AT_ONCE]:
        try:
            await decide(value, refusal)
            done += 1
        except (AlreadyDecided, AccountNotFound, DraftNotFound) as error:
            errors.append(error)
    if wants_json(request):
        if errors and not done:
            raise errors[0]
        return json_response({"decided": done, "errors": [str(each.message) for each in errors]})
    for each in errors:
        messages.error(request, str(each.message), fail_silently=True)
    if done:
        text = ngettext("%(number)d decision is stored.", "%(number)d decisions are stored.", done)
        messages.success(request, text % {"number": done}, fail_silently=True)
    return SeeOther(url)
