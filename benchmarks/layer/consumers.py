"""A consumer of one group, and a consumer without messages."""

from channels.generic.websocket import AsyncWebsocketConsumer

GROUP = "entries"


class EntriesConsumer(AsyncWebsocketConsumer):
    """Send every text of the group to the client."""

    groups = [GROUP]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send('{"type":"subscribed"}')  # type: ignore[no-untyped-call]

    async def entry(self, event: dict[str, str]) -> None:
        await self.send(event["text"])  # type: ignore[no-untyped-call]


class BareConsumer(AsyncWebsocketConsumer):
    """A minimal websocket consumer."""

    channel_layer_alias = ""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send('{"type":"subscribed"}')  # type: ignore[no-untyped-call]
