"""Invitations and applications for an account."""

import re
import secrets
from typing import Final, NamedTuple

import msgspec

from accounts.domain import Author
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId

INVITATIONS_CAP: Final = 200
"""The number of stored invitations of one account. Used ones are kept, because they say who invited whom."""
REFUSAL_KEPT_MS: Final = 30 * DAY_MS
"""The time after which a refused account is deleted if its owner has not read the refusal."""
READ_REFUSAL_KEPT_MS: Final = DAY_MS // 24
"""The time after which a refused account is deleted once its owner has read the refusal."""
_CODE = re.compile(r"([1-9][0-9]{0,15})-([A-Za-z0-9_-]{22})")


class InvitationCode(NamedTuple):
    """The account that invites, and a random text of 128 bits.

    The code contains the id of the account, so that one read of its key finds the invitation.
    """

    inviter_id: AccountId
    secret: str

    def __str__(self) -> str:
        return f"{self.inviter_id}-{self.secret}"

    @classmethod
    def generate(cls, inviter_id: AccountId) -> "InvitationCode":
        return cls(inviter_id, secrets.token_urlsafe(16))

    @classmethod
    def parse(cls, text: str) -> "InvitationCode | None":
        match = _CODE.fullmatch(text)
        return None if match is None else cls(AccountId(int(match[1])), match[2])


class Invitation(msgspec.Struct, frozen=True, array_like=True):
    """A value of `accounts:{<account>}:invitations`. New fields are added at the end."""

    created_ms: int
    expires_ms: int
    uses: int
    note: str = ""
    handles: tuple[str, ...] = ()
    """The handles that used it."""
    is_ended: bool = False

    @property
    def is_used_up(self) -> bool:
        return len(self.handles) >= self.uses

    def is_open(self, now_ms: int) -> bool:
        return not self.is_ended and now_ms < self.expires_ms and not self.is_used_up

    def is_usable_by(self, handle: str, now_ms: int) -> bool:
        """Return whether a sign-up with this handle may use it: also for a repetition after an interruption."""
        return self.is_open(now_ms) or (handle in self.handles and not self.is_ended)


class Application(NamedTuple):
    """The application of an account, stored in its hash. `decided_by` is 0 before the decision."""

    reason: str
    network: str
    decided_by: AccountId
    refusal: str
    inviter_id: AccountId
    invitation: str
    decided_ms: int = 0


class WaitingAccount(NamedTuple):
    """An account that waits for approval, as staff sees it.

    `network_count` is the number of accounts that its network created within a week.
    """

    author: Author
    applied_ms: int
    application: Application
    address: str
    is_address_confirmed: bool
    network_count: int


encode_invitation = msgspec.msgpack.Encoder().encode
decode_invitation = msgspec.msgpack.Decoder(Invitation).decode
