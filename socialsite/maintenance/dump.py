"""Read values of all types from a node, and build the commands that write them on any topology.

The format does not use DUMP, so a backup can be restored on another version of the server.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from socialsite.maintenance.key_families import is_backed_up
from socialsite.store import Command, CommandRefused, Key, Node, Reply

ELEMENTS_PER_COMMAND = 1_000  # elements in one command
FIRST_READ_ELEMENTS = 4_000
"""Values with more elements are scanned. A scan returns all elements that exist from its beginning to its end."""
FIRST_READS: Mapping[str, Sequence[object]] = {
    "string": ("GET",),
    "hash": ("HSCAN", 0, "COUNT", FIRST_READ_ELEMENTS),
    "list": ("LRANGE", 0, FIRST_READ_ELEMENTS),
    "set": ("SSCAN", 0, "COUNT", FIRST_READ_ELEMENTS),
    "zset": ("ZRANGE", 0, FIRST_READ_ELEMENTS, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+", "COUNT", FIRST_READ_ELEMENTS + 1),
}
"""By type: a command and its arguments after the key. They return one element more than a value may have."""
SCAN_COMMANDS = {"hash": "HSCAN", "set": "SSCAN", "zset": "ZSCAN"}
ARCHIVED_BODY_TYPE = "archived"
"""Type of a record that contains the archived body of a post. The record has the name of the post's key."""
MAX_KEY_LENGTH = 512
MAX_EXPIRY_MS = 1 << 53
STREAM_ID = re.compile(rb"(\d{1,19})-(\d{1,19})")
SCORE = re.compile(rb"-?(inf|\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,3})?)")
POST_KEY = re.compile(r"posts:\{\d{1,16}\}:post")


class KeyRecord(NamedTuple):
    """The type, value and expiry of one key.

    `parts` is the value of a string, the alternating fields and values of a hash, the elements of a list or set, or the
    alternating members and scores of a sorted set. For each entry of a stream, `parts` has its id, the number of its
    values, and the values. `expires_ms` is Unix ms, or 0 if the key does not expire.
    """

    key: str
    type: str
    expires_ms: int
    parts: list[bytes]


async def read_key_records(
    node: Node, keys: Sequence[Key], probable_types: Mapping[str, str] = MappingProxyType({})
) -> list[KeyRecord]:
    """Return the values of keys of this node, without keys that were deleted meanwhile.

    `probable_types` spare reads of the types of these keys, and may be wrong.
    """
    try:
        return await _try_read_key_records(node, keys, probable_types)
    except CommandRefused:  # a type is wrong, or changed between two reads
        if probable_types:
            return await read_key_records(node, keys)
        if len(keys) == 1:
            return []
        return [record for key in keys for record in await read_key_records(node, [key])]


async def _try_read_key_records(node: Node, keys: Sequence[Key], probable_types: Mapping[str, str]) -> list[KeyRecord]:
    unknown = [key for key in keys if key not in probable_types]
    names = await node.execute_all([("TYPE", key) for key in unknown])
    types = dict(probable_types)
    types.update((key, name.decode()) for key, name in zip(unknown, names, strict=True))
    typed = [(key, types[key]) for key in keys if types[key] in FIRST_READS]
    first_reads: list[Command] = []
    for key, kind in typed:
        name, *arguments = FIRST_READS[kind]
        first_reads += [(name, key, *arguments), ("PEXPIRETIME", key)]
    replies = await node.execute_all(first_reads)
    records: list[KeyRecord] = []
    for (key, kind), value, expires_ms in zip(typed, replies[::2], replies[1::2], strict=True):
        if kind in ("hash", "set"):
            cursor, value = value
            is_whole = cursor == b"0"
        else:
            is_whole = kind == "string" or len(value) <= FIRST_READ_ELEMENTS * (2 if kind == "zset" else 1)
        if parts := flatten_reply(kind, value if is_whole else await _read_by_scan(node, key, kind)):
            records.append(KeyRecord(str(key), kind, max(0, expires_ms), parts))
    return records


async def _read_by_scan(node: Node, key: Key, kind: str) -> Reply:
    if kind in ("list", "stream"):
        return await _read_by_range(node, key, kind)
    name = SCAN_COMMANDS[kind]
    width = 1 if kind == "set" else 2
    elements: dict[bytes, list[bytes]] = {}
    cursor = b"0"
    while True:
        cursor, page = await node.execute(name, key, cursor, "COUNT", ELEMENTS_PER_COMMAND)
        elements |= {page[n]: page[n : n + width] for n in range(0, len(page), width)}
        if cursor == b"0":
            pairs: list[list[bytes]] = list(elements.values())
            if kind == "zset":
                pairs.sort(key=lambda pair: (float(pair[1]), pair[0]))  # the order of ZRANGE
            return [part for pair in pairs for part in pair]


async def _read_by_range(node: Node, key: Key, kind: str) -> Reply:
    elements: list[Any] = []
    while True:
        if kind == "list":
            page = await node.execute("LRANGE", key, len(elements), len(elements) + ELEMENTS_PER_COMMAND - 1)
        else:
            first = f"({elements[-1][0].decode()}" if elements else "-"
            page = await node.execute("XRANGE", key, first, "+", "COUNT", ELEMENTS_PER_COMMAND)
        elements += page
        if len(page) < ELEMENTS_PER_COMMAND:
            return elements


def flatten_reply(kind: str, reply: Reply) -> list[bytes]:
    """Return a value of any type as a flat list of bytes.

    Sets and hashes are sorted, so that two values can be compared. The server has sorted the other values.
    """
    if not reply:
        return [reply] if reply == b"" else []
    if kind == "string":
        return [reply]
    if kind == "stream":
        return [part for id, values in reply for part in (id, b"%d" % len(values), *values)]
    if kind == "set":
        return sorted(reply)
    if kind == "hash":
        return [part for pair in sorted(zip(reply[::2], reply[1::2], strict=True)) for part in pair]
    return list(reply)


def find_defect(record: KeyRecord) -> str | None:
    """Return the reason why a record cannot be restored, or None if it can."""
    parts, key = record.parts, record.key
    try:
        is_valid_key = len(key) <= MAX_KEY_LENGTH and is_backed_up(Key.parse(key))
    except ValueError:
        is_valid_key = False
    if not is_valid_key:
        return "no backup contains such a key"
    if not 0 <= record.expires_ms <= MAX_EXPIRY_MS:
        return "its time of expiry is impossible"
    match record.type:
        case "string":
            is_valid = len(parts) == 1
        case "archived":
            is_valid = len(parts) == 1 and POST_KEY.fullmatch(key) is not None
        case "list":
            is_valid = bool(parts)
        case "set":
            is_valid = 0 < len(parts) == len(set(parts))
        case "hash" | "zset":
            is_valid = 0 < len(parts) == 2 * len(set(parts[::2]))
            is_valid &= record.type == "hash" or all(map(SCORE.fullmatch, parts[1::2]))
        case "stream":
            is_valid = bool(parts) and _is_valid_stream(parts)
        case _:
            return "its type is unknown"
    return None if is_valid else "its value does not fit its type"


def _is_valid_stream(parts: Sequence[bytes]) -> bool:
    """Return whether `parts` are entries with rising ids, each with an even number of values."""
    at, last_id = 0, (0, 0)
    while at < len(parts):
        match = STREAM_ID.fullmatch(parts[at])
        if match is None or at + 1 == len(parts) or not re.fullmatch(rb"\d{1,9}", parts[at + 1]):
            return False
        entry_id, count = (int(match[1]), int(match[2])), int(parts[at + 1])
        at += 2 + count
        if entry_id <= last_id or max(entry_id) >= 1 << 64 or count < 2 or count % 2 or at > len(parts):
            return False
        last_id = entry_id
    return True


def build_write_commands(key: Key, record: KeyRecord) -> list[Command]:
    """Return the commands that write the value of the record to `key`, which is absent."""
    parts = record.parts
    if record.type == "string":
        expiry = ("PXAT", record.expires_ms) if record.expires_ms else ()
        return [("SET", key, parts[0], *expiry)]
    if record.type == "stream":
        commands = _build_xadd_commands(key, parts)
    elif record.type == "zset":
        swapped = [part for n in range(0, len(parts), 2) for part in (parts[n + 1], parts[n])]
        commands = _split_command("ZADD", key, swapped)
    else:
        commands = _split_command({"hash": "HSET", "list": "RPUSH", "set": "SADD"}[record.type], key, parts)
    return [*commands, ("PEXPIREAT", key, record.expires_ms)] if record.expires_ms else commands


def _split_command(name: str, key: Key, parts: Sequence[bytes]) -> list[Command]:
    return [(name, key, *parts[n : n + ELEMENTS_PER_COMMAND]) for n in range(0, len(parts), ELEMENTS_PER_COMMAND)]


def _build_xadd_commands(key: Key, parts: Sequence[bytes]) -> list[Command]:
    commands: list[Command] = []
    at = 0
    while at < len(parts):
        count = int(parts[at + 1])
        commands.append(("XADD", key, parts[at], *parts[at + 2 : at + 2 + count]))
        at += 2 + count
    return commands
