"""The page on which readers choose which lists and hashtags are tabs of home, and order them."""

from typing import Final

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import Preferences
from accounts.forms import parse_choice
from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.errors import MalformedRequest
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id
from socialsite.web.responses import page_response, redirect_to_next
from timelines.hashtags.service import HASHTAGS_IN_MENU, FollowedHashtagService
from timelines.lists.service import LISTS_IN_MENU, ListService
from timelines.public_lists.service import PublicListService, list_ids_of

TABS_PATH = "/lists/tabs/"
MAX_TABS: Final = LISTS_IN_MENU + HASHTAGS_IN_MENU
ACTIONS = ("add", "remove", "up", "down")


async def show(request: SiteRequest) -> HttpResponseBase:
    """Show the tabs in their order, and the lists and followed hashtags that are no tabs."""
    titles, tabs = await _load(request)
    chosen = [{"name": name, "title": titles[name]} for name in tabs]
    others = [{"name": name, "title": title} for name, title in titles.items() if name not in tabs]
    is_full = len(chosen) >= MAX_TABS
    page = {"tabs": chosen, "others": others, "is_full": is_full, "page_title": _("Tabs of Home")}
    return page_response(request, "timelines/tabs.html", page)


async def change(request: SiteRequest) -> HttpResponseBase:
    """Add a tab, remove it, or move it by one place. Takes `tab` (id of a list, or hashtag with "#") and `action`."""
    me, fields, services = require_viewer_id(request), get_form_data(request), request.services
    action, name = parse_choice("action", fields.get("action"), ACTIONS), fields.get("tab", "")
    titles, shown = await _load(request, name)
    if name not in titles:
        raise MalformedRequest(fields={"tab": _("This is not one of the choices.")})

    def edit(preferences: Preferences) -> Preferences:
        tabs = shown if preferences.tabs is None else [each for each in preferences.tabs if each in titles]
        return structs.replace(preferences, tabs=tuple(_edit(tabs, name, action)))

    chosen = await services[AccountService].change_preferences(account_id=me, change=edit)
    for service in (services[ListService], services[FollowedHashtagService]):
        service.menus.drop(me)
    tabs = chosen.tabs or ()
    place = f"#tab-{tabs.index(name) + 1}" if name in tabs else ""
    return redirect_to_next(request, TABS_PATH + place)


async def _load(request: SiteRequest, added: str = "") -> tuple[dict[str, str], list[str]]:
    """Return the titles of all possible tabs by name, and the names of the chosen tabs in their order.

    A public list of another account is possible if it is a tab, or if `added` is its name.
    """
    me, tabs = require_viewer_id(request), require_account(request).preferences.tabs
    lists, public_lists, tags = await run_together(
        request.services[ListService].all_lists(me),
        request.services[PublicListService].find_many(list_ids_of([*(tabs or ()), added]), me),
        request.services[FollowedHashtagService].followed(me),
    )
    list_titles = {str(each.id): each.title for each in lists}
    own_names = list(list_titles)
    list_titles |= {str(each.id): each.title for each in public_lists}
    names = [f"#{tag}" for tag in tags]
    if tabs is None:
        tabs = (*own_names[:LISTS_IN_MENU], *names[:HASHTAGS_IN_MENU])
    titles = {**list_titles, **dict(zip(names, names, strict=True))}
    return titles, [name for name in tabs if name in titles]


def _edit(tabs: list[str], name: str, action: str) -> list[str]:
    """Return the tabs after an action. An action that is not possible changes nothing."""
    others = [each for each in tabs if each != name]
    if action == "remove":
        return others
    if name not in tabs:
        return [*tabs, name] if action == "add" and len(tabs) < MAX_TABS else tabs
    at = tabs.index(name)
    if action != "add":
        others.insert(max(at + (1 if action == "down" else -1), 0), name)
        return others
    return tabs
