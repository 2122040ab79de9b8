"""Every key of accounts, handles and sessions. A handle's text never enters a key: its digest does."""

import hashlib

from socialsite.ids import AccountId
from socialsite.store.key import Key, cached_key


@cached_key
def account(account_id: AccountId) -> Key:
    """HASH: handle, display_name, bio, link, password, created_ms, state, staff, version. Never expires.

    Written by sign-up, profile edits, moderation and deletion, each one script; read with each page.
    """
    return Key("accounts", tag=str(account_id), name="account")


def handle(normalized: str) -> Key:
    """STRING: the id of the account that owns the handle, claimed by SET NX. Never expires, never reused."""
    return Key("accounts", tag=hashlib.sha256(normalized.encode()).hexdigest()[:32], name="handle")


def account_ids() -> Key:
    """STRING: the last account id given out (INCR)."""
    return Key("accounts", tag="ids", name="accounts")


def session(account_id: AccountId, session_id: str) -> Key:
    """STRING: a StoredSession as MessagePack; `session_id` is the hex SHA-256 of the token.

    TTL: the rest of its idle or absolute time, whichever ends first. Counts only while in the index.
    """
    return Key("sessions", tag=str(account_id), name=f"session:{session_id}")


def session_index(account_id: AccountId) -> Key:
    """ZSET: session id -> last use in ms, at most SESSIONS_CAP members. TTL: the idle time since any use.

    Taking a member out ends its session at once, whatever becomes of the session's own key.
    """
    return Key("sessions", tag=str(account_id), name="index")


def totals(account_id: int) -> Key:
    """HASH: +views of the profile, =seen (the account's last visit), and the id of the last batch added.

    Written by the flush of buffers (socialsite/recipes/buffer_totals.py), deleted with the account.
    """
    return Key("accounts", tag=str(account_id), name="totals")
