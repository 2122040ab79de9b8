"""Trimming applies caps and drops leftovers; all other data stays unchanged."""

import dataclasses
from typing import Any

import pytest

from accounts import keys as account_keys
from socialsite.container import Services
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.management import run_command, run_with_services
from tests.support.sample_site import SampleSite
from tests.support.topologies import Deployment
from tests.support.world import World
from timelines import keys
from timelines.audit.trimming import Trimming


async def trim(town: SampleSite, **options: Any) -> dict[str, int]:
    return dict(await Trimming(town.services.audit_context, second_check_after_s=0.01).trim(**options))


async def test_a_site_within_its_caps_loses_nothing(town: SampleSite, deployment: Deployment) -> None:
    before = deployment.all_keys()
    assert await trim(town) == {}
    assert deployment.all_keys() == before
    assert not (await town.audit()).discrepancies


async def test_lowered_caps_cut_the_oldest_and_raise_the_floor(world: World, redis_urls: StoreUrls) -> None:
    town = await SampleSite.build(world)
    for _ in range(6):
        await town.bob.publishes("more #tag")
    await world.deliver_all()
    whole = await town.alice.home_ids()
    config = dataclasses.replace(world.services.config, home_cap=4, public_cap=5, profile_cap=6)
    async with open_services(redis_urls, config) as lower:
        trimming = Trimming(lower.audit_context, second_check_after_s=0.01)
        would = await trimming.trim(dry_run=True)
        assert would == await trimming.trim()
        assert set(would) == {"home_entries", "public_entries", "profile_entries"}
        assert await trimming.trim() == {}
        page = await lower.reading.home(town.alice.id)
        assert [entry.post.id for entry in page.entries] == [i for i in whole if i != town.first.id]
        assert await lower.repositories.author_timelines.count(town.bob.id) == 6
    entries = await town.execute("LRANGE", keys.home_timeline(town.alice.id), 0, -1)
    assert len(entries) == 5
    assert int(entries[-1]) < 0


async def test_leftovers_are_deleted_and_used_data_stays(town: SampleSite) -> None:
    index = account_keys.session_index(town.bob.id)
    await town.execute("ZADD", index, 5, "c" * 64)
    await town.execute("PEXPIRE", index, 100_000)
    await town.execute("ZADD", keys.list_index(town.bob.id), 99, 99)
    assert await trim(town, dry_run=True) == {"session_gone": 1, "list_gone": 1}
    assert await trim(town) == {"session_gone": 1, "list_gone": 1}
    assert await trim(town) == {}
    assert (await town.services.lists.lists(town.alice.id)).lists == (town.list,)


async def test_dead_letters_are_trimmed_to_their_cap(town: SampleSite) -> None:
    node = town.services.store.node(town.services.outbox.dead_letters_key)
    letter = (
        "XADD",
        town.services.outbox.dead_letters_key,
        "*",
        "payload",
        "x",
        "reason",
        "r",
        "tries",
        1,
        "job",
        "1-1",
    )
    await node.execute_all([letter] * 10_050)
    assert await trim(town) == {"dead_letters": 50}
    assert (await town.services.outbox.read_depth()).dead == 10_000


@pytest.mark.usefixtures("here")
def test_the_trim_command_reports_its_removals() -> None:
    async def build(services: Services) -> None:
        town = await SampleSite.build(World(services))
        await town.execute("ZADD", keys.list_index(town.bob.id), 99, 99)

    run_with_services(build)
    assert run_command("trim", "--dry-run") == "list_gone: 1\nWould take away 1.\n"
    assert run_command("trim") == "list_gone: 1\nTook away 1.\n"
    assert run_command("trim") == "Took away 0.\n"
