"""Notifies the accounts that boosted or quoted a post of its edits, because they show the post to others."""

from collections.abc import Sequence
from typing import Final

from socialsite.concurrency import run_together
from socialsite.service import Part
from timelines.notifications.kinds import QUOTED_UPDATE, UPDATE
from timelines.notifications.service import NotificationService
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import FIELDS, Post
from timelines.posts.quotes import QuoteRepository
from timelines.posts.repository import PostRepository
from timelines.reactions.repository import ReactionKind, Reactions

NOTIFIED_BOOSTERS: Final = 500
NOTIFIED_QUOTES: Final = 100
"""The newest boosters and quotes of a post are notified, so that an edit costs a worker less than a second."""


class EditNotifications(Part):
    reactions: Reactions
    quotes: QuoteRepository
    posts: PostRepository
    notifications: NotificationService

    async def notify(self, versions: Sequence[Post], number: int) -> None:
        """Notify of version `number`. The call may be repeated."""
        edited = versions[number]
        if not _is_rewritten(versions[number - 1], edited):
            return
        boosters, quote_ids = await run_together(
            self.reactions.accounts(ReactionKind.BOOST, edited.id, None, NOTIFIED_BOOSTERS),
            self.quotes.read(edited.id, ABOVE_ALL_IDS, NOTIFIED_QUOTES, upward=False),
        )
        quotes, add, edited_ms = await self.posts.find_many(quote_ids), self.notifications.add, edited.extra.edited_ms
        await run_together(
            add(dict.fromkeys(boosters.account_ids, UPDATE), edited.author_id, edited.id, edited_ms),
            *(add({each.author_id: QUOTED_UPDATE}, edited.author_id, each.id, edited_ms) for each in quotes.values()),
        )


def _is_rewritten(former: Post, edited: Post) -> bool:
    """Return whether the author changed what readers see, not only who may quote the post (mastodon/mastodon#36299)."""
    if former.extra.is_folded != edited.extra.is_folded:  # staff has changed the warning
        return False
    return any(each.value_of(former) != each.value_of(edited) for each in FIELDS if each.is_content)
