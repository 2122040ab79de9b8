"""Presents polls as HTML and JSON. The results are absent while they are hidden from the viewer."""

from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import override

from socialsite.byte_cache import MB, byte_cached
from socialsite.ids import PostId
from socialsite.web.responses import format_iso_time
from timelines.pages.page import HydratedPost, PollState
from timelines.posts.post import Poll

CACHE_BYTES, KEY_BYTES = 2 * MB, 1_500


def poll_html(entry: HydratedPost, language: str) -> str:
    """Return the HTML of the poll of an entry that is no boost, or an empty text."""
    poll = entry.post.extra.poll
    if poll is None or entry.poll is None:
        return ""
    return _render(entry.post.id, poll, entry.poll, entry.viewer is None, language)


@byte_cached(CACHE_BYTES, entry_bytes=KEY_BYTES)
def _render(post_id: PostId, poll: Poll, state: PollState, is_visitor: bool, language: str) -> str:
    votes = state.votes or (0,) * len(poll.options)
    total = state.voters if poll.multiple else sum(votes)
    options = [
        {
            "text": text,
            "votes": count,
            "percent": round(100 * count / total) if total else 0,
            "is_own": number in state.own,
        }
        for number, (text, count) in enumerate(zip(poll.options, votes, strict=True))
    ]
    context = {
        "post_id": post_id,
        "options": options,
        "multiple": poll.multiple,
        "has_results": state.votes is not None,
        "may_vote": state.may_vote,
        "is_over": state.is_over,
        "is_visitor": is_visitor,
        "voters": state.voters,
        "ends_ms": poll.ends_ms,
    }
    with override(language or None):
        return render_to_string("timelines/_poll.html", context) + ""  # a plain `str`, which JSON accepts


def poll_json(entry: HydratedPost) -> dict[str, Any] | None:
    """Return the poll with the field names of Mastodon's Poll entity, or None if the post has no poll."""
    poll, state = entry.post.extra.poll, entry.poll
    if poll is None or state is None:
        return None
    votes = state.votes or (None,) * len(poll.options)
    return {
        "id": str(entry.post.id),
        "expires_at": format_iso_time(poll.ends_ms),
        "expired": state.is_over,
        "multiple": poll.multiple,
        "votes_count": None if state.votes is None else sum(state.votes),
        "voters_count": state.voters,
        "voted": bool(state.own),
        "own_votes": list(state.own),
        "options": [{"title": text, "votes_count": count} for text, count in zip(poll.options, votes, strict=True)],
    }
