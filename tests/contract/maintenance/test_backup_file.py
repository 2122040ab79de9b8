"""The file of a backup: values of every type, atomic writes, and refusal of damaged or newer files."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import pytest

from socialsite.maintenance.backup_file import (
    MAGIC,
    MAX_BLOCK_BYTES,
    BackupHeader,
    BackupReader,
    BackupWriter,
    InvalidBackup,
)
from socialsite.maintenance.dump import KeyRecord, build_write_commands, read_key_records
from socialsite.maintenance.key_families import find_backup_place, get_backup_pass, get_family
from socialsite.store import Key, Store
from tests.support.backups import write_backup
from tests.support.disk_faults import mounted_disk
from tests.support.sample_site import SampleSite
from tests.support.topologies import Deployment
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
    with pytest.raises(InvalidBackup, match="after its end mark"):
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


@pytest.mark.parametrize("records", [1, 100])  # the end of the file finds no room, or an earlier block
def test_a_backup_that_finds_no_room_leaves_no_part_behind(records: int) -> None:
    """A part that stays would fill the disk a little more every night."""
    with mounted_disk(2) as disk:
        path = disk.directory / "site.backup"
        path.write_bytes(b"of yesterday")
        disk.fill(4_096)
        rows = [KeyRecord(f"posts:{{{n}}}:post", "string", 0, [os.urandom(20_000)]) for n in range(records)]
        with pytest.raises(OSError, match="No space left"), BackupWriter(path, BackupHeader(1, 6, {})) as writer:
            writer.add("a", rows)
        assert path.read_bytes() == b"of yesterday"
        assert {each.name for each in disk.directory.iterdir()} == {"ballast", "site.backup"}


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "site.backup"
    with BackupWriter(path, BackupHeader(2, 5, {})):
        pass
    with pytest.raises(InvalidBackup, match="version is 2"):
        BackupReader(path).verify()


STREAM_ENTRY = [b"5-1", b"2", b"payload", b"x"]
UNRESTORABLE_RECORDS = [
    ("evil", "string", 0, [b"x"]),
    ("limits:{a1}:post:5", "string", 0, [b"1"]),
    ("map:{map}:record", "string", 0, [b"x"]),
    ("timelines:{1}:home", "list", 0, [b"1"]),
    (f"posts:{{{'1' * 5000}}}:post", "string", 0, [b"x"]),
    ("posts:{1}:post", "no_type", 0, [b"x"]),
    ("posts:{1}:post", "string", 0, []),
    ("posts:{1}:post", "string", 0, [b"x", b"y"]),
    ("posts:{1}:post", "string", -1, [b"x"]),
    ("posts:{1}:post", "string", 2**63, [b"x"]),
    ("posts:{11111111111111111}:post", "archived", 0, [b"x"]),
    ("accounts:{1}:account", "archived", 0, [b"x"]),
    ("accounts:{1}:account", "hash", 0, [b"handle"]),
    ("accounts:{1}:account", "hash", 0, []),
    ("accounts:{1}:account", "hash", 0, [b"a", b"1", b"a", b"2"]),
    ("follows:{p1}:followers:1", "zset", 0, [b"2", b"no number"]),
    ("follows:{p1}:followers:1", "zset", 0, [b"2", b"1_0"]),
    ("follows:{p1}:followers:1", "zset", 0, [b"2", b"1", b"2", b"3"]),
    ("sessions:{1}:index", "set", 0, [b"a", b"a"]),
    ("sessions:{1}:index", "list", 0, []),
    *(
        ("jobs:{outbox}:stream", "stream", 0, parts)
        for parts in (
            [], [b"5-1"], [b"5-1", b"-2"], [b"5-1", b"0"], [b"5-1", b"1", b"x"], [b"x", b"2", b"a", b"b"],
            [b"5-1", b"9" * 5000], [b"5-1", b"4", b"a", b"b"], [*STREAM_ENTRY, *STREAM_ENTRY],
        )
    ),
]  # fmt: skip


def write_records(path: Path, *records: KeyRecord) -> None:
    with BackupWriter(path, BackupHeader(1, 5, {})) as writer:
        writer.add("a", list(records))


@pytest.mark.parametrize("record", UNRESTORABLE_RECORDS, ids=lambda record: f"{record[0][:30]} {record[1]}")
def test_a_record_that_cannot_be_restored_is_found_before_anything_is_written(
    record: tuple[str, str, int, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "site.backup"
    good = KeyRecord("jobs:{outbox}:dead", "stream", 0, [*STREAM_ENTRY, b"5-2", b"2", b"payload", b"x"])
    write_records(path, good)
    BackupReader(path).verify()
    write_records(path, good, KeyRecord(*record))
    with pytest.raises(InvalidBackup):
        BackupReader(path).verify()


def test_a_block_that_decompresses_to_too_much_is_refused(tmp_path: Path) -> None:
    compressor = zlib.compressobj()
    first, megabyte = (compressor.compress(bytes(1 << 20)) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + megabyte * (MAX_BLOCK_BYTES >> 20)
    path = tmp_path / "bomb.backup"
    path.write_bytes(MAGIC + len(packed).to_bytes(4) + zlib.crc32(packed).to_bytes(4) + packed)
    with pytest.raises(InvalidBackup, match="larger than"):
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
    await node.execute_all(made)
    await node.execute("PEXPIREAT", "series:{1}:e", 4_000_000_000_000)
    names = [Key.parse(str(command[1])) for command in made[:9]]
    records = await read_key_records(node, list(dict.fromkeys(names)))
    assert len(records) == 9
    deployment.empty()
    for record in records:
        await store.execute_all(build_write_commands(Key.parse(record.key), record))
    key_records = [await read_key_records(each, list(dict.fromkeys(names))) for each in store.nodes]
    back = {record.key: record for part in key_records for record in part}
    assert [back[record.key] for record in records] == records


def test_key_families_are_named_without_ids() -> None:
    assert get_family(Key("posts", tag="a42", name="idempotency:00ff00ff00")) == "posts:{aN}:idempotency"
    assert get_family(keys.following("p7", 42)) == "follows:{pN}:following"


@pytest.mark.parametrize(
    "key",
    [
        "posts:{48}:post", "posts:{7777777777777777}:versions", "accounts:{12}:account", "accounts:{ids}:accounts",
        "accounts:{0f3bcafe0f3bcafe0f3bcafe0f3bcafe}:handle", "timelines:{l7}:list", "timelines:{l7}:posts",
        "timelines:{00ff00ff00ff00ff00ff00ff00ff00ff}:tag", "follows:{p3}:following:912", "timelines:{9}:home",
        "sessions:{5}:session:0000000000000000000000000000000000000000000000000000000000000abc",
        "posts:{a42}:idempotency:00ff00ff00", "jobs:{outbox}:waiting:81", "jobs:{outbox}:worker:ab12",
        "map:{map}:probe",
    ],
)  # fmt: skip
def test_the_pass_of_a_key_depends_on_no_digit_of_its_ids_and_digests(key: str) -> None:
    place = find_backup_place(key.encode())
    assert (place and place.backup_pass) == get_backup_pass(Key.parse(key))
    assert place is None or place.family == get_family(Key.parse(key))


@pytest.mark.parametrize(
    "raw_key", [b"\xff", b"posts:{}:post", b"follows:{p3}:following:", b"other", b"Posts:{1}:post"]
)
def test_a_foreign_key_is_in_no_backup(raw_key: bytes) -> None:
    assert find_backup_place(raw_key) is None


def test_a_backup_of_120_mb_of_empty_values_takes_little_memory(tmp_path: Path) -> None:
    """The file has 117 kB. Its values took 719 MB."""
    content = msgspec.msgpack.encode([KeyRecord("jobs:{outbox}:dead", "list", 0, [])])[:-1]
    content += b"\xdd" + (60_000_000).to_bytes(4) + b"\xc4\x00" * 60_000_000
    path = tmp_path / "bomb.backup"
    blocks = [zlib.compress(each, 9) for each in (msgspec.msgpack.encode(BackupHeader(1, 0, {})), content)]
    path.write_bytes(MAGIC + b"".join(len(b).to_bytes(4) + zlib.crc32(b).to_bytes(4) + b for b in blocks))
    code = (
        "import resource, sys, pathlib\n"
        "from socialsite.maintenance.backup_file import BackupReader, InvalidBackup\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    BackupReader(pathlib.Path(sys.argv[1])).verify()\n"
        "except InvalidBackup:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 60_000


def test_a_large_value_that_compresses_well_is_read_again(tmp_path: Path) -> None:
    record = KeyRecord("series:{1}:a", "string", 0, [bytes(20 << 20)])
    write_records(tmp_path / "site.backup", record)
    BackupReader(tmp_path / "site.backup").verify()
    assert [records for _at, records in BackupReader(tmp_path / "site.backup").iterate_blocks()] == [[record]]
