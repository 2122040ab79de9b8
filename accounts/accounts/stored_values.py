"""An account as the store holds it: a hash of texts, the commands that read it, and what its replies mean."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from accounts import keys
from accounts.domain import ACTIVE, AccountId, Author, State
from accounts.models import Account
from socialsite.store.encoding import wires_of
from socialsite.store.scripts import Command, Prepared, load, prepared

CREATE = load("create_account.lua", __package__)

FIELDS: Final = (
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
STATES: Final[Mapping[bytes, State]] = {b"active": "active", b"suspended": "suspended", b"deleted": "deleted"}


def create_command(account: Account) -> Command:
    """For a pipeline; its reply tells whether the id was free."""
    return CREATE.command([keys.account(AccountId(account.id))], flat(fields_of(account)))


def fields_of(account: Account) -> dict[str, str]:
    """What `account_from` reads back."""
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


def flat(fields: Mapping[str, str]) -> list[str]:
    """Field, value, field, value, ... as the scripts take them."""
    return [part for pair in fields.items() for part in pair]


@lru_cache(maxsize=20_000)
def read_command(account_id: AccountId) -> Prepared:
    """FIELDS; `account_from` takes the reply."""
    return prepared("HMGET", keys.account(account_id), *FIELDS)


@lru_cache(maxsize=4_096)
def account_from(
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
def author_command(account_id: AccountId) -> Prepared:
    """AUTHOR_FIELDS; `author_from` takes the reply."""
    return prepared("HMGET", keys.account(account_id), *AUTHOR_FIELDS)


author_wire = wires_of(author_command)


@lru_cache(maxsize=20_000)
def author_from(
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
    return Author(account_id, handle.decode(), display_name.decode(), STATES[state], int(version), is_private)
