"""Who is here, and a word to those who are: the publisher's side, for any process (docs/reference/live.md).

App-blind: members are short words that something is present under (an account id), messages are bytes. Each
listening process (hub.py) keeps a set of those present in it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from socialsite.store import Key, Store

PRESENCE_TTL_S = 15
FIXED_CHANNEL_COUNT = 16
PROCESS_TTL_S = 2 * PRESENCE_TTL_S
"""Longer than the set lives: a process is still asked as long as its set could hold somebody."""
SENTINEL_MEMBER = "0"
"""A member no account has: a set that exists without it was made anew after its predecessor was lost."""

Member = TypeVar("Member", bound=int | str | bytes)


class MillisecondClock(Protocol):
    def now_ms(self) -> int: ...


def members_key(process: str) -> Key:
    """SET of the members present in a process (account ids, `l<list id>`), TTL 15 s, renewed every 5 s."""
    return Key("live", tag=process, name="online")


def processes_key() -> Key:
    """ZSET process -> Unix ms at which it counts as gone. Renewed with the set, pruned by everybody."""
    return Key("live", tag="processes", name="alive")


def process_channel(process: str) -> Key:
    """Channel of one process."""
    return Key("live", tag=process, name="events")


def fixed_channel(number: int) -> Key:
    """One of the channels that every process listens to; spreads them over nodes."""
    return Key("live", tag=f"l{number % FIXED_CHANNEL_COUNT}", name="events")


class Presence:
    """The publisher's side: which processes hold whom, and messages to them."""

    def __init__(self, store: Store, clock: MillisecondClock) -> None:
        self._store = store
        self._clock = clock

    async def live_processes(self) -> list[str]:
        """Processes that renewed in time."""
        key = processes_key()
        found = await self._store.node(key).execute("ZRANGEBYSCORE", key, self._clock.now_ms(), "+inf")
        return [name.decode() for name in found]

    async def locate(self, members: Sequence[Member]) -> dict[str, list[Member]]:
        """process -> those of `members` present in it; one SMISMEMBER a live process.

        A number stands for its text, and so do its digits: passes of thousands of ids come as they were read.
        """
        processes = await self.live_processes() if members else []
        replies = await self._store.gather(("SMISMEMBER", members_key(name), *members) for name in processes)
        places: dict[str, list[Member]] = {}
        for process, flags in zip(processes, replies, strict=True):
            present = [member for member, flag in zip(members, flags, strict=True) if flag]
            if present:
                places[process] = present
        return places

    async def publish(self, payloads: Mapping[Key, bytes]) -> None:
        """Publish one message a channel."""
        await self._store.gather(("SPUBLISH", channel, payload) for channel, payload in payloads.items())
