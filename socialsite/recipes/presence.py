"""Find the processes that have members online, and publish messages to them (docs/reference/live.md).

A member is a short word, such as an account id. A message is bytes. Each listening process (`pubsub_listener.py`)
stores a set of its members.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from socialsite.ids import TimeSource
from socialsite.store import Key, Store
from socialsite.store.key_families import TEMPORARY, key_by_id, key_by_word, single_key

PRESENCE_TTL_S = 15
FIXED_CHANNEL_COUNT = 16
PROCESS_TTL_S = 2 * PRESENCE_TTL_S
"""The TTL of a process. It is longer than the TTL of its set, so that every existing set is queried."""
SENTINEL_MEMBER = "0"
"""No account has this id. A set without it was created after an earlier set was lost."""

Member = TypeVar("Member", bound=int | str | bytes)


members_key = key_by_word("live:{<hex>}:online", "set",
    "account ids, and `l<list>`, with a socket in one web process; `0` is the member that shows that the set was not"
    " lost. Renewed every 5 s", role=TEMPORARY, cap="open sockets", lifetime="PRESENCE_TTL_S")  # fmt: skip
processes_key = single_key("live:{processes}:alive", "zset", "web processes, by the ms at which they expire",
    role=TEMPORARY, cap="web processes", lifetime="none; pruned at each renewal")  # fmt: skip
process_channel = key_by_word("live:{<hex>}:events", "channel",
    "entries of homes and lists of accounts with a socket in one process. The worker publishes, this web process reads",
    role=TEMPORARY)  # fmt: skip
_fixed_channel = key_by_id("live:{l<n>}:events", "channel",
    "posts, deletions, counts, changed relations, ended sessions; 16 of them, by post or account id. Actions publish,"
    " every web process reads", role=TEMPORARY)  # fmt: skip


def fixed_channel(number: int) -> Key:
    """Return a channel to which every process listens. The number selects one of several on different nodes."""
    return _fixed_channel(number % FIXED_CHANNEL_COUNT)


class Presence:
    """Finds the processes of members and publishes messages to processes."""

    def __init__(self, store: Store, clock: TimeSource) -> None:
        self._store = store
        self._clock = clock

    async def live_processes(self) -> list[str]:
        """Return the processes that have not expired."""
        key = processes_key()
        names = await self._store.node(key).execute("ZRANGEBYSCORE", key, self._clock.now_ms(), "+inf")
        return [name.decode() for name in names]

    async def locate(self, members: Sequence[Member]) -> dict[str, list[Member]]:
        """Map each process to its members among `members`, with one SMISMEMBER per live process.

        Members are ints, strings or bytes of digits, so callers pass thousands of ids without converting them.
        """
        processes = await self.live_processes() if members else []
        replies = await self._store.execute_all(("SMISMEMBER", members_key(name), *members) for name in processes)
        members_by_process: dict[str, list[Member]] = {}
        for process, flags in zip(processes, replies, strict=True):
            present = [member for member, flag in zip(members, flags, strict=True) if flag]
            if present:
                members_by_process[process] = present
        return members_by_process

    async def publish(self, payloads: Mapping[Key, bytes]) -> None:
        await self._store.execute_all((("SPUBLISH", channel, payload) for channel, payload in payloads.items()))
