"""Keyword filters in the API: groups of phrases (v2), and single phrases (v1)."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from msgspec.structs import replace

from socialsite.errors import Invalid
from socialsite.ids import PostId, parse_id
from socialsite.web.requests import FormFields, SiteRequest, require_viewer_id
from timelines.api.endpoint import endpoint
from timelines.api.entities.filter import filter_entity, filter_status_entity, keyword_entity, v1_filter_entity
from timelines.api.fields import FALSE_TEXTS, api_fields, flag, require_id
from timelines.filters.forms import parse_end_ms
from timelines.filters.service import FilterService, Phrase
from timelines.pages.presenters import Json
from timelines.reading.service import ReadingService
from timelines.visibility.filter import FILTER_ACTIONS, FILTER_PLACES, FilterPlace, KeywordFilter

NEW_FILTER = KeywordFilter(0, "")


# v2: groups


@endpoint("read:filters", needs_account=True)
async def index(request: SiteRequest) -> list[Json]:
    groups: dict[int, list[KeywordFilter]] = {}
    for each in await _service(request).all(require_viewer_id(request)):
        groups.setdefault(each.group_id, []).append(each)
    return [filter_entity(members) for members in groups.values()]


@endpoint("write:filters", needs_account=True, names={"phrase": "keywords_attributes"})
async def create(request: SiteRequest) -> Json:
    fields = api_fields(request)
    shared = _parse_shared(fields, request.services.clock.now_ms(), NEW_FILTER)
    keywords = [phrase for keyword in _keywords(fields) if (phrase := _parse_phrase(keyword))]
    return filter_entity(await _service(request).add_group(require_viewer_id(request), shared, keywords))


@endpoint("read:filters", needs_account=True)
async def show(request: SiteRequest, group_id: int) -> Json:
    return filter_entity(await _service(request).group(require_viewer_id(request), group_id))


@endpoint("write:filters", needs_account=True, names={"phrase": "keywords_attributes"})
async def edit(request: SiteRequest, group_id: int) -> Json:
    """Change a filter. Keywords with an id are changed, or removed by `_destroy`; the others are added."""
    fields, me, service = api_fields(request), require_viewer_id(request), _service(request)
    members = {each.id: each for each in await service.group(me, group_id)}
    shared = _parse_shared(fields, request.services.clock.now_ms(), next(iter(members.values())))
    added: list[Phrase] = []
    changed: dict[int, Phrase] = {}
    removed: set[int] = set()
    for keyword in _keywords(fields):
        number = parse_id(keyword.get("id", ""))
        if number is None:
            added += filter(None, [_parse_phrase(keyword)])
        elif keyword.get("_destroy", "0").lower() not in FALSE_TEXTS:
            removed.add(number)
        elif number in members and (phrase := _parse_phrase(keyword, members[number])):
            changed[number] = phrase
    await service.edit_group(me, group_id, shared, added=added, changed=changed, removed=removed)
    return filter_entity(await service.group(me, group_id))


@endpoint("write:filters", needs_account=True)
async def delete(request: SiteRequest, group_id: int) -> None:
    await _service(request).delete_group(require_viewer_id(request), group_id)


@endpoint("read:filters", needs_account=True)
async def keywords(request: SiteRequest, group_id: int) -> list[Json]:
    members = await _service(request).group(require_viewer_id(request), group_id)
    return [keyword_entity(each) for each in members if each.phrase]


@endpoint("write:filters", needs_account=True, names={"phrase": "keyword"})
async def add_keyword(request: SiteRequest, group_id: int) -> Json:
    me, service, phrase = require_viewer_id(request), _service(request), _parse_phrase(api_fields(request))
    await service.group(me, group_id)
    if phrase is None:
        raise Invalid({"keyword": _("Enter a word or a phrase.")})
    return keyword_entity((await service.edit_group(me, group_id, added=[phrase]))[-1])


@endpoint("read:filters", needs_account=True)
async def show_keyword(request: SiteRequest, number: int) -> Json:
    return keyword_entity(await _find(request, number))


@endpoint("write:filters", needs_account=True, names={"phrase": "keyword"})
async def edit_keyword(request: SiteRequest, number: int) -> Json:
    me, stored = require_viewer_id(request), await _find(request, number)
    phrase = _parse_phrase(api_fields(request), stored) or (stored.phrase, stored.whole_word)
    await _service(request).edit_group(me, stored.group_id, changed={number: phrase})
    return keyword_entity(await _find(request, number))


@endpoint("write:filters", needs_account=True)
async def delete_member(request: SiteRequest, number: int, of_post: bool = False) -> None:
    """Delete one phrase, or with `of_post` one post of a filter."""
    await _find(request, number, of_post=of_post)
    await _service(request).delete(account_id=require_viewer_id(request), number=number)


@endpoint("read:filters", needs_account=True)
async def statuses(request: SiteRequest, group_id: int) -> list[Json]:
    members = await _service(request).group(require_viewer_id(request), group_id)
    return [filter_status_entity(each) for each in members if each.post_id]


@endpoint("write:filters", needs_account=True)
async def add_status(request: SiteRequest, group_id: int) -> Json:
    """Filter one post, which the viewer must be able to see."""
    me, service = require_viewer_id(request), _service(request)
    await service.group(me, group_id)  # raises FilterNotFound before the fields are checked
    post_id = PostId(require_id(api_fields(request), "status_id"))
    entry = await request.services[ReadingService].post(post_id, viewer_id=me)
    return filter_status_entity(await service.add_post(me, group_id, entry.shown.id))


@endpoint("read:filters", needs_account=True)
async def show_status(request: SiteRequest, number: int, of_post: bool) -> Json:
    return filter_status_entity(await _find(request, number, of_post=of_post))


# v1: phrases


@endpoint("read:filters", needs_account=True)
async def v1_index(request: SiteRequest) -> list[Json]:
    filters = await _service(request).all(require_viewer_id(request))
    return [v1_filter_entity(each) for each in filters if each.phrase]


@endpoint("write:filters", needs_account=True)
async def v1_create(request: SiteRequest) -> Json:
    fields = api_fields(request)
    shared = _parse_shared(_as_v2(fields), request.services.clock.now_ms(), NEW_FILTER)
    phrase = fields.get("phrase", ""), flag(fields, "whole_word")
    (added,) = await _service(request).add_group(require_viewer_id(request), shared, [phrase])
    return v1_filter_entity(added)


@endpoint("read:filters", needs_account=True)
async def v1_show(request: SiteRequest, number: int) -> Json:
    return v1_filter_entity(await _find(request, number))


@endpoint("write:filters", needs_account=True)
async def v1_edit(request: SiteRequest, number: int) -> Json:
    fields, me, stored = api_fields(request), require_viewer_id(request), await _find(request, number)
    shared = _parse_shared(_as_v2(fields), request.services.clock.now_ms(), stored)
    phrase = fields.get("phrase", stored.phrase), flag(fields, "whole_word", stored.whole_word)
    await _service(request).edit_group(me, stored.group_id, shared, changed={number: phrase})
    return v1_filter_entity(await _find(request, number))


def _service(request: SiteRequest) -> FilterService:
    return request.services[FilterService]


async def _find(request: SiteRequest, number: int, *, of_post: bool = False) -> KeywordFilter:
    return await _service(request).find(require_viewer_id(request), number, of_post=of_post)


def _as_v2(fields: FormFields) -> FormFields:
    """Return the fields of v1 with the names of v2."""
    if "irreversible" not in fields:
        return fields
    return FormFields([*fields.pairs, ("filter_action", "hide" if flag(fields, "irreversible") else "warn")])


def _parse_shared(fields: FormFields, now_ms: int, stored: KeywordFilter) -> KeywordFilter:
    """Return `stored` with the submitted title, contexts, action and expiry. Raises Invalid."""
    errors: dict[str, Any] = {}
    places = fields.values_of("context")
    contexts: tuple[FilterPlace, ...] = tuple(place for place in FILTER_PLACES if place in places)
    if len(contexts) != len(set(places)) or not (contexts or stored.id):
        errors["context"] = _("This must be one or more of: home, notifications, public, thread, account.")
    name, until_ms = fields.get("filter_action", stored.action), stored.until_ms
    action = next((each for each in FILTER_ACTIONS if each == name), None)
    if action is None:
        errors["filter_action"] = _("This must be one of: %(choices)s.") % {"choices": ", ".join(FILTER_ACTIONS)}
    if "expires_in" in fields:
        try:
            until_ms = parse_end_ms(fields["expires_in"], now_ms)
        except ValueError:
            errors["expires_in"] = _("This is not a number of seconds.")
    if errors:
        raise Invalid(errors)
    return replace(
        stored,
        title=fields.get("title", stored.title),
        contexts=contexts or stored.contexts,
        action=action or stored.action,
        until_ms=until_ms,
    )


def _keywords(fields: FormFields) -> list[dict[str, str]]:
    return fields.objects_of("keywords_attributes")


def _parse_phrase(keyword: "dict[str, str]", stored: KeywordFilter | None = None) -> Phrase | None:
    """Return the phrase of a keyword, or None if the field is absent."""
    phrase = keyword.get("keyword", "" if stored is None else stored.phrase)
    whole_word = keyword.get("whole_word", "")
    default = stored is not None and stored.whole_word
    return (phrase, whole_word.lower() not in FALSE_TEXTS if whole_word else default) if phrase else None
