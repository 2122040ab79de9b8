"""The services for what people have to do with each other."""

from socialsite.services.ground import Ground
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.lists.service import ListService
from timelines.profiles.service import ProfileService
from timelines.search.autocomplete import AutocompleteService


def build_following(ground: Ground) -> FollowingService:
    return FollowingService(
        follows=ground.at.follows,
        blocks_and_mutes=ground.at.relations,
        follow_requests=ground.at.requests,
        accounts=ground.accounts,
        homes=ground.at.homes,
        following_cap=ground.config.following_cap,
        notifications=ground.notifications,
        track_pending=ground.owed_notices.track,
    )


def build_relations(ground: Ground) -> BlocksAndMutesService:
    return BlocksAndMutesService(
        store=ground.store,
        blocks_and_mutes=ground.at.relations,
        follow_requests=ground.at.requests,
        follows=ground.at.follows,
        accounts=ground.accounts,
        homes=ground.at.homes,
        live=ground.live,
    )


def build_visiting(ground: Ground, relating: BlocksAndMutesService) -> ProfileService:
    return ProfileService(
        store=ground.store,
        accounts=ground.accounts,
        reading=ground.reading,
        relating=relating,
        relations=ground.at.relations,
        follows=ground.at.follows,
        positions=ground.at.positions,
        clock=ground.clock,
    )


def build_requests(ground: Ground) -> FollowRequestService:
    return FollowRequestService(
        follow_requests=ground.at.requests,
        blocks_and_mutes=ground.at.relations,
        follows=ground.at.follows,
        accounts=ground.accounts,
        homes=ground.at.homes,
        following_cap=ground.config.following_cap,
    )


def build_lists(ground: Ground) -> ListService:
    return ListService(
        lists=ground.at.lists,
        members=ground.at.members,
        accounts=ground.accounts,
        timelines=ground.at.list_timelines,
        rules=ground.rules,
        live=ground.live,
        members_cap=ground.config.list_members_cap,
    )


def build_suggesting(ground: Ground) -> FollowSuggestionService:
    at = ground.at
    return FollowSuggestionService(
        store=ground.store,
        follows=at.follows,
        follow_requests=at.requests,
        authors=ground.accounts,
        public=at.public,
        posts=at.posts,
        clock=ground.clock,
    )


def build_completing(ground: Ground) -> AutocompleteService:
    at = ground.at
    return AutocompleteService(
        store=ground.store,
        names=at.names,
        tags=at.tags,
        posts=at.posts,
        authors=ground.accounts,
        follows=at.follows,
        clock=ground.clock,
    )
