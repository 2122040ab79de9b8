"""Client-side shards: one map for all, refused where it is not whole; a lost shard costs its own keys."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
import pytest_asyncio
import redis
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from socialsite.store import Key, Store, StoreUnavailable, open_store
from socialsite.store.connection import Address
from socialsite.store.partition import Listed, Ranged, even
from socialsite.store.partition.slots import SLOTS, slot_of_tag
from socialsite.store.topology.shard_map import MapRefused, ShardMap, bitmap_key, shard_key
from socialsite.store.topology.shards import MapChanged, Shards
from tests.support.redis_server import RedisServer
from tests.support.topologies import SHARDS, plain_servers, shards_url

MAP = shard_key()


def key(number: int) -> Key:
    return Key("posts", tag=str(number), name="post")


@pytest.fixture(scope="module")
def all_servers() -> Iterator[list[RedisServer]]:
    with plain_servers(SHARDS + 1) as started:
        yield started


@pytest.fixture
def servers(all_servers: list[RedisServer]) -> list[RedisServer]:
    """Four empty servers."""
    for server in all_servers:
        with server.client() as client:
            client.flushall()
    return all_servers[:SHARDS]


@pytest.fixture
def spare(all_servers: list[RedisServer]) -> RedisServer:
    return all_servers[SHARDS]


@contextlib.asynccontextmanager
async def opened(servers: Sequence[RedisServer], partitioner: str = "hash") -> AsyncIterator[Store]:
    store = await open_store(shards_url(servers, partitioner))
    try:
        yield store
    finally:
        await store.close()


async def refusal(servers: Sequence[RedisServer], partitioner: str = "hash") -> str:
    with pytest.raises(MapRefused) as refused:
        async with opened(servers, partitioner):
            pass
    assert "\n" not in str(refused.value)
    return str(refused.value)


# The map


@pytest.mark.parametrize("kind", ["hash", "ring", "range", "list"])
async def test_keys_stand_where_the_partitioner_says(servers: list[RedisServer], kind: str) -> None:
    async with opened(servers, kind) as store:
        await store.gather([("SET", key(n), n) for n in range(200)])
        assert await store.gather([("GET", key(n)) for n in range(200)]) == [b"%d" % n for n in range(200)]
    partitioner = even(kind, SHARDS)
    for number, server in enumerate(servers):
        with server.client() as client:
            held = {int(text.split(b"{")[1].split(b"}")[0]) for text in client.keys("posts:*")}
        assert held == {n for n in range(200) if partitioner.partition_of(str(n)) == number}
        assert held


@pytest.mark.parametrize("kind", ["hash", "ring", "range", "list"])
async def test_every_shard_keeps_the_map_and_its_place(servers: list[RedisServer], kind: str) -> None:
    async with opened(servers, kind):
        pass
    found = []
    for number, server in enumerate(servers):
        with server.client() as client:
            fields = client.hgetall(MAP)
            found.append((fields[b"id"], fields[b"checksum"]))
            assert (fields[b"number"], fields[b"count"]) == (b"%d" % number, b"%d" % SHARDS)
            assert (fields[b"partitioner"], fields[b"state"]) == (kind.encode(), b"formed")
            assert fields[b"epoch"] == b"1"
            bitmaps = client.keys("map:{shards}:partition:*")
            assert len(bitmaps) == (SHARDS if kind in ("range", "list") else 0)
    assert len(set(found)) == 1


async def test_a_server_answers_for_slots_as_in_the_seed(servers: list[RedisServer]) -> None:
    async with opened(servers, "range"):
        pass
    with servers[0].client() as client:
        for tag in ("42", "p7", "outbox"):
            bits = [client.getbit(bitmap_key(number), slot_of_tag(tag)) for number in range(SHARDS)]
            assert bits.index(1) == Ranged(SHARDS).partition_of(tag)
            assert sum(bits) == 1
        assert sum(client.bitcount(bitmap_key(number)) for number in range(SHARDS)) == SLOTS


async def test_processes_that_start_together_agree(servers: list[RedisServer]) -> None:
    stores = await asyncio.gather(*(open_store(shards_url(servers, "ring")) for _ in range(8)))
    await stores[0].gather([("SET", key(n), n) for n in range(50)])
    for store in stores:
        assert await store.gather([("GET", key(n)) for n in range(50)]) == [b"%d" % n for n in range(50)]
        await store.close()


async def test_a_start_that_was_broken_off_goes_on(servers: list[RedisServer]) -> None:
    async with opened(servers, "list"):
        pass
    for number, server in enumerate(servers):
        with server.client() as client:
            if number < 2:
                client.hset(MAP, "state", "forming")
            else:
                client.flushall()
    async with opened(servers, "list") as store:
        await store.gather([("SET", key(n), n) for n in range(50)])


async def test_the_map_that_stands_decides_where_the_url_says_nothing(servers: list[RedisServer]) -> None:
    async with opened(servers, "ring"):
        pass
    store = await open_store(shards_url(servers, "ring").split("?")[0])
    assert {store.node(key(n)).address for n in range(50)} == {node.address for node in store.nodes}
    await store.close()


async def test_a_server_may_move_with_its_data(servers: list[RedisServer], spare: RedisServer) -> None:
    """The map knows numbers, no addresses."""
    async with opened(servers, "range") as store:
        await store.gather([("SET", key(n), n) for n in range(50)])
    with servers[1].client() as source, spare.client() as target:
        for name in source.keys():  # noqa: SIM118 - a command
            target.restore(name, 0, source.dump(name))
    async with opened([servers[0], spare, *servers[2:]], "range") as store:
        assert await store.gather([("GET", key(n)) for n in range(50)]) == [b"%d" % n for n in range(50)]


# What is refused at a start


async def test_another_order_is_refused(servers: list[RedisServer]) -> None:
    async with opened(servers):
        pass
    assert "put the servers back into their order" in await refusal([servers[1], servers[0], *servers[2:]])


async def test_another_number_is_refused(servers: list[RedisServer], spare: RedisServer) -> None:
    async with opened(servers):
        pass
    assert "one of 4 shards and the URL names 3" in await refusal(servers[:3])
    assert "one of 4 shards and the URL names 5" in await refusal([*servers, spare])


async def test_another_partitioner_is_refused(servers: list[RedisServer]) -> None:
    async with opened(servers, "hash"):
        pass
    assert "partitioner=hash and the URL says ring" in await refusal(servers, "ring")


async def test_an_emptied_shard_is_refused(servers: list[RedisServer]) -> None:
    async with opened(servers):
        pass
    for server in servers[:1], servers[2:]:
        with server[0].client() as client:
            before = {name: client.dump(name) for name in client.keys()}  # noqa: SIM118 - a command
            client.flushall()
            assert "restore its data if it was emptied" in await refusal(servers)
            for name, value in before.items():
                client.restore(name, 0, value)


async def test_a_shard_of_another_set_is_refused(servers: list[RedisServer]) -> None:
    async with opened(servers):
        pass
    rewrite(servers[3], ShardMap("abad1dea", 1, even("hash", SHARDS)))
    assert "belongs to another set of shards" in await refusal(servers)


def rewrite(server: RedisServer, other: ShardMap) -> None:
    """Another map in the place of the one a shard holds."""
    with server.client() as client:
        fields = {"id": other.id, "epoch": other.epoch, "checksum": other.checksum}
        client.hset(MAP, mapping=fields)


def id_on(server: RedisServer) -> str:
    with server.client() as client:
        return client.hget(MAP, "id").decode()


def change(field: str, value: object) -> Callable[[redis.Redis], object]:
    return lambda client: client.hset(MAP, field, str(value))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (change("checksum", "0" * 64), "its checksum is wrong"),
        (change("epoch", 2), "its checksum is wrong"),
        (change("partitioner", "modulo"), "nobody knows a partitioner"),
        (change("count", "many"), "is damaged"),
        (lambda client: client.hdel(MAP, "state"), "is damaged"),
        (lambda client: client.setbit(bitmap_key(1), 0, 1), "is not slots"),
        (lambda client: client.delete(bitmap_key(3)), "is not slots"),
    ],
)
async def test_a_damaged_map_is_refused(
    servers: list[RedisServer], harm: Callable[[redis.Redis], object], words: str
) -> None:
    async with opened(servers, "range"):
        pass
    with servers[2].client() as client:
        harm(client)
    assert words in await refusal(servers, "range")


async def test_a_list_without_an_owner_for_each_slot_is_refused(servers: list[RedisServer]) -> None:
    async with opened(servers, "list"):
        pass
    for server in servers:
        with server.client() as client:
            client.setbit(bitmap_key(Listed.even(SHARDS).owner_of(7)), 7, 0)
    assert "1 slots stand on no list" in await refusal(servers, "list")


async def test_shards_of_two_epochs_are_refused(servers: list[RedisServer]) -> None:
    async with opened(servers):
        pass
    rewrite(servers[3], ShardMap(id_on(servers[3]), 2, even("hash", SHARDS)))
    assert "a move was broken off" in await refusal(servers)


async def test_servers_with_keys_of_another_placement_are_refused(servers: list[RedisServer]) -> None:
    with servers[0].client() as client:
        for n in range(20):
            client.set(key(n), n)
    assert "holds data of this site already" in await refusal(servers)


async def test_keys_of_other_users_of_a_server_disturb_nobody(servers: list[RedisServer]) -> None:
    with servers[0].client() as client:
        for n in range(20):
            client.set(f"cache:{n}", n)
    async with opened(servers):
        pass


async def test_a_server_that_does_not_answer_is_named(servers: list[RedisServer]) -> None:
    urls = shards_url(servers, "hash").replace(str(servers[2].socket), "/nowhere.sock")
    with pytest.raises(StoreUnavailable, match=r"cannot connect to /nowhere\.sock"):
        await open_store(urls)


async def test_the_system_check_says_what_is_wrong(servers: list[RedisServer], settings: Any) -> None:
    async with opened(servers):
        pass
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = shards_url(servers[:3], "hash"), {}
    with pytest.raises(SystemCheckError, match=r"socialsite\.E006.* the URL names 3"):
        await asyncio.to_thread(call_command, "check", "--tag", "redis", stderr=io.StringIO())


# While it runs


@pytest_asyncio.fixture
async def quick(servers: list[RedisServer]) -> AsyncIterator[Shards]:
    """Shards that look at their map all the time."""
    addresses = [Address.parse(server.url) for server in servers]
    made = Shards(addresses, "hash", lease_s=0.05)
    await made.open()
    yield made
    await made.close()


async def test_a_process_with_an_old_map_refuses_to_write(quick: Shards, servers: list[RedisServer]) -> None:
    store = Store(quick)
    await store.gather([("SET", key(n), n) for n in range(20)])
    later = ShardMap(id_on(servers[0]), 2, even("hash", SHARDS))
    for server in servers:
        rewrite(server, later)
    await asyncio.sleep(0.1)
    for n in range(20):
        node = store.node(key(n))
        with pytest.raises(MapChanged, match="restart the process"):
            await node.execute("SET", key(n), "late")
        with pytest.raises(MapChanged):
            await node.send_encoded(b"*1\r\n$4\r\nPING\r\n", 1)
        with pytest.raises(MapChanged):
            await node.transaction([("SET", key(n), "late")])
    for server in servers:
        with server.client() as client:
            assert b"late" not in [client.get(name) for name in client.keys("posts:*")]


async def test_a_shard_that_was_emptied_is_not_read_as_empty(
    quick: Shards, servers: list[RedisServer]
) -> None:
    store = Store(quick)
    await store.gather([("SET", key(n), n) for n in range(20)])
    with servers[1].client() as client:
        client.flushall()
    await asyncio.sleep(0.1)
    gone = [n for n in range(20) if quick.nodes[1] is store.node(key(n))]
    for n in gone:
        with pytest.raises(MapChanged, match="it was emptied"):
            await store.node(key(n)).execute("GET", key(n))


async def test_a_lost_shard_costs_only_its_own_keys(servers: list[RedisServer]) -> None:
    async with opened(servers) as store:
        await store.gather([("SET", key(n), n) for n in range(40)])
        servers[0].kill()
        lost = store.nodes[0]
        try:
            for n in range(40):
                node = store.node(key(n))
                if node is lost:
                    with pytest.raises(StoreUnavailable):
                        await node.execute("GET", key(n))
                else:
                    assert await node.execute("GET", key(n)) == b"%d" % n
            with pytest.raises(StoreUnavailable):
                await store.gather([("GET", key(n)) for n in range(40)])
            assert await store.now_ms() > 0
        finally:
            servers[0].start()
        with pytest.raises(MapChanged, match="it was emptied"):  # it came back without its data
            await lost.execute("GET", key(1))
