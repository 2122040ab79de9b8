"""A web process as the presence and messages recipe sees it, which records its messages."""

from typing import Protocol

from socialsite.clock import FixedClock
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.store import Store, StoreError
from tests.support.waiting import eventually

NOW_MS = 1_795_000_000_000
DISABLED_INTERVAL_S = 600.0
"""A renewal interval longer than any test."""


class WebProcess:
    """A web process as the recipe sees it. `trouble` is the error that handling a message raises."""

    def __init__(self, store: Store, clock: FixedClock, renew_every_s: float = 0.1) -> None:
        self.hub = PubSubListener(
            store,
            clock,
            on_message=self.on_message,
            on_lost=self.on_lost,
            on_resynced=self.on_gap,
            renewal_interval_s=renew_every_s,
        )
        self.heard: list[bytes] = []
        self.gaps = 0
        self.losses = 0
        self.trouble: StoreError | None = None

    async def on_message(self, payload: bytes) -> None:
        if self.trouble:
            raise self.trouble
        self.heard.append(payload)

    async def on_gap(self) -> None:
        self.gaps += 1

    def on_lost(self) -> None:
        self.losses += 1

    async def wait_for_message(self, message: bytes) -> None:
        await eventually(lambda: message in self.heard)


class StartListener(Protocol):
    async def __call__(self, renew_every_s: float = ...) -> WebProcess: ...


async def open_listener(store: Store, clock: FixedClock, renew_every_s: float = 0.1) -> WebProcess:
    process = WebProcess(store, clock, renew_every_s)
    await process.hub.open()
    return process
