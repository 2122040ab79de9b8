"""The audit of notifications removes invalid notifications; a notification without a cause is no damage."""

import pytest

from socialsite.container import Services
from tests.support.sample_site import SampleSite
from timelines import keys

DAMAGE = {"notification_garbage": "rubbish", "notification_of_nobody": "like:999:5"}


@pytest.mark.parametrize("kind", DAMAGE)
async def test_damage_is_found_and_repaired(town: SampleSite, services: Services, kind: str) -> None:
    await services.store.execute_all([("ZADD", keys.notifications(town.alice.id), 5, DAMAGE[kind])])
    report = await town.audit()
    assert [found.kind for found in report.discrepancies] == [kind]
    await town.audit(repair=True)
    assert list((await town.audit()).discrepancies) == []


async def test_a_notification_without_its_cause_is_no_damage(town: SampleSite, services: Services) -> None:
    await town.carol.follows(town.alice)
    await town.carol.unfollows(town.alice)
    assert list((await town.audit()).discrepancies) == []
