"""The three steps after a sign-up: a name and a picture, people to follow, and a first post. Each may be skipped.

The preferences of an account contain the first step that is not skipped. A step is done if the account has an avatar or
a bio, follows an account, or has a post, from any page. Home shows a card until the steps are done or dismissed.
"""

import secrets
from contextlib import suppress
from http import HTTPStatus

from django.conf import settings
from django.contrib import messages
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.errors import FieldErrors
from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.errors import Conflict, Forbidden, Invalid, NotFound
from socialsite.ids import AccountId, parse_id
from socialsite.limits import ActionLimits
from socialsite.web.requests import SiteRequest, error_page, get_form_data, require_viewer_id, wants_json
from socialsite.web.responses import SeeOther, done, json_response, respond
from socialsite.web.uploads import accepts_files, get_files
from timelines.errors import ListNotFound, MediaInvalid, PostHeld, PostInvalid
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.following.views import load_suggested_accounts, readable_scripts
from timelines.ids import ListId
from timelines.media.forms import parse_crop
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.media.service import MediaService
from timelines.media.views import check_upload
from timelines.pages.pictures import describe_post
from timelines.pages.responses import TemplateContext
from timelines.public_lists.service import PublicListService
from timelines.public_lists.views import explored_list
from timelines.publishing.forms import PostForm
from timelines.publishing.refused_post import preserve_post
from timelines.publishing.service import PublishingService
from timelines.reading.service import ReadingService

STEPS = ("profile", "people", "post")
PROFILE, PEOPLE, POST = 1, 2, 3
PEOPLE_SHOWN, LISTS_SHOWN = 12, 3


async def show_next_step(request: SiteRequest) -> HttpResponseBase:
    return SeeOther(_step_url(await find_next_step(request) or PROFILE))


async def find_next_step(request: SiteRequest) -> int:
    """Return the first step that the account has neither done nor skipped, or 0 if there is none."""
    account = require_account(request)
    step, me = account.preferences.onboarding_step, AccountId(account.id)
    if not step:
        return 0
    follow_counts, post_count = await run_together(
        request.services[FollowingService].counts(me), request.services[ReadingService].post_count(me)
    )
    is_done = bool(account.avatar or account.bio), bool(follow_counts.following), bool(post_count)
    return next((each for each in range(step, POST + 1) if not is_done[each - 1]), 0)


async def dismiss(request: SiteRequest) -> HttpResponseBase:
    """Remove the card from home. The steps stay reachable."""
    await _store_step(request, 0)
    return done(request, {}, default="/")


# A name and a picture


async def show_profile(request: SiteRequest) -> HttpResponseBase:
    account = require_account(request)
    page = {"account": account, "display_name": account.display_name, "bio": account.bio}
    return _show(request, PROFILE, page)


@accepts_files(UPLOAD_MAX_BYTES, check_upload)
async def save_profile(request: SiteRequest) -> HttpResponseBase:
    account, services, fields = require_account(request), request.services, get_form_data(request)
    me = AccountId(account.id)
    if "skip" in fields:
        return await _continue(request, PROFILE)
    name, bio = fields.get("display_name"), fields.get("bio")
    try:
        await services[AccountService].edit_profile(account_id=me, display_name=name, bio=bio, caller=request.caller)
        if files := get_files(request, "file"):
            if request.pending_body is None:
                await check_upload(request)  # the handler has read a small body before this check
            await services[MediaService].set_profile_picture(
                account_id=me, kind="avatar", content=files[0], crop=parse_crop(fields)
            )
    except (FieldErrors, MediaInvalid) as error:
        return _refuse(request, PROFILE, error, {"account": account, "display_name": name, "bio": bio})
    return await _continue(request, PROFILE)


# People


async def show_people(request: SiteRequest) -> HttpResponseBase:
    me = require_viewer_id(request)
    service = request.services[FollowSuggestionService]
    suggested = await service.suggestions(me, PEOPLE_SHOWN, readable_scripts(request))
    lists = await request.services[PublicListService].explored(me, LISTS_SHOWN)
    accounts = await load_suggested_accounts(request, suggested)
    await run_together(*(_add_last_post(request, me, each) for each in accounts if not each["bio"]))
    return _show(request, PEOPLE, {"accounts": accounts, "lists": [explored_list(each) for each in lists]})


async def _add_last_post(request: SiteRequest, me: AccountId, account: TemplateContext) -> None:
    """Add the text of the last post of an account, which the page shows if the account has no bio."""
    page = await request.services[ReadingService].profile(AccountId(int(account["id"])), viewer_id=me, limit=1)
    account["last_post"] = " ".join(describe_post(entry.shown.post) for entry in page.entries[:1])


async def follow_people(request: SiteRequest) -> HttpResponseBase:
    """Follow the chosen accounts and the members of the chosen lists. Those that vanished meanwhile are left out.

    Raises RateLimited.
    """
    me, services, fields = require_viewer_id(request), request.services, get_form_data(request)
    handles = [] if "skip" in fields else fields.values_of("follow")[:PEOPLE_SHOWN]
    for handle in handles:
        services[ActionLimits].require_may_write(request.caller)
        await services[ActionLimits].enforce(request.caller, "follow")
        await services[ActionLimits].enforce_newcomer_follow(request.caller)
        with suppress(Conflict, Forbidden, Invalid, NotFound):
            account = await services[AccountService].get_by_handle(handle)
            await services[FollowingService].follow(
                follower_id=me, followed_id=AccountId(account.id), now_ms=services.clock.now_ms()
            )
    if "skip" not in fields:
        await _follow_lists(request, me, fields.values_of("list")[:LISTS_SHOWN])
    return await _continue(request, PEOPLE)


async def _follow_lists(request: SiteRequest, me: AccountId, list_ids: list[str]) -> None:
    public_lists = request.services[PublicListService]
    for list_id in filter(None, map(parse_id, list_ids)):
        request.services[ActionLimits].require_may_write(request.caller)
        await request.services[ActionLimits].enforce(request.caller, "follow")
        with suppress(ListNotFound):
            await public_lists.follow_all(await public_lists.find(ListId(list_id), me), me, request.caller)


# A first post


async def show_post(request: SiteRequest) -> HttpResponseBase:
    require_account(request)
    return _show(request, POST, {"idempotency_key": secrets.token_urlsafe(16), "max_length": settings.POST_MAX_LENGTH})


@error_page(preserve_post)
async def publish(request: SiteRequest) -> HttpResponseBase:
    """Publish the first post, and show home."""
    account, services, fields = require_account(request), request.services, get_form_data(request)
    if "skip" not in fields:
        try:
            await services[PublishingService].publish_form(
                PostForm.parse(fields),
                author_id=AccountId(account.id),
                is_private=account.is_private,
                now_ms=services.clock.now_ms(),
                caller=request.caller,
            )
        except PostHeld as error:
            messages.info(request, str(error.message), fail_silently=True)
            return await _continue(request, POST)
        except PostInvalid as error:
            page = {name: fields.get(name, "") for name in ("text", "idempotency_key")}
            return _refuse(request, POST, error, {**page, "max_length": settings.POST_MAX_LENGTH})
    return await _continue(request, POST)


# All steps


def _step_url(step: int) -> str:
    return f"/welcome/{STEPS[step - 1]}/"


def _show(request: SiteRequest, step: int, context: TemplateContext, status: int = HTTPStatus.OK) -> HttpResponseBase:
    page = {**context, "step": step, "steps": [*enumerate(STEPS, 1)], "page_title": _("Welcome")}
    return respond(
        request, "timelines/onboarding.html", page=lambda: page, data=lambda: {"step": STEPS[step - 1]}, status=status
    )


def _refuse(request: SiteRequest, step: int, error: Invalid, context: TemplateContext) -> HttpResponseBase:
    """Show the step again with the reasons. JSON clients get the error."""
    if wants_json(request):
        raise error
    reasons = " ".join(map(str, error.fields.values())) or error.message
    return _show(request, step, {**context, "error": reasons}, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _continue(request: SiteRequest, step: int) -> HttpResponseBase:
    """Store the next step and show it, or home after the last one."""
    following = step + 1 if step < len(STEPS) else 0
    await _store_step(request, following)
    url = _step_url(following) if following else "/"
    return json_response({"next": url}) if wants_json(request) else SeeOther(url)


async def _store_step(request: SiteRequest, step: int) -> None:
    """Store the next step, unless the account has done or dismissed all steps."""
    account = require_account(request)
    if account.preferences.onboarding_step:
        await request.services[AccountService].change_preferences(
            account_id=AccountId(account.id), change=lambda old: structs.replace(old, onboarding_step=step)
        )
