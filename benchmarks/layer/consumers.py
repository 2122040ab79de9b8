"""A consumer that hears of one group, and one that hears of nothing."""

from channels.generic.websocket import AsyncWebsocketConsumer

GROUP = "entries"


class EntriesConsumer(AsyncWebsocketConsumer):
    """Sends on whatever comes to the group."""

    groups = [GROUP]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send('{"type":"subscribed"}')  # type: ignore[no-untyped-call]

    async def entry(self, event: dict[str, str]) -> None:
        await self.send(event["text"])  # type: ignore[no-untyped-call]


class BareConsumer(AsyncWebsocketConsumer):
    """The least a socket can be."""

    channel_layer_alias = ""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send('{"type":"subscribed"}')  # type: ignore[no-untyped-call]
