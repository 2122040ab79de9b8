"""The audit finds and repairs each kind of damage, and reports none on a healthy site."""

import asyncio
from functools import partial

import pytest
from django.core.management import CommandError

from accounts import keys as account_keys
from accounts.sessions.values import TokenGrant
from socialsite.container import Services
from socialsite.ids import ClientId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support import management as commands
from tests.support.management import run_with_services
from tests.support.sample_site import DAMAGE_BY_NAME, SampleSite
from tests.support.world import Person, World
from timelines import keys
from timelines.audit import Audit
from timelines.audit.post_indexes import was_pushed_out


async def test_unknown_keys_are_reported_and_left_unchanged(town: SampleSite) -> None:
    store = town.services.store
    names = ["cookie", "posts:{alice}:unheard", "elsewhere:{alice}:post", "posts:{no tag}:post", "\u00fc{alice}"]
    for name in names:  # on one server; a cluster stores each key at its slot
        await store.nodes[0].execute("SET", name, 1)
    for node in store.nodes:  # Django's cache, if it is on the same server as the site's keys
        await node.execute("SET", "cache:1:a page", 1)
    report = await town.audit(repair=True)
    foreign = len(names) - 1  # "unheard" has the name of a key of this site
    assert (report.foreign_keys.count, report.foreign_keys.unknown, report.foreign_keys.dropped) == (foreign, 1, 0)
    assert sorted(report.foreign_keys.names) == sorted(names)
    assert not report.discrepancies
    dropping = await town.audit(drop_foreign=True)
    assert (dropping.foreign_keys.count, dropping.foreign_keys.dropped) == (foreign, foreign)
    after = await town.audit()
    assert (after.foreign_keys.count, after.foreign_keys.unknown) == (0, 1), "another release may need it"
    assert after.keys == report.keys, "nothing else went"


async def test_a_healthy_site_has_no_damage(town: SampleSite) -> None:
    report = await town.audit()
    assert [str(found) for found in report.discrepancies] == []
    assert report.keys > 30


async def test_tokens_of_an_app_for_itself_are_checked_as_those_of_an_account(town: SampleSite) -> None:
    app_id = ClientId("5f" * 16)
    text = await town.services.access_tokens.issue(None, TokenGrant(app_id, "Whalebird", ("read",)))
    assert [str(found) for found in (await town.audit()).discrepancies] == []
    await town.execute("ZADD", account_keys.access_token_index(app_id), 5, "c" * 64)
    await town.execute("SET", account_keys.access_token(app_id, "d" * 64), "x")
    report = await town.audit(repair=True)
    assert (report.damage, report.leftovers) == ({"session_eternal": 1}, {"session_gone": 1})
    await town.repair_until_clean()
    assert (await town.services.access_tokens.load(text))[1] is not None


@pytest.mark.parametrize("kind", DAMAGE_BY_NAME)
async def test_damage_is_found_and_repaired(town: SampleSite, kind: str) -> None:
    await DAMAGE_BY_NAME[kind](town)
    report = await town.audit(repair=True)
    assert kind in report.damage, [str(found) for found in report.discrepancies]
    await town.world.deliver_all()
    await town.repair_until_clean()


async def test_all_kinds_of_damage_are_repaired_together(town: SampleSite) -> None:
    for name, damage in DAMAGE_BY_NAME.items():
        if name not in ("handle_of_another", "account_counter_low"):  # these kinds hide other kinds
            await damage(town)
    assert len((await town.audit(repair=True)).damage) >= 20
    await town.repair_until_clean()


async def test_partitioned_profiles_are_compared_with_their_partitions(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(profile_partitions=3)) as services:
        town = await SampleSite.build(World(services))
        assert not (await town.audit()).discrepancies
        right = services.repositories.author_timelines.keys.of_post(town.bob.id, town.first.id)
        parts = services.repositories.author_timelines.keys.timeline_keys(town.bob.id)
        wrong = next(part for part in parts if part != right)
        await town.execute("ZREM", right, town.first.id)
        await town.execute("ZADD", wrong, town.first.id, town.first.id)
        assert "profile_misplaced" in (await town.audit(repair=True)).damage
        await town.repair_until_clean()
        assert await town.execute("ZSCORE", right, town.first.id)


async def test_leftovers_are_reported_separately_and_deleted(town: SampleSite) -> None:
    await town.execute("ZADD", account_keys.session_index(town.bob.id), 5, "c" * 64)
    await town.execute("PEXPIRE", account_keys.session_index(town.bob.id), 100_000)
    await town.execute("ZADD", keys.list_index(town.bob.id), 99, 99)
    report = await town.audit(repair=True)
    assert report.leftovers == {"session_gone": 1, "list_gone": 1}
    assert not report.damage
    await town.repair_until_clean()


async def test_a_pending_sweep_is_no_damage(town: SampleSite) -> None:
    await town.services.accounts.delete(account_id=town.carol.id)
    assert not (await town.audit()).damage
    await town.world.deliver_all()
    assert not (await town.audit()).damage


async def test_a_lost_sweep_is_added_again(town: SampleSite) -> None:
    await DAMAGE_BY_NAME["account_unswept"](town)
    assert (await town.audit(repair=True)).damage["account_unswept"] == 1
    await town.world.deliver_all()
    assert await town.alice.home_ids() == [town.third.id, town.first.id]
    assert (await town.services.following.counts(town.alice.id)).followers == 1


async def test_pending_work_of_the_worker_is_no_damage(town: SampleSite) -> None:
    await town.bob.publishes("not delivered yet")
    assert not (await town.audit()).damage


async def test_an_audit_during_activity_finds_no_damage(town: SampleSite) -> None:
    people, stop = [town.alice, town.bob, town.carol], asyncio.Event()

    async def lively(person: Person, other: Person) -> None:
        while not stop.is_set():
            post = await person.publishes("busy")
            await person.unfollows(other)
            await person.home()
            await person.follows(other)
            await person.deletes(post)
            await person.publishes("stays", in_reply_to=town.first)
            await person.home()

    async def works() -> None:
        while not stop.is_set():
            await town.world.deliver_all()
            await asyncio.sleep(0.01)

    running = [asyncio.create_task(lively(one, people[n - 1])) for n, one in enumerate(people)]
    running.append(asyncio.create_task(works()))
    try:
        for _ in range(4):
            report = await Audit(town.services.audit_context, second_check_after_s=1.0).run()
            assert [str(found) for found in report.discrepancies if found.is_damage] == []
    finally:
        stop.set()
        await asyncio.gather(*running)
    await town.repair_until_clean()


@pytest.mark.usefixtures("here")
def test_the_command_fails_on_damage_and_repairs_it() -> None:
    async def damage(services: Services) -> None:
        await DAMAGE_BY_NAME["follow_one_sided"](await SampleSite.build(World(services)))

    run = partial(commands.run_command, "audit")
    run_with_services(damage)
    with pytest.raises(CommandError, match=r"^\d+ damaged places"):
        run("--sample", "1000")
    with pytest.raises(CommandError, match="damaged places"):
        run("--repair", "--dry-run")
    assert "1 repaired" in run("--repair")
    assert run().endswith("0 damaged, 0 leftovers.\n")
    with pytest.raises(CommandError, match="--drop-strays needs an audit of all keys"):
        run("--sample", "5", "--drop-strays")
    with pytest.raises(CommandError, match="--sample takes"):
        run("--sample", "0")


async def test_an_account_without_the_mark_of_its_audience_becomes_private(town: SampleSite) -> None:
    await town.execute("HDEL", account_keys.account(town.bob.id), "private")
    await town.repair_until_clean()
    assert (await town.services.accounts.get(town.bob.id)).is_private


async def test_a_full_profile_with_a_deleted_post_is_no_damage(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig(profile_cap=6)) as services:
        (alice,) = await World(services).people("alice")
        posts = [await alice.publishes(f"post {number}") for number in range(9)]
        await World(services).deliver_all()
        await alice.deletes(posts[-1])
        await World(services).deliver_all()
        assert not (await Audit(services.audit_context, second_check_after_s=0.01).run()).damage
        assert len(await alice.profile_ids()) == 5


@pytest.mark.parametrize(
    ("size", "oldest", "is_out"),
    [
        (1000, [b"50"], True),
        (999, [b"50"], True),
        (499, [b"50"], False),
        (1000, [b"40"], False),
        (0, [], False),
    ],
)  # fmt: skip
def test_posts_dropped_from_a_full_timeline_are_no_damage(size: int, oldest: list[bytes], *, is_out: bool) -> None:
    assert was_pushed_out(45, size, oldest, 1000) is is_out
