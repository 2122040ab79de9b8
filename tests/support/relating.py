"""What stands between two people, as tests look at it."""

from socialsite.services import Services
from tests.support.world import Person
from timelines.following.blocks_and_mutes import RelationsService
from timelines.graph.relation import Relation


async def read_relation(services: Services, one: Person, other: Person) -> Relation:
    return await services.relations.relation(one.id, other.id, services.clock.now_ms())


async def follow_request_sides(services: Services, requester: Person, target: Person) -> tuple[bool, bool]:
    """At the one that is asked, and at the one that asks."""
    at = services.repositories.requests
    return await at.stands(requester.id, target.id), await at.is_asking(requester.id, target.id)


def service_with_cap_of_one(services: Services) -> RelationsService:
    """Everybody blocks, mutes and quiets one other at most."""
    at = services.repositories
    return RelationsService(
        store=services.store, relations=at.relations, requests=at.requests, follows=at.follows,
        accounts=services.accounts, homes=at.homes, live=services.live,
        blocks_cap=1, mutes_cap=1, quieted_cap=1,
    )  # fmt: skip
