"""The audit finds each kind of damage and repairs it, and finds nothing where nothing is wrong."""

import asyncio
import inspect
import io
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts import keys as account_keys
from accounts.domain import AccountId
from socialsite.configuration import Configuration
from socialsite.operations.families import ASIDE_DAYS, aside, is_ours
from socialsite.operations.scanning import scanned
from socialsite.services import open_services
from socialsite.store import Key, StoreUrls
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


KEYS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "keys.md"
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
    "list_expires": lambda town: town.do("EXPIRE", keys.account_list(town.list.id), 1000),
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


HOLDS: dict[str, Callable[[Town], Key]] = {
    "following": lambda town: town.edge(keys.following, town.alice, town.bob),
    "followers": lambda town: town.edge(keys.followers, town.bob, town.alice),
    "members": lambda town: town.edge(keys.members, town.list.id, town.bob),
    "listed": lambda town: town.edge(keys.listed, town.bob, town.list.id),
    "profile": lambda town: keys.profile_timeline(town.bob.id),
    "replies": lambda town: keys.replies(town.first.id),
    "handle": lambda town: account_keys.handle("bob"),
    "own lists": lambda town: keys.list_index(town.alice.id),
    "account ids": lambda town: account_keys.account_ids(),
    "list ids": lambda town: keys.list_ids(),
}
"""Sources that all the others still tell of."""
TYPES = {"handle": "string", "account ids": "string", "list ids": "string"}  # the others are sorted sets


@pytest.mark.parametrize("name", HOLDS)
async def test_a_source_of_another_type_is_set_aside_and_built_anew(town: Town, name: str) -> None:
    key, kind = HOLDS[name](town), TYPES.get(name, "zset")
    read = ("GET", key) if kind == "string" else ("ZRANGE", key, 0, -1, "WITHSCORES")
    await _settled(town)
    before = await town.do(*read)
    await town.do("DEL", key)
    await town.do("RPUSH", key, "something", "else")
    report = await town.audit(repair=True)
    assert report.damage["key_of_wrong_type"] == 1, [str(finding) for finding in report.findings]
    assert await town.do("LRANGE", aside(key), 0, -1) == [b"something", b"else"]
    assert 0 < await town.do("TTL", aside(key)) <= ASIDE_DAYS * 86_400
    await _until_clean(town)
    assert await town.do("TYPE", key) == kind.encode()
    assert await town.do(*read) == before


async def _settled(town: Town) -> None:
    """Old enough that an account without a handle is no sign-up under way."""
    for person in (town.alice, town.bob, town.carol):
        await town.do("HSET", account_keys.account(person.id), "created_ms", 5)


async def test_what_nothing_else_knows_is_set_aside_and_its_place_is_taken(town: Town) -> None:
    post, account = keys.post(town.third.id), account_keys.account(town.carol.id)
    for key in (post, account):
        await town.do("DEL", key)
        await town.do("SADD", key, "nothing")
    await town.audit(repair=True)
    await _until_clean(town)
    assert (await town.do("GET", post)).startswith(b"deleted")
    assert await town.do("HMGET", account, "handle", "state") == [
        f"lost_{town.carol.id}".encode(), b"suspended",
    ]  # fmt: skip
    assert await town.do("SMEMBERS", aside(account)) == [b"nothing"]
    assert await town.do("EXISTS", keys.post(town.second.id)), "the posts of a lost account stay"


async def test_a_key_is_not_blamed_for_what_another_holds(town: Town) -> None:
    """Whoever looks at alice finds her account unreadable; only that key is touched."""
    account = account_keys.account(town.alice.id)
    await town.do("DEL", account)
    await town.do("SET", account, "no hash")
    report = await town.audit(repair=True)
    assert {str(f.key) for f in report.findings if f.kind == "key_of_wrong_type"} == {account}
    assert not [key for key in await _all_keys(town) if ":aside:" in key and key != aside(account)]
    await _until_clean(town)


async def _all_keys(town: Town) -> list[Key]:
    return [key async for some in scanned(town.services.store) for key in some]


TEN: dict[str, Damage] = {
    kind: DAMAGE[kind]
    for kind in (
        "follow_one_sided", "member_one_sided", "handle_without_account", "profile_of_nothing",
        "post_expires", "reply_unlinked", "idempotency_eternal", "list_unindexed", "home_incomplete",
        "public_of_nothing",
    )
}  # fmt: skip


async def test_a_sample_finds_each_of_ten_kinds_of_damage_and_repairs_it(town: Town) -> None:
    for damage in TEN.values():
        await damage(town)
    size = len(await _all_keys(town))
    found = (await town.audit(sample=size)).damage
    assert set(TEN) <= set(found)
    assert set(TEN) <= set((await town.audit(sample=size, repair=True)).damage)
    await _until_clean(town)


@pytest.mark.parametrize("kind", TEN)
async def test_samples_that_are_smaller_than_the_site_come_by_each_kind(town: Town, kind: str) -> None:
    """And mend it: one look may miss it, many do not."""
    await TEN[kind](town)
    for _ in range(60):
        await town.audit(sample=25, repair=True)
    assert not (await town.audit()).damage


async def test_keys_that_are_none_of_the_sites_are_told_and_left_alone(town: Town) -> None:
    store = town.services.store
    names = [
        "cookie",
        "posts:{alice}:unheard",
        "elsewhere:{alice}:post",
        "posts:{no tag}:post",
        "\u00fc{alice}",
    ]
    for name in names:  # on one server; a cluster puts each where its slot is
        await store.nodes[0].execute("SET", name, 1)
    for node in store.nodes:  # Django's cache, where it stands beside the site's own keys
        await node.execute("SET", "cache:1:a page", 1)
    report = await town.audit(repair=True)
    foreign = len(names) - 1  # "unheard" is named as one of ours
    assert (report.strays.count, report.strays.unknown, report.strays.dropped) == (foreign, 1, 0)
    assert sorted(report.strays.names) == sorted(names)
    assert not report.findings
    dropping = await town.audit(drop_strays=True)
    assert (dropping.strays.count, dropping.strays.dropped) == (foreign, foreign)
    after = await town.audit()
    assert (after.strays.count, after.strays.unknown) == (0, 1), "another release may need it"
    assert after.keys == report.keys, "nothing else went"


def test_the_families_that_the_audit_calls_its_own_are_those_of_docs_keys() -> None:
    """A new line in docs/keys.md needs its first word in socialsite/operations/families.py."""
    numbers = {"hex": "0123456789abcdef", "rule": "post", "kind": "posts", "tag": "7", "name": "7"}
    unknown = []
    tables, _, _ = KEYS_PAGE.read_text().partition("## For a moment")
    for pattern in re.findall(r"^\| `([a-z]+:\{[^`]+)`", tables, re.M):
        example = re.sub(r"<([a-z]+)>", lambda found: numbers.get(found[1], "7"), pattern)
        if not is_ours(Key.parse(example)):
            unknown.append(pattern)
    for module in (keys, account_keys):
        for component, name in re.findall(r'Key\("([a-z]+)".*name=f?"([a-z]+)', inspect.getsource(module)):
            if not is_ours(Key(component, tag="7", name=name)):
                unknown.append(f"{component} {name}")
    assert unknown == []


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
    with pytest.raises(CommandError, match="--drop-strays walks over everything"):
        run("--sample", "5", "--drop-strays")
    with pytest.raises(CommandError, match="--sample takes"):
        run("--sample", "0")
