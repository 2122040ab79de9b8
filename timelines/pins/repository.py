"""The pins of an account: its own posts that its profile shows first (`timelines:{<account>}:pins`)."""

from collections.abc import Sequence

from socialsite.ids import AccountId, PostId
from socialsite.store import Read, Repository, load_script
from timelines import keys

ADD_PIN_SCRIPT = load_script("add_pin.lua", __package__)


class Pins(Repository):
    """The repository of pins. A pin stays after its post is deleted if the process crashes, so readers check posts."""

    def read(self, account_id: AccountId) -> Read[list[PostId]]:
        """Read the pinned posts. The last pinned post comes first."""
        command = ("ZREVRANGE", keys.pins(account_id), 0, keys.PINS_CAP - 1)
        return Read([command], lambda replies: [PostId(int(member)) for member in replies[0]], self._timelines)

    async def add(self, account_id: AccountId, post_id: PostId, now_ms: int) -> bool:
        """Pin a post. Return False if the account has too many pins. An existing pin keeps its time."""
        key = keys.pins(account_id)
        return int(await self._timelines.write(*ADD_PIN_SCRIPT.command([key], [post_id, now_ms, keys.PINS_CAP]))) >= 0

    async def remove(self, account_id: AccountId, post_ids: Sequence[PostId]) -> None:
        await self._timelines.write("ZREM", keys.pins(account_id), *post_ids)
