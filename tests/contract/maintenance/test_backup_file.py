"""The file of a backup: values of every type, atomic writes, and refusal of damaged or newer files."""

from pathlib import Path

import pytest

from socialsite.maintenance.backup_file import BackupHeader, BackupReader, BackupWriter, InvalidBackup
from socialsite.maintenance.dump import KeyRecord, build_write_commands, read_key_records
from socialsite.maintenance.key_families import get_family
from socialsite.store import Key, Store
from tests.support.backups import write_backup
from tests.support.topologies import Deployment
from tests.support.town import SampleSite
from tests.support.world import World
from timelines import keys


async def test_a_damaged_file_is_refused_before_anything_is_written(world: World, tmp_path: Path) -> None:
    await SampleSite.build(world)
    path = tmp_path / "site.backup"
    await write_backup(world.services, path)
    whole = path.read_bytes()
    BackupReader(path).verify()
    for at in (3, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InvalidBackup):
            BackupReader(path).verify()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidBackup):
            BackupReader(path).verify()
    path.write_bytes(whole + b"x")
    with pytest.raises(InvalidBackup, match="follows"):
        BackupReader(path).verify()


def test_a_failed_backup_keeps_the_previous_file(tmp_path: Path) -> None:
    path = tmp_path / "site.backup"
    with BackupWriter(path, BackupHeader(1, 5, {})) as writer:
        writer.add("a", [KeyRecord("posts:{1}:post", "string", 0, [b"x"])])
    whole = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError), BackupWriter(path, BackupHeader(1, 6, {})):
        raise RuntimeError
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "site.backup"
    with BackupWriter(path, BackupHeader(2, 5, {})):
        pass
    with pytest.raises(InvalidBackup, match="version is 2"):
        BackupReader(path).verify()


async def test_values_of_every_type_are_restored_unchanged(store: Store, deployment: Deployment) -> None:
    node = store.nodes[0]
    made: list[tuple[object, ...]] = [
        ("SET", "series:{1}:a", b"\x00\xff"), ("HSET", "series:{1}:b", "x", "1", "y", ""),
        ("RPUSH", "series:{1}:c", *range(9000)), ("SADD", "series:{1}:d", *range(9000)),
        ("ZADD", "series:{1}:e", *(part for n in range(9000) for part in (n / 7, n))),
        ("HSET", "series:{1}:f", *(part for n in range(5000) for part in (n, n))),
        ("XADD", "jobs:{outbox}:stream", "5-1", "payload", b"\xff"), ("SET", "series:{1}:g", ""),
        *(("XADD", "jobs:{outbox}:dead", f"{n}-1", "payload", n, "reason", "r") for n in range(1, 4500)),
    ]  # fmt: skip
    await node.pipeline(made)
    await node.execute("PEXPIREAT", "series:{1}:e", 4_000_000_000_000)
    names = [Key.parse(str(command[1])) for command in made[:9]]
    records = await read_key_records(node, list(dict.fromkeys(names)))
    assert len(records) == 9
    deployment.empty()
    for record in records:
        await store.gather(build_write_commands(record))
    key_records = [await read_key_records(each, list(dict.fromkeys(names))) for each in store.nodes]
    back = {record.key: record for part in key_records for record in part}
    assert [back[record.key] for record in records] == records


def test_key_families_are_named_without_ids() -> None:
    assert get_family(Key("posts", tag="a42", name="idempotency:00ff00ff00")) == "posts:{aN}:idempotency"
    assert get_family(keys.following("p7", 42)) == "follows:{pN}:following"
