"""All keys of accounts, handles and sessions. A key contains the digest of a handle, never its text."""

import hashlib
from functools import partial

from socialsite.ids import AccountId, ClientId
from socialsite.store.key import Key, cached_key, key_by_digest, key_by_id, single_key

_of_account = partial(key_by_id, "accounts", "%d")


account = cached_key(_of_account("account"))
"""HASH: handle, display_name, bio, link, password, created_ms, state, staff, version, private, avatar, header.

It never expires. `delete_ms` is the time of a requested deletion. Accounts may have `restrictions` (a number of
bits: 1 limited, 2 pictures marked), `silenced_until_ms` and `role`. `sanctions` is 1 if the owner has not opened
the page of sanctions since the last one. Sign-up may add `inviter` and `invitation`, or `reason` and `network` of
an application, and its decision adds `decided_by`, `decided_ms` and `refusal`. `freed` is 1 if the account was
deleted before its approval, so that its handle can be given again with this id.

Sign-up, profile edits, moderation and deletion each write it with one script. Every page reads it.
"""


def handle(normalized: str) -> Key:
    """STRING: the account id of the handle, claimed by SET NX. It never expires and is never reused."""
    return Key("accounts", tag=hashlib.sha256(normalized.encode()).hexdigest()[:32], name="handle")


staff = single_key("accounts", "staff", "staff")
"""HASH: account id -> role of staff, "" for an account that lost its role. The account has a copy of its role.

One script changes it, so that the last owner stays. It never expires.
"""
due_deletions = single_key("jobs", "due", "deletions")
"""ZSET: id of an account whose deletion was requested -> ms at which a worker deletes it."""
sanctions = _of_account("sanctions")
"""HASH: id -> Sanction as MessagePack, at most SANCTIONS_CAP. Deleted with the account."""
due_sanctions = single_key("jobs", "due", "sanctions")
"""ZSET: account id and id of a sanction that is not complete -> ms from which a worker completes it."""
appeals = single_key("jobs", "due", "appeals")
"""ZSET: account id and id of a sanction with an open appeal -> ms of the appeal."""
invitations = _of_account("invitations")
"""HASH: random text of a code -> Invitation as MessagePack, at most INVITATIONS_CAP. Deleted with the account."""
applications = single_key("accounts", "applications", "applications")
"""ZSET: handle of an account that waits for approval -> ms of its sign-up. It is stored before the account."""
network_sign_ups = key_by_digest("accounts", "signups")
"""STRING: the number of accounts that a network made, under a digest of it. TTL: a week since the first."""
network_accounts = key_by_digest("accounts", "network")
"""ZSET: account -> ms of its last log-in from a network, under a digest of it, at most NETWORK_CAP. TTL: as events."""
account_ids = single_key("accounts", "ids", "accounts")
"""STRING: the highest account id (INCR)."""


def session(account_id: AccountId | ClientId, session_id: str) -> Key:
    """STRING: a StoredSession as MessagePack; `session_id` is the hex SHA-256 of the token.

    The TTL is the rest of its idle or absolute timeout, whichever ends first. A session is valid only if it is in
    the index.
    """
    return Key("sessions", tag=str(account_id), name=f"session:{session_id}")


def session_index(account_id: AccountId | ClientId) -> Key:
    """ZSET: session id -> last use in ms, at most SESSIONS_CAP members. TTL: the idle time since any use.

    Removing a member from the index ends its session, even if the key of the session remains.
    """
    return Key("sessions", tag=str(account_id), name="index")


def access_token(owner: AccountId | ClientId, token_id: str) -> Key:
    """STRING: the StoredSession of an access token; `token_id` is the hex SHA-256 of its secret.

    The owner is an account, or an app that uses the API for itself. The token is valid only if it is in the index.
    """
    return Key("sessions", tag=str(owner), name=f"token:{token_id}")


def access_token_index(owner: AccountId | ClientId) -> Key:
    """ZSET: token id -> last use in ms, at most ACCESS_TOKENS_CAP members. TTL: the idle time since any use."""
    return Key("sessions", tag=str(owner), name="tokens")


def oauth_app(client_id: ClientId) -> Key:
    """STRING: an OAuthApp as MessagePack. TTL: one day, or 400 days since a token for an account."""
    return Key("sessions", tag=client_id, name="app")


def authorization_code(client_id: ClientId, code_digest: str) -> Key:
    """STRING: an AuthorizationCode (MessagePack), then its token, under the hex SHA-256 of the code. CODE_TTL_MS."""
    return Key("sessions", tag=client_id, name=f"code:{code_digest}")


security_events = _of_account("events")
"""LIST: SecurityEvents as MessagePack, newest first, at most EVENTS_CAP. TTL: 90 days. Deleted with the account."""
security_refusals = _of_account("refusals")
"""LIST: as `security_events`, the refused attempts to log in or confirm, at most REFUSALS_CAP."""
browsers = _of_account("browsers")
"""HASH: browser id -> BrowserRecord as MessagePack, at most BROWSERS_CAP. TTL: a year. Deleted with the account."""
factors = _of_account("factors")
"""HASH: totp, codes (digests of recovery codes), passkey:<id>, as MessagePack. Deleted with the account."""


def pending_login(account_id: AccountId, login_id: str) -> Key:
    """STRING: the hash of the later session; `login_id` is the hex SHA-256 of its secret. TTL: PENDING_LOGIN_TTL_MS."""
    return Key("sessions", tag=str(account_id), name=f"login:{login_id}")


def passkey_challenge(digest: str) -> Key:
    """STRING: 1, under the hex SHA-256 of a challenge, its purpose and account. TTL: CHALLENGE_TTL_MS."""
    return Key("sessions", tag=digest[:32], name="challenge")


mail_account = _of_account("mail")
"""HASH: address (confirmed), pending (not confirmed), language and digest of the mails of an account."""
address_owner = key_by_digest("accounts", "address")
"""STRING: the id of the account with the confirmed mail address of this keyed digest (32 hex digits)."""
due_digests = single_key("jobs", "due", "digests")
"""ZSET: account id -> Unix ms of the next digest of its notifications."""
sent_mails = _of_account("mails")
"""HASH: id of a mail -> its state (SentMail as MessagePack), at most MAILS_CAP. Ids ascend with time."""
totals = _of_account("totals")
"""HASH: +views of the profile, =seen (the account's last visit), and the id of the last batch that was added.

The flusher of the buffers writes this key (socialsite/recipes/buffer.py). It is deleted with the account.
"""
