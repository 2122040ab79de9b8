"""What a reader has on screen: pages that take what a socket says, as static/js/live.js does."""

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
    """One timeline as a reader has it on screen: entry -> the post that it shows."""

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
        """The page as it is now."""
        page = await self.fresh(limit=PAGE_LIMIT)
        return {int(entry.post.id): int(entry.shown.post.id) for entry in page.entries}

    async def is_fresh(self) -> bool:
        return collapse_boosts(self.shown) == collapse_boosts(await self.read())

    def watched(self) -> set[int]:
        """What it asks the server about: entries and what they show."""
        return {id for pair in self.shown.items() for id in pair}


def collapse_boosts(shown: dict[int, int]) -> list[int]:
    """Both end somewhere: what stands on the newest page of both is compared."""
    return sorted(shown, reverse=True)[: PAGE_LIMIT // 2]


@dataclass
class LiveScreen:
    """All pages that a reader has open, whatever becomes of the socket under them."""

    pages: list[LivePage]

    async def opens(self, reader: SocketClient) -> None:
        """As the site's script: subscribe from the last id, then say what is shown."""
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
        """All that is shown; the newest last, which is what the socket goes on watching."""
        watched = [str(id) for id in sorted(set().union(*(page.watched() for page in self.pages)))]
        for start in range(0, len(watched), PAGE_LIMIT):
            await reader.send({"type": "watch", "ids": watched[start : start + PAGE_LIMIT]})
