"""The page on which staff gives and takes roles. Both of its views ask for the password or a factor first."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.accounts.service import AccountService
from accounts.accounts.staff import StaffService
from accounts.domain import Author
from accounts.errors import AccountNotFound, FieldErrors
from accounts.factors.step_up import require_step_up
from accounts.forms import parse_choice
from accounts.models import Account
from accounts.roles import ROLES, Role, may_change_role
from accounts.sessions.authentication import require_account
from socialsite.admin.labels import ROLE_LABELS, JsonObject, TemplateContext
from socialsite.admin.requests import record_action
from socialsite.errors import ApiError, Forbidden
from socialsite.ids import AccountId
from socialsite.web.middleware.errors import get_error_status, shows_errors
from socialsite.web.requests import SiteRequest, get_form_data
from socialsite.web.responses import done, respond

STAFF_PATH = "/ops/staff/"
NO_ROLE = "none"
"""The value of the field `role` that takes the role."""


async def index(request: SiteRequest, error: ApiError | None = None) -> HttpResponse:
    require_step_up(request)
    members = await _load_members(request)
    return respond(
        request,
        "admin/staff.html",
        page=lambda: _page(request, members, error),
        data=lambda: _members_json(members),
        status=get_error_status(error),
    )


@shows_errors(index, ApiError)
async def change(request: SiteRequest) -> HttpResponseBase:
    """Give the account `handle` the role `role`, or take its role. Errors are shown beside the fields."""
    require_step_up(request)
    fields, viewer = get_form_data(request), require_account(request)
    account = await _find_account(request, fields.get("handle", "").strip().removeprefix("@"))
    role: Role = "" if fields.get("role") == NO_ROLE else parse_choice("role", fields.get("role"), ROLES)
    if not may_change_role(viewer, account.role, role):
        raise Forbidden(_("Your role does not allow you to give or take this role."))
    await record_action(request, "role", f"account:{account.id}", f"role:{role or NO_ROLE}")
    await request.services[StaffService].set_role(AccountId(account.id), role)
    data = _members_json(await _load_members(request))
    return done(request, data, default=STAFF_PATH, message=_("The role is changed."))


async def _find_account(request: SiteRequest, handle: str) -> Account:
    try:
        return await request.services[AccountService].get_undeleted_by_handle(handle)
    except AccountNotFound as error:
        raise FieldErrors({"handle": error.message}) from error


Members = list[tuple[Author, Role]]


async def _load_members(request: SiteRequest) -> Members:
    roles = await request.services[StaffService].list_roles()
    authors = await request.services[AccountService].find_authors(roles)
    return [(authors[id], role) for id, role in roles.items() if id in authors]


def _page(request: SiteRequest, members: Members, error: ApiError | None) -> TemplateContext:
    viewer = require_account(request)
    offered = [role for role in ROLES if may_change_role(viewer, "", role)]
    return {
        "members": [
            {
                "author": author,
                "role": role,
                "choices": _choices([each for each in offered if each != role], may_take=True)
                if may_change_role(viewer, role, "")
                else [],
            }
            for author, role in members
        ],
        "choices": _choices(offered),
        "errors": (error.fields or {"role": error.message}) if error else {},
        "handle": get_form_data(request).get("handle", ""),
        "page_title": _("Staff"),
    }


def _choices(roles: list[Role], *, may_take: bool = False) -> list[tuple[str, str]]:
    none = [(NO_ROLE, _("No role any more"))] if may_take else []
    return [*((role, str(ROLE_LABELS[role])) for role in roles), *none]


def _members_json(members: Members) -> JsonObject:
    return {"staff": [{"id": str(author.id), "handle": author.handle, "role": role} for author, role in members]}
