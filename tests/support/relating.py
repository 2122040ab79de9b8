"""What stands between two people, as tests look at it."""

from socialsite.services import Services
from tests.support.world import Person
from timelines.domain.relation import Relation


async def relation(services: Services, one: Person, other: Person) -> Relation:
    return await services.relations.relation(one.id, other.id, services.clock.now_ms())


async def request_stands(services: Services, requester: Person, target: Person) -> tuple[bool, bool]:
    """At the one that is asked, and at the one that asks."""
    at = services.repositories.requests
    return await at.stands(requester.id, target.id), await at.is_asking(requester.id, target.id)
