"""The audit finds each kind of damage and repairs it, and finds nothing where nothing is wrong."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts import keys as account_keys
from accounts.domain import AccountId
from socialsite.configuration import Configuration
from socialsite.services import open_services
from socialsite.store import StoreUrls
from tests.support.town import Town
from tests.support.world import Person, World
from timelines import keys
from timelines.repositories.drift import AuditDrift
from timelines.repositories.tags import tag_key
from timelines.services.auditing import Audit
from timelines.services.auditing.sampler import AuditSampler


@pytest.fixture
async def town(world: World) -> Town:
    return await Town.built(world)


Damage = Callable[[Town], Awaitable[object]]
EDGE = 1_700_000_000_000


async def _unknown_account_follows(town: Town) -> None:
    await town.services.repositories.follows._edges.add(AccountId(3), AccountId(999), EDGE)
    await town.do("SET", account_keys.account_ids(), 1000)


async def _misplaced_edge(town: Town) -> None:
    right = town.edge(keys.following, town.alice, town.bob)
    wrong = keys.following("p0" if right.tag != "p0" else "p1", town.alice.id)
    await town.do("ZADD", wrong, EDGE, town.bob.id)


async def _unswept(town: Town) -> None:
    await town.do("HSET", account_keys.account(town.carol.id), "state", "deleted")


async def _post_of_another(town: Town) -> None:
    await town.do("ZADD", keys.profile_timeline(town.bob.id), town.third.id, town.third.id)


async def _home_turned(town: Town) -> None:
    key = keys.home_timeline(town.alice.id)
    early = town.first.id - (60_000 << 12)
    await town.do("DEL", key)
    await town.do("RPUSH", key, early, town.third.id, town.second.id, town.first.id, "-0")
    await town.do("PEXPIRE", key, 86_400_000)


async def _stale_home(town: Town) -> None:
    key = keys.home_timeline(town.alice.id)
    await town.do("LREM", key, 0, town.second.id)


async def _two_accounts_one_handle(town: Town) -> None:
    await town.do("HSET", account_keys.account(town.carol.id), "handle", "bob")


DAMAGE: dict[str, Damage] = {
    "follow_one_sided": lambda town: town.do("DEL", town.edge(keys.followers, town.bob, town.alice)),
    "follow_of_two_times": lambda town: town.do(
        "ZADD", town.edge(keys.followers, town.bob, town.alice), EDGE, town.alice.id
    ),
    "follow_misplaced": _misplaced_edge,
    "follow_of_nobody": _unknown_account_follows,
    "follow_garbage": lambda town: town.do("ZADD", keys.following("p3", town.bob.id), 5, "rubbish"),
    "member_one_sided": lambda town: town.do(
        "ZREM", town.edge(keys.listed, town.bob, town.list.id), town.list.id
    ),
    "member_of_nobody": lambda town: town.services.repositories.members.add(town.list.id + 7, town.bob.id, 5),
    "account_half": lambda town: town.do("HDEL", account_keys.account(town.carol.id), "state", "bio"),
    "account_without_handle": lambda town: _lose_handle(town),
    "handle_without_account": lambda town: town.do("SET", account_keys.handle("nobody_here"), 77_000),
    "handle_of_nobody": lambda town: town.do("SET", account_keys.handle("second_name"), town.bob.id),
    "handle_of_another": _two_accounts_one_handle,
    "account_counter_low": lambda town: town.do("SET", account_keys.account_ids(), 1),
    "account_unswept": _unswept,
    "profile_of_nothing": lambda town: town.do("ZADD", keys.profile_timeline(town.bob.id), 12345, 12345),
    "profile_of_another": _post_of_another,
    "profile_misplaced": lambda town: town.do("ZADD", keys.profile_timeline(town.bob.id), 5, town.first.id),
    "post_unprofiled": lambda town: town.do("ZREM", keys.profile_timeline(town.bob.id), town.first.id),
    "post_unreadable": lambda town: town.do("SET", keys.post(town.third.id), b"\xc1 nothing"),
    "post_expires": lambda town: town.do("EXPIRE", keys.post(town.third.id), 1000),
    "claim_eternal": lambda town: town.do("SET", keys.post(4096), "pending"),
    "reply_of_nothing": lambda town: town.do("ZADD", keys.replies(town.first.id), 777, 777),
    "reply_unlinked": lambda town: town.do("DEL", keys.replies(town.first.id)),
    "idempotency_garbage": lambda town: town.do(
        "SET", keys.idempotency(town.bob.id, "00ff"), "rubbish", "EX", 100
    ),
    "idempotency_eternal": lambda town: town.do("PERSIST", town.idempotency),
    "session_of_nobody": lambda town: town.do(
        "SET", account_keys.session(AccountId(500), "a" * 64), "x", "EX", 100
    ),
    "session_unreadable": lambda town: town.do(
        "SET", account_keys.session(town.bob.id, "b" * 64), "x", "EX", 100
    ),
    "list_gone": lambda town: town.do("ZADD", keys.list_index(town.bob.id), town.list.id, town.list.id),
    "list_unindexed": lambda town: town.do("DEL", keys.list_index(town.alice.id)),
    "list_counter_low": lambda town: town.do("DEL", keys.list_ids()),
    "home_incomplete": _stale_home,
    "home_of_strangers": lambda town: town.do("LPUSH", keys.home_timeline(town.bob.id), town.second.id),
    "home_out_of_order": _home_turned,
    "home_without_floor": lambda town: town.do("RPOP", keys.home_timeline(town.bob.id)),
    "home_eternal": lambda town: town.do("PERSIST", keys.home_timeline(town.bob.id)),
    "list_timeline_incomplete": lambda town: town.do("LPOP", keys.list_timeline(town.list.id)),
    "tag_of_nothing": lambda town: town.do("ZADD", tag_key("many"), town.first.id, town.first.id),
    "tag_misplaced": lambda town: town.do("ZADD", tag_key("many"), 5, town.third.id),
    "tag_incomplete": lambda town: town.do("DEL", tag_key("many")),
    "public_of_nothing": lambda town: town.do("ZADD", keys.public_timeline(), 999, 999),
    "public_incomplete": lambda town: town.do("ZREM", keys.public_timeline(), town.first.id),
    "key_of_wrong_type": lambda town: town.services.store.gather(
        [("DEL", keys.home_timeline(town.bob.id)), ("SET", keys.home_timeline(town.bob.id), "no list")]
    ),
}


async def _lose_handle(town: Town) -> None:
    await town.do("DEL", account_keys.handle("carol"))
    await town.do("HSET", account_keys.account(town.carol.id), "created_ms", 5)


async def test_a_healthy_site_has_no_damage(town: Town) -> None:
    report = await town.audit()
    assert [str(finding) for finding in report.findings] == []
    assert report.keys > 30


@pytest.mark.parametrize("kind", DAMAGE)
async def test_damage_is_found_and_repaired(town: Town, kind: str) -> None:
    await DAMAGE[kind](town)
    report = await town.audit(repair=True)
    assert kind in report.damage, [str(finding) for finding in report.findings]
    await town.world.work()
    await _until_clean(town)


async def test_everything_at_once_is_repaired(town: Town) -> None:
    for name, damage in DAMAGE.items():
        if name not in ("handle_of_another", "account_counter_low"):  # these hide others
            await damage(town)
    report = await town.audit(repair=True)
    assert len(report.damage) >= 20
    await _until_clean(town)


async def _until_clean(town: Town) -> None:
    for _ in range(3):
        await town.world.work()
        report = await town.audit(repair=True)
        if not report.findings:
            break
    assert [str(finding) for finding in report.findings] == []


async def test_profiles_in_parts_are_held_against_their_places(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, Configuration(profile_partitions=3)) as services:
        town = await Town.built(World(services))
        assert not (await town.audit()).findings
        right = services.repositories.profiles.keys.of(town.bob.id, town.first.id)
        parts = services.repositories.profiles.keys.all(town.bob.id)
        wrong = next(part for part in parts if part != right)
        await town.do("ZREM", right, town.first.id)
        await town.do("ZADD", wrong, town.first.id, town.first.id)
        assert "profile_misplaced" in (await town.audit(repair=True)).damage
        await _until_clean(town)
        assert await town.do("ZSCORE", right, town.first.id)


async def test_leftovers_are_told_apart_and_swept(town: Town) -> None:
    await town.do("ZADD", account_keys.session_index(town.bob.id), 5, "c" * 64)
    await town.do("PEXPIRE", account_keys.session_index(town.bob.id), 100_000)
    await town.do("ZADD", keys.list_index(town.bob.id), 99, 99)
    report = await town.audit(repair=True)
    assert report.leftovers == {"session_gone": 1, "list_gone": 1}
    assert not report.damage
    await _until_clean(town)


async def test_a_sweep_that_is_owed_is_no_damage(town: Town) -> None:
    await town.services.accounts.delete(account_id=town.carol.id, now_ms=town.services.clock.now_ms())
    assert not (await town.audit()).damage
    await town.world.work()
    assert not (await town.audit()).damage


async def test_a_lost_sweep_is_owed_again(town: Town) -> None:
    await _unswept(town)
    assert (await town.audit(repair=True)).damage["account_unswept"] == 1
    await town.world.work()
    assert await town.alice.home_ids() == [town.third.id, town.first.id]
    assert (await town.services.following.counts(town.alice.id)).followers == 1


async def test_what_is_owed_to_the_worker_is_no_damage(town: Town) -> None:
    await town.bob.publishes("not delivered yet")
    assert not (await town.audit()).damage


async def test_an_audit_while_the_site_serves_finds_nothing(town: Town) -> None:
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
            await town.world.work()
            await asyncio.sleep(0.01)

    running = [asyncio.create_task(lively(one, people[n - 1])) for n, one in enumerate(people)]
    running.append(asyncio.create_task(works()))
    try:
        for _ in range(4):
            report = await Audit.over(town.services, second_look_after_s=0.4).run()
            assert [str(finding) for finding in report.findings if finding.is_damage] == []
    finally:
        stop.set()
        await asyncio.gather(*running)
    await _until_clean(town)


async def test_a_small_sample_of_a_small_site_is_all_of_it(town: Town) -> None:
    await DAMAGE["handle_without_account"](town)
    assert (await town.audit(sample=1000)).damage == {"handle_without_account": 1}


async def test_samples_come_by_damage_in_the_end(town: Town) -> None:
    await DAMAGE["follow_one_sided"](town)
    found = [bool((await town.audit(sample=20)).damage) for _ in range(20)]
    assert any(found)


async def test_the_background_sampler_logs_and_counts_drift(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    drift = AuditDrift(town.services.store)

    def audit() -> Audit:
        return Audit.over(town.services, second_look_after_s=0.01)

    sampler = AuditSampler(audit, drift, keys=200)
    assert not (await sampler.look()).damage
    await DAMAGE["handle_without_account"](town)
    await sampler.look()
    await sampler.look()
    assert await drift.counts() == {"handle_without_account": 2}
    assert "audit_drift" in caplog.text


def test_the_command_fails_on_damage_and_repairs_it(redis_urls: StoreUrls, settings: Any) -> None:
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = redis_urls.default, redis_urls.placed

    async def with_town(then: Callable[[Town], Awaitable[object]]) -> None:
        async with open_services() as services:
            await then(await Town.built(World(services)))

    def run(*words: str) -> str:
        out = io.StringIO()
        call_command("audit", *words, stdout=out)
        return out.getvalue()

    asyncio.run(with_town(DAMAGE["follow_one_sided"]))
    with pytest.raises(CommandError, match=r"^\d+ damaged places"):
        run("--sample", "1000")
    with pytest.raises(CommandError, match="damaged places"):
        run("--repair", "--dry-run")
    assert "1 repaired" in run("--repair")
    assert run().endswith("0 damaged, 0 leftovers.\n")
    with pytest.raises(CommandError, match="--sample takes"):
        run("--sample", "0")
