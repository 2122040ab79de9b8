"""The services that publish, edit and react."""

from socialsite.container.timelines import TimelineServices
from timelines.drafts.service import DraftService
from timelines.polls.service import PollService
from timelines.publishing.edits import EditService
from timelines.publishing.hashtag_limit import NewHashtagLimit
from timelines.publishing.post_writer import PostWriter
from timelines.publishing.service import PublishingService
from timelines.publishing.timeline_writer import TimelineWriter
from timelines.quotes.service import QuoteService
from timelines.reactions.boosts import BoostService
from timelines.reactions.edit_notifications import EditNotifications
from timelines.reactions.service import ReactionsService


class PostServices(TimelineServices):
    """Adds the services that write posts and reactions."""

    def _build_publishing(self) -> None:
        store, config, data = self.store, self.config, self.repositories
        self.timeline_writer = TimelineWriter(
            posts=data.posts, author_timelines=data.author_timelines, public_timeline=data.public,
            hashtag_timelines=data.hashtag_timelines, homes=data.homes, search_indexer=self.search_indexer,
            replies=data.threads, pins=data.pins, quotes=data.quotes,
        )  # fmt: skip
        self.post_writer = PostWriter(
            ids=self.ids, posts=data.posts, timeline_writer=self.timeline_writer, outbox=self.outbox,
            live=self.live, meter=self.meter,
        )  # fmt: skip
        self.new_hashtags = NewHashtagLimit(
            limits=self.action_limits, hashtag_timelines=data.hashtag_timelines,
            new_hashtags_per_day=config.new_hashtags_per_day,
        )  # fmt: skip
        self.boosts = BoostService(
            reactions=data.reactions, posts=data.posts, post_writer=self.post_writer,
            timeline_writer=self.timeline_writer, outbox=self.outbox, live=self.live,
            notifications=self.notifications,
        )  # fmt: skip
        self.quotes = QuoteService(
            store=store, quotes=data.quotes, posts=data.posts, pipeline=self.pipeline, accounts=self.accounts,
            follows=data.follows, live=self.live,
        )  # fmt: skip
        self.publishing = PublishingService(
            posts=data.posts, post_writer=self.post_writer, timeline_writer=self.timeline_writer, live=self.live,
            boosts=self.boosts, pipeline=self.pipeline, memory=self.memory, post_max_length=config.post_max_length,
            new_hashtags=self.new_hashtags, posts_per_day=config.posts_per_day,
            poll_max_options=config.poll_max_options, limits=self.action_limits, media=self.media, quotes=data.quotes,
            quote_service=self.quotes, blocked=self.blocked_content,
            hold_post=lambda author_id, form: self.drafts.hold(author_id, form), first_links=self.first_links,
        )  # fmt: skip

    def _build_changes_and_reactions(self) -> None:
        store, clock, data = self.store, self.clock, self.repositories
        self.edits = EditService(
            posts=data.posts, publishing=self.publishing, timeline_writer=self.timeline_writer, outbox=self.outbox,
            live=self.live, media=self.media, limits=self.action_limits,
        )  # fmt: skip
        self.drafts = DraftService(
            drafts=data.drafts, publishing=self.publishing, posts=data.posts, media=self.media, accounts=data.accounts,
            notifications=self.notifications, site=self.site, limits=self.action_limits, ids=self.ids, clock=clock,
        )  # fmt: skip
        self.polls = PollService(
            polls=data.poll_votes, posts=data.posts, pipeline=self.pipeline, notifications=self.notifications,
            live=self.live, clock=clock,
        )  # fmt: skip
        self.reactions = ReactionsService(
            reactions=data.reactions, bookmark_repository=data.bookmarks, boosts=self.boosts, pipeline=self.pipeline,
            posts=data.posts, store=store, accounts=self.accounts, clock=clock, live=self.live,
            notifications=self.notifications, pending=self.pending_notifications, popular=self.popular,
            memory=self.memory, limits=self.action_limits,
        )  # fmt: skip
        self.edit_notifications = EditNotifications(
            reactions=data.reactions, quotes=data.quotes, posts=data.posts, notifications=self.notifications
        )
