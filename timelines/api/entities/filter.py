"""The entities Filter, FilterKeyword, FilterStatus and V1::Filter (https://docs.joinmastodon.org/entities/Filter/)."""

from collections.abc import Sequence

from socialsite.web.responses import format_iso_time
from timelines.pages.presenters import Json
from timelines.visibility.filter import DEFAULT_PLACES, KeywordFilter


def filter_summary(keyword_filter: KeywordFilter) -> Json:
    """Return a filter without its keywords, as the entity of a matching post contains it."""
    until_ms = keyword_filter.until_ms
    return {
        "id": str(keyword_filter.group_id),
        "title": keyword_filter.title or keyword_filter.phrase,
        "context": keyword_filter.contexts or DEFAULT_PLACES,
        "expires_at": None if until_ms is None else format_iso_time(until_ms),
        "filter_action": keyword_filter.action,
    }


def filter_entity(members: Sequence[KeywordFilter]) -> Json:
    """Return a group of filters as one filter with keywords and posts."""
    return filter_summary(members[0]) | {
        "keywords": [keyword_entity(each) for each in members if each.phrase],
        "statuses": [filter_status_entity(each) for each in members if each.post_id],
    }


def keyword_entity(keyword_filter: KeywordFilter) -> Json:
    return {"id": str(keyword_filter.id), "keyword": keyword_filter.phrase, "whole_word": keyword_filter.whole_word}


def filter_status_entity(keyword_filter: KeywordFilter) -> Json:
    return {"id": str(keyword_filter.id), "status_id": str(keyword_filter.post_id)}


def v1_filter_entity(keyword_filter: KeywordFilter) -> Json:
    summary = filter_summary(keyword_filter)
    return {
        "id": str(keyword_filter.id),
        "phrase": keyword_filter.phrase,
        "context": summary["context"],
        "whole_word": keyword_filter.whole_word,
        "expires_at": summary["expires_at"],
        "irreversible": keyword_filter.action == "hide",
    }


def filter_results(matches: Sequence[KeywordFilter]) -> list[Json]:
    """Return the value of the field `filtered` of a post. Clients compare the contexts of each filter themselves."""
    groups: dict[int, list[KeywordFilter]] = {}
    for each in matches:
        groups.setdefault(each.group_id, []).append(each)
    return [
        {
            "filter": filter_summary(members[0]),
            "keyword_matches": [each.phrase for each in members if not each.post_id] or None,
            "status_matches": [str(each.post_id) for each in members if each.post_id] or None,
        }
        for members in groups.values()
    ]
