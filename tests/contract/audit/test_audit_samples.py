"""The audit of samples, by command and in the background, finds every kind of damage."""

import pytest
from django.core.management import CommandError, call_command

from accounts import keys as account_keys
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.management import run_with_services
from tests.support.random_tests import mostly_nightly
from tests.support.sample_site import DAMAGE_BY_NAME, Damage, SampleSite
from tests.support.world import World
from timelines import keys
from timelines.audit import Audit
from timelines.audit.sampler import AuditSampler, DamageCounts

TEN: dict[str, Damage] = {
    kind: DAMAGE_BY_NAME[kind]
    for kind in (
        "follow_one_sided", "member_one_sided", "handle_without_account", "profile_of_nothing",
        "post_expires", "reply_unlinked", "idempotency_eternal", "list_unindexed", "home_incomplete",
        "public_of_nothing",
    )
}  # fmt: skip


async def test_a_sample_finds_each_of_ten_kinds_of_damage_and_repairs_it(town: SampleSite) -> None:
    for damage in TEN.values():
        await damage(town)
    size = len(await town.all_keys()) + 100  # background tasks add keys meanwhile; a smaller sample is not whole
    reported_damage = (await town.audit(sample=size)).damage
    assert set(TEN) <= set(reported_damage)
    assert set(TEN) <= set((await town.audit(sample=size, repair=True)).damage)
    await town.repair_until_clean()


@pytest.mark.parametrize("kind", mostly_nightly(TEN, 1))
async def test_samples_smaller_than_the_site_find_each_kind(town: SampleSite, kind: str) -> None:
    """One sample may miss the damage; sixty samples find and repair it."""
    await TEN[kind](town)
    for _ in range(60):
        await town.audit(sample=25, repair=True)
    assert not (await town.audit()).damage


async def test_a_sample_of_a_small_site_contains_every_key(town: SampleSite) -> None:
    await DAMAGE_BY_NAME["handle_without_account"](town)
    assert (await town.audit(sample=1000)).damage == {"handle_without_account": 1}


async def test_repeated_samples_find_the_damage(town: SampleSite) -> None:
    await DAMAGE_BY_NAME["follow_one_sided"](town)
    results = [bool((await town.audit(sample=20)).damage) for _ in range(20)]
    assert any(results)


async def test_samples_find_no_damage_at_ids_that_no_account_got(town: SampleSite) -> None:
    """A sign-up with a handle that is taken reserves an id."""
    await town.services.store.execute_all([("INCRBY", account_keys.account_ids(), 100)])
    for _ in range(5):
        assert not (await town.audit(sample=50)).damage


async def test_the_background_sampler_logs_and_counts_damage(
    town: SampleSite, caplog: pytest.LogCaptureFixture
) -> None:
    counts = DamageCounts(town.services.store)
    sampler = AuditSampler(town.services.audit_context, keys=1000, second_check_after_s=0.01)
    assert not (await sampler.audit_sample()).damage
    await DAMAGE_BY_NAME["handle_without_account"](town)
    await sampler.audit_sample()
    await sampler.audit_sample()
    assert await counts.read() == {"handle_without_account": 2}
    assert "audit_drift" in caplog.text


async def test_posts_pushed_out_of_public_are_no_damage_after_a_deletion(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(public_cap=6)) as services:
        (alice,) = await World(services).people("alice")
        posts = [await alice.publishes(f"post {number}") for number in range(40)]
        await World(services).deliver_all()
        await alice.deletes(posts[-1])
        await World(services).deliver_all()
        assert len(await World(services).public_ids()) == 5
        for _ in range(10):
            assert not (await Audit(services.audit_context, second_check_after_s=0.01).run(sample=30)).damage
        assert not (await Audit(services.audit_context, second_check_after_s=0.01).run()).damage


@pytest.mark.usefixtures("here")
def test_a_whole_audit_replaces_the_damage_on_the_dashboard_by_the_remaining_damage() -> None:
    async def damage(services: Services) -> None:
        town = await SampleSite.build(World(services))
        await DamageCounts(services.store).add({"public_incomplete": 7})
        await DAMAGE_BY_NAME["follow_one_sided"](town)

    async def counts(services: Services) -> dict[str, int]:
        return await DamageCounts(services.store).read()

    run_with_services(damage)
    with pytest.raises(CommandError, match="1 damaged places"):
        call_command("audit", verbosity=0)
    assert run_with_services(counts) == {"follow_one_sided": 1}
    call_command("audit", "--repair", verbosity=0)
    assert run_with_services(counts) == {}


async def test_a_sample_quarantines_only_keys_that_it_rebuilds(town: SampleSite) -> None:
    """The audit rebuilds Bob's profile from his posts; the next reader rebuilds his home timeline."""
    profile, home = keys.author_timeline(town.bob.id), keys.home_timeline(town.bob.id)
    for key in (profile, home):
        await town.execute("DEL", key)
        await town.execute("SET", key, "something else")
    size = len(await town.all_keys())
    waited = 0
    for _ in range(20):
        report = await town.audit(sample=size // 2, repair=True)
        assert report.left >= report.for_a_walk
        waited += report.for_a_walk
    assert waited
    assert await town.execute("GET", profile) == b"something else"
    assert await town.execute("EXISTS", home) == 0
    await town.repair_until_clean()
    assert await town.bob.profile_ids() == [town.first.id]


@pytest.mark.usefixtures("here")
def test_a_sample_with_unrepaired_damage_fails(capsys: pytest.CaptureFixture[str]) -> None:
    async def damage(services: Services) -> int:
        town = await SampleSite.build(World(services))
        await town.execute("DEL", keys.public_timeline())
        await town.execute("SET", keys.public_timeline(), "something else")
        return len(await town.all_keys())

    size = run_with_services(damage)
    with pytest.raises(CommandError, match=r"^\d+ damaged places"):
        call_command("audit", "--sample", str(size - 1), "--repair")
    assert "can only be repaired by `audit --repair` without --sample" in capsys.readouterr().out
    call_command("audit", "--repair", verbosity=0)
    call_command("audit", verbosity=0)
