"""The services that take posts in, bring them to their readers and build timelines anew."""

from socialsite.services.ground import Ground
from timelines.fanout.account_purge import Purging
from timelines.fanout.rebuilding import RebuildingService
from timelines.fanout.service import SyndicationService
from timelines.publishing.service import PublishingService


def build_publishing(ground: Ground) -> PublishingService:
    return PublishingService(
        posts=ground.at.posts,
        storing=ground.storing,
        placing=ground.placing,
        live=ground.live,
        boosts=ground.boosting,
        sees=ground.hydrator.sees,
        check_room=ground.memory.check,
        max_graphemes=ground.config.post_max_length,
    )


def build_syndication(ground: Ground) -> SyndicationService:
    at = ground.at
    return SyndicationService(
        posts=at.posts,
        placing=ground.placing,
        purging=_purging(ground),
        boosting=ground.boosting,
        indexing=ground.indexing,
        pulling=ground.pulling,
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
        turn_ms=ground.config.time_slice_ms,
        noticing=(ground.notifications.notice, ground.trending.notice),
    )


def _purging(ground: Ground) -> Purging:
    at = ground.at
    return Purging(
        reactions=ground.reactions,
        boosts=ground.boosting,
        relations=at.relations,
        requests=at.requests,
        filters=at.filters,
        notifications=at.notifications,
        followed_tags=at.followed_tags,
        positions=at.positions,
        posts=at.posts,
        profiles=at.profiles,
        placing=ground.placing,
        follows=at.follows,
        lists=at.lists,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
    )


def build_rebuilding(ground: Ground) -> RebuildingService:
    at = ground.at
    return RebuildingService(
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
