"""What stands between two people, as tests look at it."""

from socialsite.container import Services
from tests.support.world import Person
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.graph.follow import Relationship


async def read_relation(services: Services, one: Person, other: Person) -> Relationship:
    return await services.relations.relationship(one.id, other.id, services.clock.now_ms())


async def follow_request_sides(services: Services, requester: Person, target: Person) -> tuple[bool, bool]:
    """At the one that is asked, and at the one that asks."""
    at = services.repositories.requests
    return await at.exists(requester.id, target.id), await at.is_asking(requester.id, target.id)


def service_with_cap_of_one(services: Services) -> BlocksAndMutesService:
    """Everybody blocks, mutes and hides the boosts of at most one other account."""
    at = services.repositories
    return BlocksAndMutesService(
        blocks_and_mutes=at.relations, follow_requests=at.requests, follows=at.follows,
        accounts=services.accounts, homes=at.homes, live=services.live,
        blocks_cap=1, mutes_cap=1, hidden_boosts_cap=1,
    )  # fmt: skip
