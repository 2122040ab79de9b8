"""Memory usage by key family, and a forecast compared with real usage."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from socialsite.container import Services
from socialsite.maintenance.memory import MemoryMeter, key_table_bytes, make_forecast, read_node_memory
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.cluster import RedisCluster
from tests.support.management import run_command, run_with_services
from tests.support.sample_site import SampleSite
from tests.support.world import World
from timelines.importing.graph import GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsOptions
from timelines.importing.rows import RowRules

DAY_MS = 86_400_000
RESERVE = 1 << 20


async def import_graph(services: Services, path: Path) -> None:
    picks = random.Random(7)
    lines = {(picks.randrange(400), int(picks.paretovariate(0.8)) % 400) for _ in range(6000)}
    await asyncio.to_thread(path.write_text, "".join(f"{a}\t{b}\n" for a, b in lines))
    await services.graph_import.run(LineFile(path), GraphOptions(), Tally(), services.clock.now_ms())


async def import_posts(services: Services, path: Path, first: int, count: int) -> None:
    picks = random.Random(first)
    start_ms = services.clock.now_ms() - 30 * DAY_MS
    with path.open("w") as file:
        for number in range(first, first + count):
            at = datetime.fromtimestamp((start_ms + number * 60_000) / 1000, UTC)
            text = " ".join("word" * picks.randrange(1, 4) for _ in range(picks.randrange(3, 30)))
            row = {
                "id": str(number), "author": f"n{picks.randrange(400)}", "created_at": at.isoformat(),
                "text": text, "in_reply_to": str(number - 1) if number % 5 == 1 else None,
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    rules = RowRules(max_graphemes=500, latest_ms=services.clock.now_ms())
    importer = services.posts_import
    await importer.run(LineFile(path), PostsOptions(rules), Tally(), services.clock.now_ms())


@pytest.fixture
async def on_one_server(redis_url: str) -> AsyncIterator[Services]:
    """Services on one server; the memory limit is reached there, whatever the topology."""
    async with open_services(redis_url, ServiceConfig()) as opened:
        yield opened


@pytest.mark.nightly
@pytest.mark.slow
async def test_the_forecast_is_within_a_tenth_of_real_usage(on_one_server: Services, tmp_path: Path) -> None:
    """Posts are imported until the memory usage reaches the forecast's limit."""
    services = on_one_server
    node = services.store.nodes[0]
    await import_graph(services, tmp_path / "graph.tsv")
    await import_posts(services, tmp_path / "posts.jsonl", 0, 5000)
    used = (await read_node_memory(node)).used
    most = used + RESERVE + 4_000_000
    await node.execute("CONFIG", "SET", "maxmemory", 0)
    report = await MemoryMeter(services.store, sample_size=3000).measure(services.clock.now_ms())
    report.nodes[0] = type(report.nodes[0])(report.nodes[0].address, used, most, report.nodes[0].bare,
                                            report.nodes[0].keys)  # fmt: skip
    foretold = make_forecast(report, 1000, RESERVE).posts_left
    assert foretold is not None
    done, step = 5000, 500
    while (await read_node_memory(node)).used < most - RESERVE:
        await import_posts(services, tmp_path / "posts.jsonl", done, step)
        done += step
    happened = done - 5000 - step / 2
    assert abs(foretold - happened) < 0.1 * happened, f"{foretold} foretold, {happened} happened"


async def test_a_sample_estimates_the_complete_measurement(services: Services, tmp_path: Path) -> None:
    await import_graph(services, tmp_path / "graph.tsv")
    now_ms = services.clock.now_ms()
    whole = await MemoryMeter(services.store, sample_size=10**9).measure(now_ms)
    sample = await MemoryMeter(services.store, sample_size=2000).measure(now_ms)
    assert {n: f.keys for n, f in whole.families.items()} == {n: f.keys for n, f in sample.families.items()}
    assert sum(family.sampled_keys for family in sample.families.values()) < 3500
    assert abs(sample.bytes - whole.bytes) < 0.1 * whole.bytes
    assert whole.bytes < whole.nodes[0].used
    share = whole.families["follows:{pN}:followers"].compact_share
    assert share is not None
    assert share > 0.9


async def test_posts_are_counted_by_age(town: SampleSite, services: Services) -> None:
    meter = MemoryMeter(services.store)
    assert (await meter.measure(services.clock.now_ms())).posts_per_day() == 3
    later = await meter.measure(services.clock.now_ms() + 100 * DAY_MS)
    assert later.posts_older_than(90) == 3
    assert later.posts_per_day() == 0
    assert town.first.id


def test_a_hash_table_of_keys_doubles_its_size() -> None:
    assert [key_table_bytes(n) for n in (1, 4, 5, 1024, 1025)] == [32, 32, 64, 8192, 16384]


async def test_all_nodes_of_a_cluster_are_measured(cluster: RedisCluster) -> None:
    cluster.flush()
    async with open_services(cluster.url, ServiceConfig()) as services:
        await SampleSite.build(World(services))
        report = await MemoryMeter(services.store).measure(services.clock.now_ms())
    assert len(report.nodes) == 3
    assert report.families["accounts:{N}:account"].keys == 3


def test_the_memory_command_prints_a_report(redis_url: str, settings: Any) -> None:
    settings.REDIS_URL = redis_url
    assert "There are no posts" in run_command("memory")

    async def build(services: Services) -> None:
        await SampleSite.build(World(services))

    run_with_services(build)
    said = run_command("memory")
    assert "accounts:{N}:account" in said
    assert "Without maxmemory" in said
    report = json.loads(run_command("memory", "--json", "--sample", "10"))
    assert report["families"]["posts:{N}:post"]["keys"] == 3
    with pytest.raises(CommandError):
        run_command("memory", "--sample", "0")
