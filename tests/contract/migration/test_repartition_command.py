"""manage.py repartition: its output and its errors in one line."""

import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World


@pytest.fixture(scope="module")
def target_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def target(target_server: RedisServer) -> str:
    target_server.client().flushall()
    return target_server.url


@pytest.fixture(autouse=True)
def settings_here(redis_url: str, settings: Any) -> None:
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = redis_url, {}


@pytest.fixture
async def ann(redis_url: str) -> AsyncIterator[Person]:
    async with open_services(redis_url, ServiceConfig()) as services:
        yield (await World(services).people("ann"))[0]


async def run(*words: str, **options: object) -> str:
    """Run the command like an operator, in its own event loop."""
    out = io.StringIO()
    await sync_to_async(call_command)("repartition", *words, stdout=out, stderr=out, **options)
    return out.getvalue()


async def test_a_dry_run_counts_by_family_and_changes_nothing(
    ann: Person, target: str, redis_server: RedisServer, target_server: RedisServer
) -> None:
    await ann.publishes("hello")
    before = redis_server.client().dbsize()
    said = await run("--to", target, "--dry-run")
    assert "accounts:account: 1 keys, about 0.0 MB" in said.splitlines()
    assert "posts:post: 1 keys" in said
    assert "nothing was changed" in said.splitlines()[-1]
    assert redis_server.client().dbsize() <= before + 1  # a probe that expires
    assert not redis_server.client().exists("map:{placement}:record")
    assert {key for key in target_server.client().keys("*") if not key.startswith(b"map:")} == set()


async def test_a_dry_run_counts_edges_and_changes_none(redis_url: str, ann: Person, redis_server: RedisServer) -> None:
    async with open_services(redis_url, ServiceConfig()) as services:
        for fan in await World(services).people("bob", "carol"):
            await fan.follows(ann)
    before = set(redis_server.client().keys("*"))
    said = await run("--follow-partitions", "8", "--dry-run")
    assert said == "Dry run: 2 of following, 0 of members would be cut into 8 partitions; nothing was changed.\n"
    assert set(redis_server.client().keys("*")) == before


async def test_a_migration_prints_the_number_of_copied_keys(
    ann: Person, target: str, target_server: RedisServer
) -> None:
    await ann.publishes("hello")
    said = await run("--to", target, verbosity=2)
    assert "posts:post: 1 keys" in said
    assert said.splitlines()[-1].startswith("Moved ")
    assert target_server.client().keys("posts:*:post")
    assert len(await ann.profile_ids()) == 1


async def test_one_component_is_migrated_by_name(ann: Person, target: str, target_server: RedisServer) -> None:
    await run("--to", target, "--component", "accounts", verbosity=0)
    names = {key.split(b":")[0] for key in target_server.client().keys("*")}
    assert names - {b"map"} == {b"accounts"}


async def test_follow_partitions_are_changed_by_number(
    ann: Person, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socialsite.management.commands.repartition.OLD_PARTITIONS_GRACE_S", 0.0)
    assert "set FOLLOW_PARTITIONS=8" in await run("--follow-partitions", "8")
    assert redis_server.client().get("follows:{map}:partitions") == b"8"


@pytest.mark.parametrize(
    ("words", "because"),
    [
        ((), "required"),
        (("--to", "nowhere"), "is not a Redis URL"),
        (("--to", "redis+ring://a:1"), "no topology is called"),
        (("--to", "redis://127.0.0.1:1"), "cannot connect"),
        (("--component", "posts", "--resume"), "needs --to"),
        (("--to", "redis://127.0.0.1:1", "--resume"), "not allowed"),
        (("--to", "redis://127.0.0.1:1", "--component", "everything"), "invalid choice"),
        (("--follow-partitions", "0"), "is 1 to 4096"),
        (("--follow-partitions", "16"), "16 partitions already"),
        (("--follow-partitions", "16", "--dry-run"), "16 partitions already"),
        (("--resume", "--dry-run"), "needs --to or --follow-partitions"),
        (("--resume",), "no move is in progress"),
        (("--back",), "no move is in progress"),
    ],
)
async def test_impossible_requests_are_refused_in_one_line(ann: Person, words: tuple[str, ...], because: str) -> None:
    with pytest.raises(CommandError, match=because) as refusal:
        await run(*words)
    assert len(str(refusal.value).splitlines()) == 1


async def test_an_embedded_server_that_does_not_run_is_refused(ann: Person, tmp_path: Any) -> None:
    with pytest.raises(CommandError, match="No server runs in"):
        await run("--to", f"embedded://{tmp_path}")
    with pytest.raises(CommandError, match="No server runs in"):
        await run("--to", f"embedded://{tmp_path}/nothing")


async def test_the_site_itself_is_refused_as_its_target(ann: Person, redis_url: str) -> None:
    with pytest.raises(CommandError, match="is there already"):
        await run("--to", redis_url)
