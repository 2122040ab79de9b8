"""Expensive shared values are computed by one web process and read by the others, through django-redis."""

import httpx

from socialsite.container import Services
from socialsite.web.cache import CACHE_VERSION, get_or_compute
from tests.support.daphnes import running_daphne
from tests.support.redis_server import RedisServer
from tests.support.world import World


async def test_a_second_process_reads_the_figures_that_the_first_one_computed(
    redis_server: RedisServer, services: Services, world: World
) -> None:
    await world.person("alice")
    with running_daphne(redis_server.url) as first, running_daphne(redis_server.url) as second:
        async with httpx.AsyncClient(headers={"Accept": "application/json"}) as client:
            computed = (await client.get(f"{first.origin}/about/")).json()
            assert computed["accounts"] == 1
            assert redis_server.client().exists(f"cache:{CACHE_VERSION}:about")
            await world.person("bob")
            assert (await client.get(f"{second.origin}/about/")).json() == computed
            redis_server.client().delete(f"cache:{CACHE_VERSION}:about")
            assert (await client.get(f"{second.origin}/about/")).json()["accounts"] == 2


async def test_a_value_is_computed_again_if_the_stored_value_has_another_type() -> None:
    async def read_number() -> int:
        return 7

    async def read_text() -> str:
        return "seven"

    assert await get_or_compute("value", str, 60, read_text) == "seven"
    assert await get_or_compute("value", int, 60, read_number) == 7
    assert await get_or_compute("value", int, 60, read_number) == 7
