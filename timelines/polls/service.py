"""Votes in polls, and the notifications at the end of a poll.

A reader who may see the post may vote once. The results are shown after the reader has voted, to the author, and to
everybody after the end. The worker notifies the author and the voters after the end.
"""

from collections.abc import Collection, Iterable

from django.utils.translation import gettext as _

from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Service
from timelines.errors import AlreadyVoted, OneChoiceOnly, PollEnded, PostNotFound, VoteInvalid
from timelines.live_updates.service import LiveService
from timelines.notifications.kinds import POLL
from timelines.notifications.service import NotificationService
from timelines.pages.page import HydratedPost
from timelines.posts.poll_votes import PollRepository, VoteResult
from timelines.posts.post import Poll, Post
from timelines.posts.repository import PostRepository
from timelines.reading.pipeline import ReadPipeline

NO_CHOICE = -1  # no option has this number
ENDS_INTERVAL_S = 5.0
VOTERS_PER_BATCH = 200


class PollService(Service):
    """Stores votes, and notifies the author and the voters of ended polls."""

    polls: PollRepository
    posts: PostRepository
    pipeline: ReadPipeline
    notifications: NotificationService
    live: LiveService
    clock: TimeSource

    async def vote(
        self, *, account_id: AccountId, post_id: PostId, choices: Collection[int], may_repeat: bool = True
    ) -> HydratedPost:
        """Vote in the poll of a post, and return the post with the results.

        Raises PostNotFound if the account may not see the post or the post has no poll, VoteInvalid, PollEnded, and
        AlreadyVoted if the account has voted with other choices, or, without `may_repeat`, with any choices.
        """
        entry = (await self.pipeline.get_visible(account_id, post_id)).shown
        if entry.poll is not None and entry.poll.own and not may_repeat:
            raise AlreadyVoted
        poll = entry.post.extra.poll
        if poll is None:
            raise PostNotFound
        if entry.post.author_id == account_id:
            raise VoteInvalid({"choices": _("You cannot vote in your own poll.")})
        check_choices(poll, choices)
        result = await self.polls.vote(entry.id, poll, account_id, choices, self.clock.now_ms())
        match result:
            case VoteResult.ENDED:
                raise PollEnded
            case VoteResult.NO_POLL:
                raise VoteInvalid({"choices": _("The options of this poll have changed. Please choose again.")})
        entry = (await self.pipeline.get_visible(account_id, entry.id)).shown
        if entry.poll is None or set(choices) != set(entry.poll.own):
            raise AlreadyVoted
        await self.live.counts_changed(entry.id)
        return entry

    async def schedule_end(self, post: Post) -> None:
        """Schedule the notifications at the end of the poll of a new or edited post. The worker may repeat it."""
        if post.extra.poll is not None:
            await self.polls.ends.add(post.id, post.extra.poll.ends_ms)

    async def notify_of_ended_polls(self) -> int:
        """Notify the authors and voters of ended polls. Return the number of polls. Raises StoreUnavailable.

        After a crash the notifications of a poll are repeated; a repeated notification has no effect.
        """
        return await self.polls.ends.process_due(self._notify_of_end, self.clock)

    async def _notify_of_end(self, post_id: PostId) -> bool:
        """Notify the author and the voters. Return False if an edit has moved the end of the poll."""
        post = await self.posts.find(post_id)
        if post is None or post.extra.poll is None:
            return True
        if post.extra.poll.ends_ms > self.clock.now_ms():
            await self.polls.ends.add(post_id, post.extra.poll.ends_ms)
            return False
        await self.notifications.add({post.author_id: POLL}, post.author_id, post_id)
        start = 0
        while voter_ids := await self.polls.voters(post_id, start, VOTERS_PER_BATCH):
            await self.notifications.add(dict.fromkeys(voter_ids, POLL), post.author_id, post_id)
            start += len(voter_ids)
        await self.live.counts_changed(post_id)
        return True

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("polls", ENDS_INTERVAL_S, self.notify_of_ended_polls),)


def parse_choices(texts: Iterable[str]) -> list[int]:
    """Return the numbers of the options. A text that is no number becomes NO_CHOICE."""
    return [int(text) if text.isascii() and text.isdigit() and len(text) < 3 else NO_CHOICE for text in texts]


def check_choices(poll: Poll, choices: Collection[int]) -> None:
    """Raise VoteInvalid if a choice is no option of the poll, or if there are more choices than the poll allows."""
    if not choices:
        raise VoteInvalid({"choices": _("Choose an option first.")})
    if any(choice not in range(len(poll.options)) for choice in choices):
        raise VoteInvalid({"choices": _("The chosen vote option does not exist.")})
    if len(set(choices)) > 1 and not poll.multiple:
        raise OneChoiceOnly({"choices": _("Choose one option only.")})
