"""An account as the store holds it: a hash of texts, the commands that read it, and what its replies mean."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from accounts import keys
from accounts.domain import ACTIVE, AccountState, Author
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.store.commands import Command, PreparedCommand, load_script, prepare_command
from socialsite.store.encoding import encoded_cache

CREATE_SCRIPT = load_script("create_account.lua", __package__)

ACCOUNT_FIELDS: Final = (
    "handle",
    "display_name",
    "bio",
    "link",
    "password",
    "created_ms",
    "state",
    "staff",
    "version",
    "private",
)
AUTHOR_FIELDS: Final = ("handle", "display_name", "state", "version", "private")
STATE_BY_BYTES: Final[Mapping[bytes, AccountState]] = {
    b"active": "active",
    b"suspended": "suspended",
    b"deleted": "deleted",
}


def create_account_command(account: Account) -> Command:
    """For a pipeline; its reply tells whether the id was free."""
    return CREATE_SCRIPT.command([keys.account(AccountId(account.id))], flatten_fields(encode_account(account)))


def encode_account(account: Account) -> dict[str, str]:
    """What `decode_account` reads back."""
    return {
        "handle": account.handle,
        "display_name": account.display_name,
        "bio": account.bio,
        "link": account.link,
        "password": account.password,
        "created_ms": str(account.created_ms),
        "state": account.state or ACTIVE,
        "staff": "1" if account.is_staff else "0",
        "version": str(account.version),
        "private": "1" if account.is_private else "0",
    }


def flatten_fields(fields: Mapping[str, str]) -> list[str]:
    """Field, value, field, value, ... as the scripts take them."""
    return [part for pair in fields.items() for part in pair]


@lru_cache(maxsize=20_000)
def read_account_command(account_id: AccountId) -> PreparedCommand:
    """FIELDS; `decode_account` takes the reply."""
    return prepare_command("HMGET", keys.account(account_id), *ACCOUNT_FIELDS)


@lru_cache(maxsize=4_096)
def decode_account(
    account_id: AccountId,
    handle: bytes,
    display_name: bytes,
    bio: bytes,
    link: bytes,
    password: bytes,
    created_ms: bytes,
    state: bytes,
    staff: bytes,
    version: bytes,
    private: bytes | None,
) -> Account:
    """Facts read anew each time; only what they make is kept, and given out as twins."""
    return Account(
        id=account_id,
        handle=handle.decode(),
        display_name=display_name.decode(),
        bio=bio.decode(),
        link=link.decode(),
        password=password.decode(),
        created_ms=int(created_ms),
        state=state.decode(),
        is_staff=staff == b"1",
        version=int(version),
        is_private=private == b"1",
    )


@lru_cache(maxsize=20_000)
def read_author_command(account_id: AccountId) -> PreparedCommand:
    """AUTHOR_FIELDS; `decode_author` takes the reply."""
    return prepare_command("HMGET", keys.account(account_id), *AUTHOR_FIELDS)


encode_author_command = encoded_cache(read_author_command)


@lru_cache(maxsize=20_000)
def decode_author(
    account_id: AccountId,
    handle: bytes | None,
    display_name: bytes,
    state: bytes,
    version: bytes,
    private: bytes | None,
) -> Author | None:
    """Facts read anew each time; only their decoding is kept. None: there is no such account."""
    if handle is None:
        return None
    is_private = private == b"1"
    return Author(account_id, handle.decode(), display_name.decode(), STATE_BY_BYTES[state], int(version), is_private)
