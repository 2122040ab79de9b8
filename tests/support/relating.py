"""Read the relations between two accounts in tests."""

from socialsite.container import Services
from tests.support.world import Person
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.graph.follow import Relationship


async def read_relation(services: Services, one: Person, other: Person) -> Relationship:
    return await services.blocks_and_mutes.relationship(one.id, other.id, services.clock.now_ms())


async def follow_request_sides(services: Services, requester: Person, target: Person) -> tuple[bool, bool]:
    """Return whether the request exists at the target, and at the requester."""
    at = services.repositories.follow_requests
    return await at.exists(requester.id, target.id), await at.is_asking(requester.id, target.id)


def service_with_cap_of_one(services: Services) -> BlocksAndMutesService:
    """A service in which every account may block, mute and hide the boosts of one other account."""
    at = services.repositories
    return BlocksAndMutesService(
        store=services.store, blocks_and_mutes=at.blocks_and_mutes,
        follow_requests=at.follow_requests, follows=at.follows,
        accounts=services.accounts, homes=at.homes, live=services.live, limits=services.action_limits,
        blocks_cap=1, mutes_cap=1, hidden_boosts_cap=1,
    )  # fmt: skip
