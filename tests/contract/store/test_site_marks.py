"""Servers without the site's data are noticed at the start and by /readyz."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from socialsite.checks import check_servers, may_connect
from socialsite.migration.commands import MigrationSite, migrate
from socialsite.migration.store_factory import open_store
from socialsite.startup import NotUsable, open_services
from socialsite.store import Store, StoreUnavailable, StoreUrls
from socialsite.store.components import COMPONENTS
from socialsite.store.factory import create_topology
from socialsite.store.site_marks import WrongServer, check_and_write_marks, find_mark_faults
from socialsite.store.topology.shard_map import InvalidShardMap
from socialsite.web.health import check_readiness
from socialsite.web.metrics_page import build_gauges, render_metrics
from socialsite.web.services import loop_services
from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import plain_servers, shards_url
from tests.support.twemproxy import running_twemproxy
from tests.support.waiting import eventually
from tests.support.world import World


@pytest.fixture(scope="module")
def running() -> Iterator[list[RedisServer]]:
    with plain_servers(4) as servers:
        yield servers


@pytest.fixture
def servers(running: list[RedisServer]) -> list[RedisServer]:
    for server in running:
        with server.client() as client:
            client.flushall()
    return running


@contextlib.asynccontextmanager
async def opened(urls: StoreUrls | str) -> AsyncIterator[Store]:
    async with opened_store(urls) as store:
        yield store


async def start(urls: StoreUrls | str) -> None:
    async with opened(urls) as store:
        await check_and_write_marks(store)


async def states(urls: StoreUrls | str) -> dict[str, str]:
    async with opened(urls) as store:
        return {name: fault.state for fault in await find_mark_faults(store) for name in fault.components}


@pytest.mark.parametrize("component", ["accounts", "follows", "timelines"])
async def test_a_component_on_a_server_that_came_back_empty_is_refused(
    servers: Sequence[RedisServer], component: str
) -> None:
    home, own = servers[:2]
    urls = StoreUrls(home.url, {component: own.url})
    await start(urls)
    await start(urls)
    with own.client() as client:
        client.flushall()
    assert await states(urls) == {component: "emptied"}
    with pytest.raises(WrongServer, match=rf"has lost its data \({component}\).*HDEL"):
        await start(urls)
    with home.client() as client:  # as the error message advises
        client.hdel("map:{site}:stores", component)
    await start(urls)
    assert await states(urls) == {}


async def test_the_emptied_server_of_the_record_is_refused(servers: Sequence[RedisServer]) -> None:
    home, own = servers[:2]
    urls = StoreUrls(home.url, {"posts": own.url})
    await start(urls)
    with home.client() as client:
        client.flushall()
    with pytest.raises(WrongServer, match="server of REDIS_URL has lost its data"):
        await start(urls)


async def test_two_processes_may_start_at_the_same_time_on_an_empty_server(servers: Sequence[RedisServer]) -> None:
    home = servers[0]
    with home.client() as client, FaultProxy(home.socket, delay_s=0.2) as proxy:
        async with opened(proxy.url) as slow_store:
            client.config_resetstat()
            proxy.set_fault(Fault.DELAY)
            slow_start = asyncio.create_task(check_and_write_marks(slow_store))
            await eventually(lambda: "cmdstat_hgetall" in client.info("commandstats"))  # it has read the empty record
            await start(home.url)
            await slow_start
            assert (slow_store.site_id or "").encode() == client.get("map:{m0}:site")
    assert await states(home.url) == {}


async def test_the_server_of_another_site_is_refused(servers: Sequence[RedisServer]) -> None:
    home, own, other = servers[:3]
    await start(StoreUrls(home.url, {"posts": own.url}))
    await start(other.url)
    with pytest.raises(WrongServer, match="belongs to another site"):
        await start(StoreUrls(home.url, {"posts": other.url}))


async def test_a_migration_marks_its_target(servers: Sequence[RedisServer]) -> None:
    home, own, last = servers[:3]
    await start(home.url)
    await migrate(MigrationSite(home.url, {}, COMPONENTS, create_topology), own.url, "follows")
    urls = StoreUrls(home.url, {"follows": own.url})
    await start(urls)
    assert await states(urls) == {}
    with own.client() as client:
        client.flushall()
    assert await states(urls) == {"follows": "emptied"}
    with home.client() as client:
        client.hdel("map:{site}:stores", "follows")
    await start(urls)
    await migrate(MigrationSite(home.url, urls.component_urls, COMPONENTS, create_topology), last.url)
    assert await states(last.url) == {}
    with last.client() as client:
        assert client.hget("map:{site}:stores", "id") == client.get("map:{m0}:site")
        assert client.exists("map:{m0}:site")


async def test_a_server_that_does_not_answer_is_checked_later(servers: Sequence[RedisServer]) -> None:
    home, own = servers[:2]
    urls = StoreUrls(home.url, {"posts": own.url})
    own.kill()
    try:
        await start(urls)
    finally:
        own.start()
    await start(urls)
    with own.client() as client:
        client.flushall()
    assert await states(urls) == {"posts": "emptied"}


async def test_readyz_names_a_component_that_came_back_empty_meanwhile(servers: Sequence[RedisServer]) -> None:
    home, own = servers[:2]
    async with open_services(StoreUrls(home.url, {"follows": own.url})) as services:
        loop_services.bind(services)
        assert (await check_readiness()).is_ready
        with own.client() as client:
            client.flushall()
        components = (await check_readiness()).components
        assert components["follows"] == "emptied"
        assert components["posts"] == "ok"


async def test_a_shard_that_is_named_as_a_single_server_is_refused(servers: Sequence[RedisServer]) -> None:
    await start(shards_url(servers, "hash"))
    with pytest.raises(InvalidShardMap, match=r"is shard 1 of 4 and holds a part of the data: name all shards"):
        await open_store(servers[1].url)
    with pytest.raises(InvalidShardMap):
        await open_store(StoreUrls(shards_url(servers, "hash"), {"posts": servers[0].url}))


@pytest.mark.parametrize(
    "order", [[1, 0, 2], [0, 1], [1, 2]], ids=["exchanged names", "last server missing", "first server missing"]
)
async def test_other_servers_behind_twemproxy_are_refused(servers: Sequence[RedisServer], order: list[int]) -> None:
    plain = dict.fromkeys(("jobs", "live", "sessions"), servers[3].url)
    with running_twemproxy(servers[:3]) as proxy:
        await start(StoreUrls(proxy.url, plain))
        await start(StoreUrls(proxy.url, plain))
        nodes = proxy.url.partition("?")[2]
    with running_twemproxy([servers[number] for number in order]) as proxy:
        urls = StoreUrls(proxy.url.partition("?")[0] + "?" + nodes, plain)
        with pytest.raises(WrongServer, match="looks for keys on other servers than before"):
            await start(urls)
        assert (await states(urls))["accounts"] == "misplaced"


async def test_exchanged_names_of_two_servers_behind_twemproxy_are_refused(servers: Sequence[RedisServer]) -> None:
    """Neither the record nor a mark is found by the proxy."""
    with running_twemproxy(servers[:2]) as proxy:
        await start(proxy.url)
    message = "looks for keys on other servers than before"
    with running_twemproxy([servers[1], servers[0]]) as proxy, pytest.raises(WrongServer, match=message):
        await start(proxy.url)


async def test_a_sign_up_is_refused_while_a_server_cannot_record_its_id(servers: Sequence[RedisServer]) -> None:
    home, own, limits = servers[:3]
    async with open_services(StoreUrls(home.url, {"posts": own.url, "limits": limits.url})) as services:
        world = World(services)
        await world.person("ann")
        limits.kill()  # stores no data of accounts
        try:
            await world.person("carol")
        finally:
            limits.start()
        own.kill()
        try:
            with pytest.raises(StoreUnavailable):
                await world.person("bob")
        finally:
            own.start()
        await world.person("bob")


async def test_an_evicting_server_is_refused_and_named_by_readyz(servers: Sequence[RedisServer]) -> None:
    with servers[0].client() as client:
        async with open_services(servers[0].url) as services:
            loop_services.bind(services)
            client.config_set("maxmemory-policy", "allkeys-lru")
            try:
                ready = await check_readiness()
                assert set(ready.components.values()) == {"evicts"}
                page = render_metrics(build_gauges(ready)).decode()
                assert f'socialsite_redis_evicts{{node="{servers[0].socket}"}} 1.0' in page
                with pytest.raises(NotUsable, match="set maxmemory-policy to noeviction"):
                    async with open_services(servers[0].url):
                        pass
            finally:
                client.config_set("maxmemory-policy", "noeviction")


async def sign_up(handle: str) -> None:
    async with open_services() as services:
        await World(services).people(handle)


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def test_a_store_whose_restore_was_interrupted_is_refused_until_the_restore_is_repeated(
    servers: Sequence[RedisServer], settings: Any, tmp_path: Path
) -> None:
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = servers[0].url, {}
    asyncio.run(sign_up("ann"))
    backup = str(tmp_path / "site.backup")
    run("backup", backup)
    with servers[0].client() as client:  # a user who may begin a restore and not finish it
        client.acl_setuser("half", enabled=True, passwords=["+word"], keys=["map:*"], commands=["+@all"])
        client.execute_command("ACL", "SETUSER", "half", "%R~*")
    settings.REDIS_URL = servers[0].url.replace("unix://", "unix://half:word@")
    with pytest.raises(CommandError, match="NOPERM"):
        run("restore", backup, "--force")
    settings.REDIS_URL = servers[0].url
    with pytest.raises(CommandError, match="a restore into this store did not finish: repeat"):
        run("stats")
    token = may_connect.set(True)
    try:
        assert any("a restore" in message.msg for message in check_servers())
    finally:
        may_connect.reset(token)
    assert "clean" in run("restore", backup, "--force")
    run("stats")
