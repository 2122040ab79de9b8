"""The author of posts, and the states of an account. Knows no Django and no store."""

from typing import Final, Literal

import msgspec

from socialsite.ids import AccountId

AccountState = Literal["active", "suspended", "deleted"]
ACTIVE: Final = "active"
SUSPENDED: Final = "suspended"
DELETED: Final = "deleted"


class Author(msgspec.Struct, frozen=True, gc=False):
    """The facts about an account that pages show beside its posts. `version` rises with each change of them."""

    id: AccountId
    handle: str
    display_name: str
    state: AccountState
    version: int
    private: bool = False
    """Only followers see the posts, and the account accepts each follower."""

    @property
    def is_visible(self) -> bool:
        """Suspended and deleted accounts are hidden everywhere: each read checks this."""
        return self.state == ACTIVE
