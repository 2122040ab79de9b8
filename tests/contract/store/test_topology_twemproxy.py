"""Twemproxy: the list of supported commands against the real program, early refusals, lost servers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.startup import open_services
from socialsite.store import CommandRefused, Key, Node, Script, Store, StoreError, StoreUnavailable, StoreUrls
from socialsite.store.address import Address
from socialsite.store.topology.twemproxy import (
    SUPPORTED_COMMANDS,
    TwemproxyMisconfigured,
    UnsupportedByTwemproxy,
    require_supported,
)
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import NOT_BEHIND_TWEMPROXY, SHARDS, plain_servers
from tests.support.twemproxy import ECHO, FORMS, REFUSED, TwemproxyServer, running_twemproxy
from tests.support.world import World


@pytest.fixture(scope="module")
def servers() -> Iterator[list[RedisServer]]:
    with plain_servers(SHARDS + 1) as started:
        yield started


@pytest.fixture(scope="module")
def proxy(servers: list[RedisServer]) -> Iterator[TwemproxyServer]:
    with running_twemproxy(servers[:SHARDS]) as started:
        yield started


@pytest.fixture
def url(proxy: TwemproxyServer) -> str:
    """Return the URL of the proxy in front of empty servers without loaded scripts."""
    for server in proxy.servers:
        with server.client() as client:
            client.flushall()
            client.script_flush()
    return proxy.url


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with opened_store(url) as opened:
        yield opened


@pytest.fixture
async def plainly(url: str) -> AsyncIterator[Node]:
    """Yield a node that sends to the proxy without the check of supported commands."""
    node = Node(Address.parse(f"unix://{url.split('://')[1].split('?')[0]}"), reply_timeout_s=1)
    yield node
    await node.close()


async def is_answered(node: Node, command: tuple[Any, ...]) -> bool:
    """Return whether the proxy supports a command; it closes the connection on others."""
    try:
        await node.execute(*command)
    except StoreUnavailable:
        return False
    except CommandRefused:  # an error reply of a server
        return True
    return True


# The list of supported commands


def test_every_supported_command_has_an_example() -> None:
    assert {form[0] for form in FORMS} == set(SUPPORTED_COMMANDS)
    for form in FORMS:
        require_supported(form)


async def test_the_proxy_answers_the_supported_commands(plainly: Node) -> None:
    for form in FORMS:
        if form[0] != "EVALSHA":  # the node would send the script's source first
            assert await is_answered(plainly, form), form
    digest = await plainly.send_encoded(b"*4\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n1\r\n$6\r\n{1}:aa\r\n", 1)
    assert "NOSCRIPT" in str(digest[0])


async def test_the_proxy_closes_the_connection_on_refused_commands(plainly: Node) -> None:
    for form in REFUSED:
        with pytest.raises(UnsupportedByTwemproxy):
            require_supported(form)
        if form[0] not in ("EVALSHA", "EVAL"):
            assert not await is_answered(plainly, form), form


async def test_a_refused_command_was_not_sent_and_names_its_component(store: Store, url: str) -> None:
    stream = Key("jobs", tag="outbox", name="stream")
    node = store.node(stream)
    await node.execute("SET", numbered_key(1), "a")
    waiting = asyncio.gather(*(node.execute("GET", numbered_key(1)) for _ in range(50)))
    with pytest.raises(UnsupportedByTwemproxy, match=r"^jobs cannot stand .* carry XADD: set REDIS_JOBS_URL"):
        await node.execute("XADD", stream, "*", "payload", "x")
    with pytest.raises(UnsupportedByTwemproxy, match="does not carry EXPIRE with 3 arguments"):
        await node.execute_all([("SET", numbered_key(1), "b"), ("EXPIRE", numbered_key(1), 100, "GT")])
    with pytest.raises(UnsupportedByTwemproxy, match="does not carry MULTI"):
        await node.transaction([("SET", numbered_key(1), "b")])
    with pytest.raises(UnsupportedByTwemproxy, match="does not carry a waiting XREADGROUP"):
        await node.blocking("XREADGROUP", "STREAMS", stream, ">", timeout_s=1)
    with pytest.raises(UnsupportedByTwemproxy, match="does not carry WAIT"):
        await node.write_all([("SET", numbered_key(1), "b")], 1)
    with pytest.raises(UnsupportedByTwemproxy, match="PING"):
        await node.send_encoded(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*1\r\n$4\r\nPING\r\n", 2)
    assert await waiting == [b"a"] * 50  # the connection stayed open
    assert await node.execute("GET", numbered_key(1)) == b"a"


# Placement


async def test_keys_of_one_tag_are_stored_on_one_server(store: Store, proxy: TwemproxyServer) -> None:
    keys = [Key("posts", tag=str(n), name=f"part:{m}") for n in range(40) for m in (1, 2)]
    await store.execute_all([("SET", each, "x") for each in keys])
    tags_by_server = []
    for server in proxy.servers:
        with server.client() as client:
            tags_by_server.append({name.split(b"}")[0] for name in client.keys("posts:*")})
    assert all(
        tags_by_server
    )  # fnv1a_64, the usual hash, leaves some servers empty: docs/reference/decisions/partitioning.md
    assert sum(map(len, tags_by_server)) == 40 == len(set().union(*tags_by_server))


async def test_follow_partitions_spread_over_the_servers(store: Store, proxy: TwemproxyServer) -> None:
    await store.execute_all([("SET", Key("follows", tag=f"p{n}", name="partition"), n) for n in range(16)])
    for server in proxy.servers:
        with server.client() as client:
            assert 1 <= len(client.keys("follows:*")) <= 8


async def test_operator_commands_reach_the_servers_directly(store: Store) -> None:
    assert len(store.nodes) == SHARDS
    for node in store.nodes:
        assert b"redis_version" in await node.execute("INFO", "server")
    assert await store.now_ms() > 1_700_000_000_000


async def test_a_proxy_without_hash_tag_is_refused(servers: list[RedisServer]) -> None:
    without = running_twemproxy(servers[:SHARDS], hash_tag="")
    with without as proxy, pytest.raises(TwemproxyMisconfigured, match="put `hash_tag"):
        await open_store(proxy.url)


async def test_missing_and_repeated_servers_of_the_url_are_refused(servers: list[RedisServer]) -> None:
    with running_twemproxy(servers[:SHARDS]) as proxy:
        with pytest.raises(TwemproxyMisconfigured, match="`nodes` does not name"):
            await open_store(proxy.url.rsplit(",", 1)[0])
        same_socket = str(servers[0].socket).replace("/tmp/", "/tmp/../tmp/")
        with pytest.raises(TwemproxyMisconfigured, match="twice"):
            await open_store(f"{proxy.url},{same_socket}")


async def test_an_unreachable_proxy_is_an_error_at_the_start(proxy: TwemproxyServer) -> None:
    with pytest.raises(StoreUnavailable, match="cannot connect"):
        await open_store(proxy.url.replace(str(proxy.socket), "/nowhere.sock"))


# Scripts


async def test_an_unknown_script_is_loaded_on_the_server_of_its_key(store: Store) -> None:
    for _ in range(2):
        commands = [ECHO.command([numbered_key(n)], [n]) for n in range(40)]
        assert await store.execute_all(commands) == [[numbered_key(n).encode(), b"%d" % n] for n in range(40)]


async def test_a_script_and_the_following_commands_keep_their_order(store: Store) -> None:
    count = Script("count", "return redis.call('INCR', KEYS[1])")
    commands = [
        ("SET", numbered_key(1), 5),
        count.command([numbered_key(1)]),
        ("GET", numbered_key(1)),
        count.command([numbered_key(1)]),
    ]
    for _ in range(2):
        assert await store.execute_all(commands) == [b"OK", 6, b"6", 7]


async def test_scripts_with_a_thousand_arguments_pass(store: Store) -> None:
    total = Script("total", "return {#KEYS, #ARGV}")
    keys = [Key("follows", tag="p7", name=f"followers:{n}") for n in range(500)]
    assert await store.node(keys[0]).execute(*total.command(keys, list(range(3000)))) == [500, 3000]


# Lost servers


async def test_a_lost_server_costs_only_its_own_keys(servers: list[RedisServer]) -> None:
    with plain_servers(2) as own, running_twemproxy(own) as proxy:
        store = await open_store(proxy.url)
        await store.execute_all([("SET", numbered_key(n), n) for n in range(20)])
        with own[0].client() as client:
            lost = {int(name.split(b"{")[1].split(b"}")[0]) for name in client.keys("posts:*")}
        own[0].kill()
        for n in range(20):
            answer = store.node(numbered_key(n)).execute("GET", numbered_key(n))
            if n in lost:
                with pytest.raises(StoreUnavailable):
                    await answer
            else:
                assert await answer == b"%d" % n
        assert await store.now_ms() > 0  # the other server returns the time
        own[0].start()
        await asyncio.sleep(0.1)
        assert await store.node(numbered_key(min(lost))).execute("SET", numbered_key(min(lost)), "again") == b"OK"
        await store.close()


async def test_a_site_behind_the_proxy_stores_its_jobs_on_another_server(url: str, servers: list[RedisServer]) -> None:
    plain = servers[SHARDS]
    with plain.client() as client:
        client.flushall()
    urls = StoreUrls(url, dict.fromkeys(NOT_BEHIND_TWEMPROXY, plain.url))
    async with open_services(urls) as services:
        world = World(services)
        alice, bob = await world.people("alice", "bob")
        await bob.follows(alice)
        post = await alice.publishes("hello")
        await world.deliver_all()
        assert await bob.home_ids() == [post.id]


async def test_the_error_of_a_site_completely_behind_the_proxy_names_the_setting(url: str) -> None:
    async with open_services(url) as services:
        alice = await World(services).person("alice")
        with pytest.raises(StoreError, match="set REDIS_JOBS_URL to a server of its own"):
            await alice.publishes("hello")
