"""Data of the /ops/ pages on every topology: nodes, slow logs, memory, fan-outs and the audit log."""

from pathlib import Path

import pytest

from accounts.profile_texts import ProfileField, encode_fields
from socialsite import keys as site_keys
from socialsite import settings_parsers
from socialsite.admin import audit_log
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.dashboard import read_dashboard
from socialsite.admin.fanouts import read_fan_outs
from socialsite.admin.memory import read_memory_snapshot, take_snapshot
from socialsite.admin.moderation import Moderation
from socialsite.admin.servers import count_processes, estimate_delivery_shares, parse_slow_call, read_node_health
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.maintenance.backup import Backup
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.restore import Restore, make_store_body_writer
from socialsite.store.topology.standalone import Standalone
from tests.support.world import Person, World
from timelines import keys
from timelines.graph.edge_list import LAYOUT_VERSION_FACTOR
from timelines.jobs import SyndicatePass, encode_job

SAM = Actor(1, "abad1dea")


async def test_every_node_reports_its_health(services: Services, world: World) -> None:
    await world.people(*(f"person{number}" for number in range(20)))
    nodes = await read_node_health(services)
    assert len(nodes) == len(services.store.nodes)
    assert all(node.ping_ms is not None and node.used_bytes and node.role == "master" for node in nodes)
    assert sum(node.keys for node in nodes) > 20
    shares = [node.delivery_share for node in nodes]
    assert shares == [None] * len(nodes) or sum(share or 0 for share in shares) == pytest.approx(1)


def test_delivery_shares_of_no_deliveries_are_empty(services: Services) -> None:
    assert estimate_delivery_shares(services.store, 0) == {}


def test_the_slow_log_shows_keys_without_values() -> None:
    arguments = [b"evalsha", b"abc", b"1", b"posts:{7}:post", b"the secret text", b"posts:{x}: secret"]
    call = parse_slow_call("a", [3, 1_800_000_000, 12_345, arguments, b"127.0.0.1:1", b""])
    assert (call.command, call.keys, call.took_ms) == ("EVALSHA", ("posts:{7}:post",), 12.345)
    assert "secret" not in repr(call)


async def test_slow_commands_are_listed(services: Services) -> None:
    for node in services.store.nodes:
        await node.execute_all([("CONFIG", "SET", "slowlog-log-slower-than", 0), ("SLOWLOG", "RESET")])
    try:
        slow_calls = [call for node in await read_node_health(services) for call in node.slow]
    finally:
        for node in services.store.nodes:
            await node.execute("CONFIG", "SET", "slowlog-log-slower-than", 10_000)
    assert {"PING", "INFO"} & {call.command for call in slow_calls}


@pytest.mark.parametrize("sample", [50, 100_000])
async def test_families_are_measured_by_all_keys_or_by_a_sample(services: Services, alice: Person, sample: int) -> None:
    for number in range(120):
        await alice.publishes(f"post {number}")
    look = await take_snapshot(services, sample)
    assert look.is_sampled == (sample == 50)
    family = look.report.families["posts:{N}:post"]
    assert (60 < family.keys < 240) if look.is_sampled else family.keys == 120
    assert 50 < family.bytes_per_key < 500
    assert look.forecast.bytes_a_post > 0


async def test_one_huge_key_is_not_extrapolated_to_other_keys(services: Services, alice: Person) -> None:
    """The estimate stays right whether or not the sample of 50 out of 600 keys contains the huge key."""
    for number in range(300):
        await alice.publishes(f"post {number}")
    huge = keys.replies((await alice.publishes("much answered")).id)
    members = [part for number in range(200_000) for part in (number, number)]
    for start in range(0, len(members), 20_000):
        await services.store.node(huge).execute("ZADD", huge, *members[start : start + 20_000])
    usage = ("MEMORY", "USAGE", huge, "SAMPLES", 0)  # sent to the servers directly, because no proxy forwards it
    weight = max([await node.execute(*usage) or 0 for node in services.store.nodes])
    unseen: list[int] = []
    for _ in range(10):
        report = (await take_snapshot(services, 50)).report
        assert report.bytes < 2 * weight, "it stands for no other key"
        unseen.append(report.unexplained_bytes)
    assert max(unseen) > 0.6 * weight, "a sample without the key leaves its bytes unexplained"
    whole = await take_snapshot(services)
    off = abs(whole.report.families["posts:{N}:replies"].bytes - weight)
    assert off < 0.3 * weight, "the server estimates a key from five of its members: Valkey 9.1 is 11 to 20 % off"
    assert whole.unexplained_bytes == 0


async def test_a_memory_snapshot_is_cached_for_a_minute(services: Services, world: World) -> None:
    await world.person("alice")
    first = await read_memory_snapshot(services)
    await world.person("bob")
    assert await read_memory_snapshot(services) == first


async def test_progress_counts_earlier_partitions_and_the_current_partition_up_to_its_last_edge(
    services: Services, world: World
) -> None:
    author = await world.person("author")
    for each in await world.people(*(f"fan{number}" for number in range(30))):
        await each.follows(author)
    post = await author.publishes("to all")
    await world.deliver_all()
    last = services.config.follow_partitions - 1
    for partition, at_ms in ((0, -1), (last, services.clock.now_ms() + 1)):
        await services.outbox.add(encode_job(SyndicatePass(post.id, author.id, "homes", partition, at_ms, 0)))
    begun, ended = await read_fan_outs(services)
    assert (begun.done, begun.total, begun.share) == (0, 30, 0)
    assert (ended.done, ended.total, ended.share) == (30, 30, 1)
    assert not begun.is_claimed
    await services.outbox.fetch("abad1dea", 1, 10)
    assert [each.is_claimed for each in await read_fan_outs(services)] == [True, False]


async def test_a_pass_of_an_earlier_partition_layout_starts_again(services: Services, world: World) -> None:
    author, fan = await world.people("author", "fan")
    await fan.follows(author)
    post = await author.publishes("to all")
    await world.deliver_all()
    earlier = SyndicatePass(post.id, author.id, "homes", 7 * LAYOUT_VERSION_FACTOR + 3, 5, 6)
    await services.outbox.add(encode_job(earlier))
    (found,) = await read_fan_outs(services)
    assert (found.next_pass.partition, found.done, found.total) == (0, 0, 1)


async def test_a_backup_contains_the_audit_log(services: Services, tmp_path: Path) -> None:
    await AuditLog(services.store).record(SAM, "suspend", "account:2")
    (before,) = (await AuditLog(services.store).search(10))[0]
    path = tmp_path / "site.backup"
    await Backup(services.store, services.config.immutable_settings).write(path, services.clock.now_ms())
    await services.store.node(site_keys.audit_log()).execute("DEL", site_keys.audit_log())
    restore = Restore(services.store, make_store_body_writer(services.store))
    await restore.load(BackupReader(path), services.clock.now_ms())
    assert (await AuditLog(services.store).search(10))[0] == [before]


async def test_staff_can_act_on_a_server_that_is_full(services: Services, world: World) -> None:
    alice, sam = await world.people("alice", "sam")
    await services.staff.set_role(sam.id, "moderator")
    actor = Actor(sam.id, "abad1dea")
    await Moderation(services).suspend(actor, alice.id)  # the server has loaded the scripts
    await Moderation(services).reinstate(actor, alice.id)
    for node in services.store.nodes:
        await node.execute("CONFIG", "SET", "maxmemory", 1)
    try:
        await Moderation(services).suspend(actor, alice.id)
    finally:
        for node in services.store.nodes:
            await node.execute("CONFIG", "SET", "maxmemory", 0)
    entries = (await AuditLog(services.store).search(10))[0]
    assert [entry.action for entry in entries] == ["suspend", "reinstate", "suspend"]


async def test_a_fan_out_is_shown_before_a_worker_starts_it(services: Services, alice: Person) -> None:
    await alice.publishes("hello")
    await services.outbox.add(b"not a job")
    (found,) = await read_fan_outs(services)
    assert (found.next_pass.author_id, found.total, found.share) == (alice.id, 0, 1)


async def test_running_processes_are_counted_by_their_heartbeats(services: Services) -> None:
    assert (await count_processes(services)).workers == 0
    await services.outbox.create_group()
    await services.outbox.send_heartbeat("abad1dea")
    for worker in ("abad1dea", "dead"):
        await services.outbox.add(b"a job")
        await services.outbox.fetch(worker, 1, 10)
    process_counts = await count_processes(services)
    assert (process_counts.workers, process_counts.web, process_counts.present) == (1, 0, 0)


async def test_the_audit_log_keeps_the_newest_entries_in_pages(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "AUDIT_LOG_MAX_ENTRIES", 100)
    audit = AuditLog(services.store)
    for number in range(350):
        await audit.record(SAM, "suspend", f"account:{number}")
    first, cursor = await audit.search(30)
    second, _cursor = await audit.search(30, cursor)
    targets = [entry.target for entry in (*first, *second)]
    assert targets == [f"account:{number}" for number in range(349, 289, -1)]
    assert await services.store.node(site_keys.audit_log()).execute("XLEN", site_keys.audit_log()) < 350


async def test_a_search_continues_at_the_end_of_the_previous_page(services: Services, world: World) -> None:
    await world.people("ann", "bert", "anna", "annabel")
    moderation = Moderation(services)
    first, cursor = await moderation.search("an", None, 2)
    assert [author.handle for author in first] == ["annabel", "anna"]
    second, cursor = await moderation.search("an", cursor, 2)
    assert [author.handle for author in second] == ["ann"]
    assert cursor is None


@pytest.mark.parametrize(
    "query", ["evil.example", "Evil.EXAMPLE/x", '"pron"', '"Quiet"', "“quiet”", "„Pron“", "they them"]
)
async def test_a_search_finds_all_texts_of_a_profile(services: Services, world: World, query: str) -> None:
    ann, _, casino = await world.people("ann", "bert", "evil")
    fields = encode_fields([ProfileField("Pron", "they them"), ProfileField("b", "https://evil.example/x")])
    await services.accounts.edit_profile(account_id=ann.id, bio="Quiet\nperson", fields=fields)
    authors, cursor = await Moderation(services).search(query, None, 9)
    assert ([author.handle for author in authors], cursor) == (["ann"], None)
    assert [author.id for author in (await Moderation(services).search("evil", None, 9))[0]] == [casino.id]


async def test_an_action_is_logged_before_it_is_executed(services: Services, world: World) -> None:
    alice, sam = await world.people("alice", "sam")
    await services.staff.set_role(sam.id, "moderator")
    await Moderation(services).suspend(Actor(sam.id, "abad1dea"), AccountId(alice.id))
    (entry,) = (await AuditLog(services.store).search(10))[0]
    assert (entry.actor_id, entry.action, entry.target) == (sam.id, "suspend", f"account:{alice.id}")
    assert (await services.accounts.find(alice.id)).state == "suspended"  # type: ignore[union-attr]


async def test_an_unreadable_part_does_not_hide_the_other_parts(services: Services, world: World) -> None:
    """The server of the outbox is unavailable; the server of the accounts still answers."""
    await world.person("alice")
    store = services.store
    placed = {name: store.topology(name) for name in settings_parsers.COMPONENTS}
    store.set_topologies(store.topology("accounts"), {**placed, "jobs": Standalone("unix:///nowhere/redis.sock")})
    dashboard = await read_dashboard(services)
    assert (dashboard.queue_depths, dashboard.fan_outs, dashboard.repair_counts, dashboard.memory) == (
        None,
        None,
        None,
        None,
    )
    assert dashboard.activity is not None
    assert dashboard.nodes is not None
    assert [node.ping_ms is None for node in dashboard.nodes].count(True) == 1
