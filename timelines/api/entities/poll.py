"""The entity Poll (https://docs.joinmastodon.org/entities/Poll/). A poll has the id of its post."""

from socialsite.web.responses import format_iso_time
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import Json


def poll_entity(entry: HydratedPost) -> Json | None:
    """Return the poll of an entry that is no boost, or None if the post has no poll.

    While the results are hidden from the viewer, options have no counts, and the number of votes is that of voters.
    """
    poll, state = entry.post.extra.poll, entry.poll
    if poll is None or state is None:
        return None
    votes = state.votes or (None,) * len(poll.options)
    return {
        "id": str(entry.post.id),
        "expires_at": format_iso_time(poll.ends_ms),
        "expired": state.is_over,
        "multiple": poll.multiple,
        "votes_count": state.voters if state.votes is None else sum(state.votes),
        "voters_count": state.voters,
        "options": [{"title": text, "votes_count": count} for text, count in zip(poll.options, votes, strict=True)],
        "emojis": [],
        **({} if entry.viewer is None else {"voted": bool(state.own) or entry.viewer.own, "own_votes": state.own}),
    }
