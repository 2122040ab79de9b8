"""The services that take posts in, bring them to their readers and build timelines anew."""

from socialsite.services.ground import Ground
from timelines.fanout.account_purge import AccountPurge
from timelines.fanout.rebuilding import RebuildService
from timelines.fanout.service import FanOutService
from timelines.publishing.service import PublishingService


def build_publishing(ground: Ground) -> PublishingService:
    return PublishingService(
        posts=ground.at.posts,
        storing=ground.storing,
        placing=ground.placing,
        live=ground.live,
        boosts=ground.boosting,
        sees=ground.hydrator.can_see,
        check_room=ground.memory.check,
        max_graphemes=ground.config.post_max_length,
    )


def build_syndication(ground: Ground) -> FanOutService:
    at = ground.at
    return FanOutService(
        posts=at.posts,
        author_timelines=ground.placing,
        account_purge=_purging(ground),
        boosts=ground.boosting,
        indexing=ground.indexing,
        fan_out_on_read=ground.pulling,
        follows=at.follows,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
        accounts=ground.accounts,
        live=ground.live,
        lag=at.lag,
        meter=ground.statistics.meter,
        clock=ground.clock,
        posts_per_pass=ground.config.posts_per_pass,
        slice_ms=ground.config.time_slice_ms,
        post_listeners=(ground.notifications.notify, ground.trending.count_post),
    )


def _purging(ground: Ground) -> AccountPurge:
    at = ground.at
    return AccountPurge(
        reactions=ground.reactions,
        boosts=ground.boosting,
        blocks_and_mutes=at.relations,
        follow_requests=at.requests,
        filters=at.filters,
        notifications=at.notifications,
        followed_hashtags=at.followed_tags,
        markers=at.positions,
        posts=at.posts,
        profiles=at.profiles,
        author_timelines=ground.placing,
        follows=at.follows,
        lists=at.lists,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
    )


def build_rebuilding(ground: Ground) -> RebuildService:
    at = ground.at
    return RebuildService(
        reading=ground.reading,
        homes=at.homes,
        list_timelines=at.list_timelines,
        lists=at.lists,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        posts=at.posts,
        indexing=ground.indexing,
        public_cap=ground.config.public_cap,
    )
