"""The entities Filter, FilterKeyword, FilterStatus and V1::Filter (https://docs.joinmastodon.org/entities/Filter/)."""

from collections.abc import Sequence

from socialsite.web.responses import format_iso_time
from timelines.pages.presenters import Json
from timelines.visibility.filter import DEFAULT_PLACES, KeywordFilter


def filter_summary(keyword_filter: KeywordFilter) -> Json:
    """Return a filter without its keywords, as a post has it that the filter matches."""
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


def filter_results(keyword_filter: KeywordFilter | None) -> list[Json]:
    """Return the value of the field `filtered` of a post."""
    if keyword_filter is None:
        return []
    post_id = keyword_filter.post_id
    result = {
        "filter": filter_summary(keyword_filter),
        "keyword_matches": None if post_id else [keyword_filter.phrase],
        "status_matches": [str(post_id)] if post_id else None,
    }
    return [result]
