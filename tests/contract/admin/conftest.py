"""A moderator, a member, and the service of sanctions."""

import pytest

from socialsite.admin.audit_log import Actor
from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from tests.support.staff import staff_member
from tests.support.world import Person, World


@pytest.fixture
async def bob(world: World) -> Person:
    return await world.person("bob")


@pytest.fixture
async def sam(services: Services, world: World) -> Actor:
    return await staff_member(services, world, "sam", "moderator")


@pytest.fixture
def sanctions(services: Services) -> SanctionService:
    return SanctionService(services)
