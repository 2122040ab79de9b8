"""The entity Poll (https://docs.joinmastodon.org/entities/Poll/). A poll has the id of its post."""

from timelines.pages.page import HydratedPost
from timelines.pages.polls import poll_json
from timelines.pages.presenters import Json


def poll_entity(entry: HydratedPost) -> Json | None:
    """Return the poll of an entry that is no boost, or None if the post has no poll.

    While the results are hidden from the viewer, options have no counts, and the number of voters replaces the number
    of votes. An author counts as a voter. A visitor gets no own votes.
    """
    poll = poll_json(entry)
    if poll is None:
        return None
    poll |= {"emojis": [], "votes_count": poll["voters_count"] if poll["votes_count"] is None else poll["votes_count"]}
    if entry.viewer is None:
        del poll["voted"], poll["own_votes"]
    else:
        poll["voted"] = poll["voted"] or entry.viewer.own
    return poll
