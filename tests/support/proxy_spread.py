"""Measure how evenly Twemproxy's hashes spread the site's tags: `python -m tests.support.proxy_spread`.

Prints the busiest of four servers against the mean, for accounts {1} to {20000}, lists {l1} to {l300} and the sixteen
follow partitions {p0} to {p15}; "!" marks a server without keys. docs/reference/decisions/partitioning.md cites the
results.
"""

from collections.abc import Sequence

import redis

from tests.support.redis_server import RedisServer
from tests.support.topologies import SHARDS, plain_servers
from tests.support.twemproxy import TwemproxyServer, running_twemproxy

HASHES = ("fnv1a_64", "fnv1a_32", "fnv1_64", "murmur", "md5", "crc32", "crc32a", "crc16", "jenkins", "hsieh")
KEY_FAMILIES = ([f"{n}" for n in range(1, 20_001)], [f"l{n}" for n in range(1, 301)], [f"p{n}" for n in range(16)])


def main() -> None:
    with plain_servers(SHARDS) as servers:
        print(f"{'hash':12}{'accounts':>12}{'lists':>12}{'partitions':>12}")
        for name in HASHES:
            with running_twemproxy(servers, hash=name) as proxy:
                shares = [busiest_share(proxy, servers, tags) for tags in KEY_FAMILIES]
            print(f"{name:12}" + "".join(f"{each:>12}" for each in shares))


def busiest_share(proxy: TwemproxyServer, servers: Sequence[RedisServer], tags: Sequence[str]) -> str:
    sizes = []
    for server in servers:
        with server.client() as client:
            client.flushall()
    with redis.Redis(unix_socket_path=str(proxy.socket), protocol=2, driver_info=None) as client:
        pipeline = client.pipeline(transaction=False)
        for tag in tags:
            pipeline.set(f"timelines:{{{tag}}}:home", 1)
        pipeline.execute()
    for server in servers:
        with server.client() as client:
            sizes.append(int(client.dbsize()))
    return f"{max(sizes) * len(servers) / len(tags):.2f}{'' if min(sizes) else '!'}"


if __name__ == "__main__":
    main()
