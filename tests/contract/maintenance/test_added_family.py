"""A declared family is enough: backup, audit, trim, memory, purge and the document handle a family that a test adds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from socialsite.maintenance import key_families as maintenance
from socialsite.maintenance.key_families import is_known
from socialsite.store import Key, key_families
from socialsite.store.key_families import CACHE, FAMILIES, Facts, KeyFamily, key_by_id
from tests.support.backups import restore_backup, write_backup
from tests.support.generated_tables import build_key_table
from tests.support.sample_site import SampleSite
from tests.support.topologies import Deployment
from timelines.audit.account_keys import owned_keys
from timelines.audit.trimming import Trimming

PATTERN = "timelines:{<account>}:moods"


@contextmanager
def declared(redis_type: str, pattern: str = PATTERN, **facts: object) -> Iterator[KeyFamily]:
    """Declare the moods of an account, or of a post, for the time of a test."""
    key_by_id(pattern, redis_type, "moods of the account", **facts)
    try:
        yield FAMILIES[pattern]
    finally:
        key_families._BY_BUILDER.pop(FAMILIES.pop(pattern).build)
        key_families._clear_caches()
        maintenance._find_place_of_shape.cache_clear()


async def test_a_source_is_backed_up_and_restored(town: SampleSite, deployment: Deployment, tmp_path: Path) -> None:
    with declared("string") as moods:
        await town.execute("SET", moods.build(town.bob.id), "calm")
        await write_backup(town.services, tmp_path / "site.backup")
        deployment.empty()
        await restore_backup(town.services, tmp_path / "site.backup")
        assert await town.execute("GET", moods.build(town.bob.id)) == b"calm"


async def test_a_cache_is_not_backed_up(town: SampleSite, deployment: Deployment, tmp_path: Path) -> None:
    with declared("string", role=CACHE) as moods:
        await town.execute("SET", moods.build(town.bob.id), "calm")
        await write_backup(town.services, tmp_path / "site.backup")
        deployment.empty()
        await restore_backup(town.services, tmp_path / "site.backup")
        assert await town.execute("GET", moods.build(town.bob.id)) is None


async def test_a_value_of_a_wrong_type_is_found_and_repaired(town: SampleSite) -> None:
    with declared("hash") as moods:
        await town.execute("SET", moods.build(town.bob.id), "no hash")
        assert (await town.audit(repair=True)).damage == {"key_of_wrong_type": 1}
        assert not (await town.audit()).discrepancies
        assert await town.execute("TYPE", moods.build(town.bob.id)) == b"none"


async def test_entries_above_the_cap_are_trimmed(town: SampleSite) -> None:
    with declared("zset", cap=2, trimmed_as="moods") as moods:
        await town.execute("ZADD", moods.build(town.bob.id), 1, "a", 2, "b", 3, "c")
        removed = await Trimming(town.services.audit_context, second_check_after_s=0.01).trim()
        assert removed["moods"] == 1
        assert await town.execute("ZRANGE", moods.build(town.bob.id), 0, -1) == [b"b", b"c"]


async def test_a_private_key_is_deleted_with_its_account(town: SampleSite) -> None:
    with declared("string") as moods:
        key = moods.build(town.bob.id)
        assert key in owned_keys(town.bob.id, 1, 1)
        await town.execute("SET", key, "calm")
        await town.services.accounts.delete(account_id=town.bob.id)
        await town.world.deliver_all()
        assert await town.execute("EXISTS", key) == 0


async def test_a_key_of_a_post_is_deleted_with_the_post(town: SampleSite) -> None:
    with declared("string", pattern="posts:{<post>}:moods", deleted_with_post=True) as moods:
        await town.execute("SET", moods.build(town.first.id), "calm")
        await town.bob.deletes(town.first)
        assert await town.execute("EXISTS", moods.build(town.first.id)) == 0


def test_the_document_and_the_list_of_known_keys_have_it() -> None:
    key = Key.parse("timelines:{7}:moods")
    assert not is_known(key)
    assert "moods" not in build_key_table("timelines")
    with declared("string", plain_name="feelings"):
        assert is_known(key)
        row = f"| `{PATTERN}` | string | source (feelings): moods of the account | account |  | none | references |"
        assert row in build_key_table("timelines")
    assert not is_known(key)


def test_an_unknown_fact_is_refused_at_the_import() -> None:
    facts: Facts = {"colour": "blue"}  # type: ignore[typeddict-unknown-key]
    with pytest.raises(TypeError, match="colour"):
        key_by_id(PATTERN, "string", "moods of the account", **facts)


def test_keys_are_unknown_to_no_process_that_lacks_the_modules_of_a_component(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_families, "FAMILIES", {})
    key_families._clear_caches()
    with pytest.raises(RuntimeError, match="accounts"):
        is_known(Key.parse("timelines:{7}:home"))
    key_families._clear_caches()
