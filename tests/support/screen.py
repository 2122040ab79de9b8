"""Model a reader's open pages, which apply socket messages as static/js/live.js does."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.support.sockets import Message, SocketClient
from timelines.pages.page import TimelinePage

PAGE_LIMIT = 100
BOOST_PATTERN = re.compile(r'data-boost-of="(\d+)"')
SERVER_MESSAGE_TYPES = ("entry", "deleted", "gap", "subscribed", "counts")
Read = Callable[..., Awaitable[TimelinePage]]


@dataclass
class LivePage:
    """One open timeline: `shown` maps each entry to the post that it shows."""

    name: str
    fresh: Read
    shown: dict[int, int] = field(default_factory=dict)
    last: int = 0

    async def apply(self, message: Message) -> None:
        if message["type"] == "deleted":
            gone = int(message["id"])
            self.shown = {id: of for id, of in self.shown.items() if gone not in (id, of)}
        elif message.get("timeline") == self.name:
            if message["type"] == "entry":
                original = BOOST_PATTERN.search(message["html"])
                id = int(message["id"])
                self.shown[id] = int(original[1]) if original else id
                self.last = max(self.last, id)
            elif message["type"] == "gap":
                self.last = max(self.last, int(message["newest"]))
                self.shown |= await self.read()

    async def read(self) -> dict[int, int]:
        """Read the page's current content."""
        page = await self.fresh(limit=PAGE_LIMIT)
        return {int(entry.post.id): int(entry.shown.post.id) for entry in page.entries}

    async def is_fresh(self) -> bool:
        return collapse_boosts(self.shown) == collapse_boosts(await self.read())

    def watched(self) -> set[int]:
        """Return the ids that the page watches: its entries and the posts they show."""
        return {id for pair in self.shown.items() for id in pair}


def collapse_boosts(shown: dict[int, int]) -> list[int]:
    """Return the newest entries. Both pages are limited, so only half a page is compared."""
    return sorted(shown, reverse=True)[: PAGE_LIMIT // 2]


@dataclass
class LiveScreen:
    """All open pages of a reader, independent of the socket's reconnects."""

    pages: list[LivePage]

    async def opens(self, reader: SocketClient) -> None:
        """Subscribe from the last id and then watch the shown posts, as the site's script does."""
        for page in self.pages:
            await reader.subscribe(page.name, after=page.last)
        for message in reader.got:
            await self._hears(message)
        await self._watches(reader)

    async def listens(self, reader: SocketClient, for_s: float) -> None:
        for message in await reader.collect_for(for_s):
            await self._hears(message)

    async def _hears(self, message: Message) -> None:
        assert message["type"] in SERVER_MESSAGE_TYPES, message
        for page in self.pages:
            await page.apply(message)

    async def _watches(self, reader: SocketClient) -> None:
        """Watch all shown posts, the newest last: the socket keeps the newest."""
        watched = [str(id) for id in sorted(set().union(*(page.watched() for page in self.pages)))]
        for start in range(0, len(watched), PAGE_LIMIT):
            await reader.send({"type": "watch", "ids": watched[start : start + PAGE_LIMIT]})
