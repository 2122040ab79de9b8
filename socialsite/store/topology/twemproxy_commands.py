"""What Twemproxy 0.5 (Debian's nutcracker) carries, and what it would close the connection on.

Its parser knows commands by their number of arguments: EXPIRE with GT is as unknown to it as MULTI. So the
list gives for each command the least and the most arguments, without its name; None: any number. Only what
works on one tag is on it. Held against the real program by tests/contract/test_topology_proxy.py.
"""

from collections.abc import Sequence
from typing import Any

from socialsite.store.errors import CommandRefused
from socialsite.store.key import Key

SUPPORTED_COMMANDS: dict[str, tuple[int, int | None]] = {
    # keys
    "DEL": (1, None), "EXISTS": (1, None), "EXPIRE": (2, 2), "EXPIREAT": (2, 2), "PEXPIRE": (2, 2),
    "PEXPIREAT": (2, 2), "PERSIST": (1, 1), "TTL": (1, 1), "PTTL": (1, 1), "TYPE": (1, 1), "DUMP": (1, 1),
    "RESTORE": (3, None), "UNLINK": (1, None), "TOUCH": (1, None),
    # strings
    "GET": (1, 1), "SET": (2, None), "MGET": (1, None), "GETDEL": (1, 1), "GETEX": (1, None),
    "GETRANGE": (3, 3), "SETRANGE": (3, 3), "GETBIT": (2, 2), "SETBIT": (3, 3), "BITCOUNT": (1, None),
    "APPEND": (2, 2), "STRLEN": (1, 1), "INCR": (1, 1), "INCRBY": (2, 2), "DECR": (1, 1), "DECRBY": (2, 2),
    # hashes
    "HSET": (3, None), "HSETNX": (3, 3), "HGET": (2, 2), "HMGET": (2, None), "HGETALL": (1, 1),
    "HDEL": (2, None), "HEXISTS": (2, 2), "HLEN": (1, 1), "HKEYS": (1, 1), "HVALS": (1, 1),
    "HINCRBY": (3, 3), "HSCAN": (2, None),
    # lists
    "LPUSH": (2, None), "LPUSHX": (2, None), "RPUSH": (2, None), "RPUSHX": (2, None), "LPOP": (1, None),
    "RPOP": (1, None), "LINDEX": (2, 2), "LINSERT": (4, 4), "LLEN": (1, 1), "LRANGE": (3, 3), "LREM": (3, 3),
    "LSET": (3, 3), "LTRIM": (3, 3), "LPOS": (2, None),
    # sets
    "SADD": (2, None), "SREM": (2, None), "SCARD": (1, 1), "SMEMBERS": (1, 1), "SISMEMBER": (2, 2),
    "SMISMEMBER": (2, None), "SPOP": (1, None), "SRANDMEMBER": (1, None), "SSCAN": (2, None),
    # sorted sets
    "ZADD": (3, None), "ZREM": (2, None), "ZCARD": (1, 1), "ZCOUNT": (3, 3), "ZSCORE": (2, 2),
    "ZMSCORE": (2, None), "ZINCRBY": (3, 3), "ZRANK": (2, 2), "ZREVRANK": (2, 2), "ZRANGE": (3, None),
    "ZREVRANGE": (3, None), "ZRANGEBYSCORE": (3, None), "ZREVRANGEBYSCORE": (3, None),
    "ZRANGEBYLEX": (3, None), "ZREVRANGEBYLEX": (3, None), "ZREMRANGEBYRANK": (3, 3),
    "ZREMRANGEBYSCORE": (3, 3), "ZREMRANGEBYLEX": (3, 3), "ZLEXCOUNT": (3, 3), "ZPOPMIN": (1, None),
    "ZPOPMAX": (1, None), "ZSCAN": (2, None),
    # scripts: only with a key, which routes them
    "EVAL": (3, None), "EVALSHA": (3, None),
}  # fmt: skip


class UnsupportedByTwemproxy(CommandRefused):
    """The proxy cannot carry the command; it was not sent."""


def require_supported(command: Sequence[Any]) -> None:
    """Raises UnsupportedByTwemproxy for a command that is not on the list."""
    name = str(command[0])
    least, most = SUPPORTED_COMMANDS.get(name, (0, -1))
    arguments = len(command) - 1
    if arguments < least or (most is not None and arguments > most):
        raise unsupported_error(
            name if name not in SUPPORTED_COMMANDS else f"{name} with {arguments} arguments", command
        )
    if name in ("EVAL", "EVALSHA") and int(command[2]) < 1:
        raise unsupported_error("a script without a key", command)


def unsupported_error(what: str, command: Sequence[Any]) -> UnsupportedByTwemproxy:
    """One sentence that names the component and says what to set."""
    key = next((part for part in command if isinstance(part, Key)), None)
    if key is None:
        return UnsupportedByTwemproxy(f"Twemproxy does not carry {what}: send it to the servers behind it")
    return UnsupportedByTwemproxy(
        f"{key.component} cannot stand behind Twemproxy, which does not carry {what}: "
        f"set REDIS_{key.component.upper()}_URL to a server of its own"
    )
