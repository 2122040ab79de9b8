"""A real Twemproxy (nutcracker) in front of test servers, and the commands that it supports."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import redis

from socialsite.store import Key, Script
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.redis_server import RedisServer
from tests.support.waiting import wait_until


class TwemproxyServer:
    """Twemproxy in front of some servers, on a unix socket."""

    def __init__(self, servers: Sequence[RedisServer], **settings: str) -> None:
        self.servers = list(servers)
        self._settings = settings
        self._directory = Path(tempfile.mkdtemp(prefix="ss-proxy-", dir="/tmp"))
        self.socket = self._directory / "proxy.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        nodes = ",".join(str(server.socket) for server in self.servers)
        return f"redis+twemproxy://{self.socket}?nodes={nodes}"

    def start(self) -> None:
        binary = need("nutcracker")
        configuration = self._directory / "nutcracker.yml"
        configuration.write_text(self._configuration())
        (statistics,) = free_ports(1)
        log = self._directory / "log"
        self._process = subprocess.Popen(
            [binary, "-c", str(configuration), "-s", str(statistics), "-a", "127.0.0.1", "-o", str(log)],
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, f"the proxy to answer (see {log})")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with redis.Redis(unix_socket_path=str(self.socket), protocol=2, driver_info=None) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def _configuration(self) -> str:
        settings = {
            "listen": f"{self.socket} 0600", "hash": "md5", "hash_tag": '"{}"', "distribution": "ketama",
            "auto_eject_hosts": "false", "redis": "true", "timeout": "4000", **self._settings,
        }  # fmt: skip
        lines = [f"  {name}: {value}" for name, value in settings.items() if value]
        servers = [f"    - {server.socket}:1 s{number}" for number, server in enumerate(self.servers)]
        return "\n".join(["pool:", *lines, "  servers:", *servers]) + "\n"


@contextlib.contextmanager
def running_twemproxy(servers: Sequence[RedisServer], **settings: str) -> Iterator[TwemproxyServer]:
    proxy = TwemproxyServer(servers, **settings)
    try:
        proxy.start()
        yield proxy
    finally:
        proxy.stop()


NOTHING, LIST, SET, ZSET, HASH = (
    Key("posts", tag="1", name=name) for name in ("nothing", "list", "set", "zset", "hash")
)

ECHO = Script("echo", "return {KEYS[1], ARGV[1]}")

WITH_KEY_ONLY = (
    "DEL", "EXISTS", "PERSIST", "TTL", "PTTL", "TYPE", "DUMP", "UNLINK", "TOUCH", "GET", "MGET", "GETDEL",
    "STRLEN", "INCR", "DECR", "HGETALL", "HLEN", "HKEYS", "HVALS", "LPOP", "RPOP", "LLEN", "SCARD",
    "SMEMBERS", "SPOP", "SRANDMEMBER", "ZCARD", "ZPOPMIN", "ZPOPMAX", "GETEX", "BITCOUNT",
)  # fmt: skip

FORMS: list[tuple[Any, ...]] = [
    *((name, NOTHING) for name in WITH_KEY_ONLY),
    ("EXPIRE", NOTHING, 1), ("EXPIREAT", NOTHING, 1), ("PEXPIRE", NOTHING, 1), ("PEXPIREAT", NOTHING, 1),
    ("RESTORE", NOTHING, 0, "x"), ("SET", NOTHING, 1, "NX", "GET", "EX", 100), ("GETEX", NOTHING, "EX", 9),
    ("SET", NOTHING, 1, "XX", "KEEPTTL"), ("GETRANGE", NOTHING, 0, 1), ("SETRANGE", NOTHING, 0, "1"),
    ("GETBIT", NOTHING, 1), ("SETBIT", NOTHING, 1, 1), ("APPEND", NOTHING, "1"), ("INCRBY", NOTHING, 1),
    ("DECRBY", NOTHING, 1), ("BITCOUNT", NOTHING, 0, -1), ("DEL", NOTHING, NOTHING),
    ("EXISTS", NOTHING, LIST),
    ("HSET", HASH, "a", 1, "b", 2), ("HSETNX", HASH, "a", 1), ("HGET", HASH, "a"), ("HMGET", HASH, "a", "b"),
    ("HDEL", HASH, "c", "d"), ("HEXISTS", HASH, "a"), ("HINCRBY", HASH, "a", 1), ("HSCAN", HASH, 0),
    ("LPUSH", LIST, 1, 2), ("LPUSHX", LIST, 1), ("RPUSH", LIST, 3, 4), ("RPUSHX", LIST, 3, 4),
    ("LINDEX", LIST, -1), ("LINSERT", LIST, "BEFORE", 3, 9), ("LRANGE", LIST, 0, -1), ("LREM", LIST, 1, 9),
    ("LSET", LIST, 0, 7), ("LTRIM", LIST, 0, 5), ("LPOS", LIST, 7), ("LPOP", LIST, 1), ("RPOP", LIST, 1),
    ("SADD", SET, 1, 2), ("SREM", SET, 3, 4), ("SISMEMBER", SET, 1), ("SMISMEMBER", SET, 1, 2),
    ("SPOP", SET, 1), ("SRANDMEMBER", SET, 1), ("SSCAN", SET, 0),
    ("ZADD", ZSET, "NX", 1, "a", 2, "b"), ("ZADD", ZSET, "XX", "GT", 3, "a"), ("ZREM", ZSET, "x", "y"),
    ("ZCOUNT", ZSET, "-inf", "+inf"), ("ZSCORE", ZSET, "a"), ("ZMSCORE", ZSET, "a", "b"),
    ("ZINCRBY", ZSET, 1, "a"), ("ZRANK", ZSET, "a"), ("ZREVRANK", ZSET, "a"),
    ("ZRANGE", ZSET, 0, -1, "WITHSCORES"), ("ZRANGE", ZSET, 0, 9, "REV"),
    ("ZRANGE", ZSET, "(9", "-inf", "BYSCORE", "REV", "LIMIT", 0, 5, "WITHSCORES"),
    ("ZREVRANGE", ZSET, 0, -1), ("ZRANGEBYSCORE", ZSET, "(1", "+inf", "LIMIT", 0, 5),
    ("ZREVRANGEBYSCORE", ZSET, "+inf", "-inf", "WITHSCORES"), ("ZRANGEBYLEX", ZSET, "-", "+"),
    ("ZREVRANGEBYLEX", ZSET, "+", "-"), ("ZREMRANGEBYRANK", ZSET, 0, -1000), ("ZLEXCOUNT", ZSET, "-", "+"),
    ("ZREMRANGEBYSCORE", ZSET, "-inf", "(0"), ("ZREMRANGEBYLEX", ZSET, "[y", "[z"), ("ZSCAN", ZSET, 0),
    ("ZPOPMIN", ZSET, 1), ("ZPOPMAX", ZSET, 1),
    ("EVAL", ECHO.source, 1, NOTHING, "x"), ("EVALSHA", ECHO.sha, 2, NOTHING, LIST, "x"),
]  # fmt: skip

"""Every command in the site's forms; each must get a reply, even an error reply."""

REFUSED: list[tuple[Any, ...]] = [
    ("MULTI",), ("EXEC",), ("WATCH", NOTHING), ("TIME",), ("INFO",), ("SCAN", 0), ("KEYS", "*"),
    ("WAIT", 1, 9), ("DBSIZE",), ("FLUSHALL",), ("CONFIG", "GET", "*"), ("SCRIPT", "LOAD", "return 1"),
    ("ECHO", "x"), ("PUBLISH", "a", "b"), ("SPUBLISH", "a", "b"), ("SUBSCRIBE", "a"), ("SSUBSCRIBE", "a"),
    ("BLPOP", LIST, 1), ("XADD", NOTHING, "*", "a", "b"), ("XLEN", NOTHING),
    ("XREADGROUP", "GROUP", "g", "c", "STREAMS", NOTHING, ">"), ("RENAME", NOTHING, LIST),
    ("EXPIRE", NOTHING, 100, "GT"), ("PEXPIRE", NOTHING, 100, "NX"), ("PERSIST", NOTHING, LIST),
    ("OBJECT", "ENCODING", NOTHING), ("EVAL", "return 1", 0), ("EVALSHA", ECHO.sha, 0), ("SELECT", 1),
]  # fmt: skip
