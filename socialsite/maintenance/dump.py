"""Values of keys by type: read from a node, written by key on whatever topology, held side by side.

Logical, not DUMP: a backup outlives the server version that it was made on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from socialsite.store import Command, CommandRefused, Key, Node, Reply

ELEMENTS_PER_COMMAND = 1_000  # elements in one command
WHOLE_READ_MAX_ELEMENTS = 4_000
"""Elements up to which a value is read in one command. Larger ones are walked: what is in them from the
beginning to the end of the walk is read for sure."""
SIZE_COMMANDS = {"hash": "HLEN", "list": "LLEN", "set": "SCARD", "zset": "ZCARD", "stream": "XLEN"}


class KeyRecord(NamedTuple):
    """`parts`: a string's value; fields, elements, members with scores, one after another; a stream's entries
    as id, number of values, values. `expires_ms`: Unix ms, 0 for never."""

    key: str
    type: str
    expires_ms: int
    parts: list[bytes]


async def read_key_records(node: Node, keys: Sequence[Key]) -> list[KeyRecord]:
    """The values of keys of this node; those that went meanwhile are left out."""
    try:
        return await _try_read_key_records(node, keys)
    except CommandRefused:  # one of them got another type between two looks
        if len(keys) == 1:
            return []
        return [record for key in keys for record in await read_key_records(node, [key])]


async def _try_read_key_records(node: Node, keys: Sequence[Key]) -> list[KeyRecord]:
    asked: list[Command] = [("TYPE", key) for key in keys]
    asked += [("PEXPIRETIME", key) for key in keys]
    replies = await node.pipeline(asked)
    types = {key: reply.decode() for key, reply in zip(keys, replies, strict=False)}
    times = dict(zip(keys, replies[len(keys) :], strict=True))
    sized = [key for key in keys if types[key] in SIZE_COMMANDS]
    sizes = dict(zip(sized, await node.pipeline([(SIZE_COMMANDS[types[k]], k) for k in sized]), strict=True))
    whole = [key for key in keys if types[key] == "string" or 0 < sizes.get(key, 0) <= WHOLE_READ_MAX_ELEMENTS]
    values = dict(zip(whole, await node.pipeline([_whole_read_command(key, types[key]) for key in whole]), strict=True))
    records: list[KeyRecord] = []
    for key in keys:
        if sizes.get(key, 0) > WHOLE_READ_MAX_ELEMENTS:
            values[key] = await _read_by_scan(node, key, types[key])
        if parts := flatten_reply(types[key], values.get(key)):
            records.append(KeyRecord(str(key), types[key], max(0, times[key]), parts))
    return records


def _whole_read_command(key: Key, kind: str) -> Command:
    last = 2 * WHOLE_READ_MAX_ELEMENTS  # what has come since it was measured included
    return {
        "string": ("GET", key),
        "hash": ("HGETALL", key),
        "list": ("LRANGE", key, 0, last),
        "set": ("SMEMBERS", key),
        "zset": ("ZRANGE", key, 0, last, "WITHSCORES"),
        "stream": ("XRANGE", key, "-", "+", "COUNT", last),
    }[kind]


async def _read_by_scan(node: Node, key: Key, kind: str) -> Reply:
    if kind in ("list", "stream"):
        return await _read_by_range(node, key, kind)
    name = {"hash": "HSCAN", "set": "SSCAN", "zset": "ZSCAN"}[kind]
    width = 1 if kind == "set" else 2
    found: dict[bytes, list[bytes]] = {}
    cursor = b"0"
    while True:
        cursor, some = await node.execute(name, key, cursor, "COUNT", ELEMENTS_PER_COMMAND)
        found |= {some[n]: some[n : n + width] for n in range(0, len(some), width)}
        if cursor == b"0":
            return [part for parts in found.values() for part in parts]


async def _read_by_range(node: Node, key: Key, kind: str) -> Reply:
    found: list[Any] = []
    while True:
        if kind == "list":
            some = await node.execute("LRANGE", key, len(found), len(found) + ELEMENTS_PER_COMMAND - 1)
        else:
            first = f"({found[-1][0].decode()}" if found else "-"
            some = await node.execute("XRANGE", key, first, "+", "COUNT", ELEMENTS_PER_COMMAND)
        found += some
        if len(some) < ELEMENTS_PER_COMMAND:
            return found


def flatten_reply(kind: str, reply: Reply) -> list[bytes]:
    """One flat list of bytes, whatever the type; sets in one order, so that two can be compared."""
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
    if kind == "zset":
        pairs = sorted(zip(reply[::2], reply[1::2], strict=True), key=lambda pair: (float(pair[1]), pair[0]))
        return [part for pair in pairs for part in pair]
    return list(reply)


def build_write_commands(record: KeyRecord) -> list[Command]:
    """They write the value into an absent key."""
    key, parts = Key.parse(record.key), record.parts
    if record.type == "string":
        life = ("PXAT", record.expires_ms) if record.expires_ms else ()
        return [("SET", key, parts[0], *life)]
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
