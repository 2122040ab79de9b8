"""All keys of accounts, handles and sessions. A key contains the digest of a handle, never its text."""

import hashlib
from collections.abc import Callable

from socialsite.ids import AccountId, ClientId
from socialsite.store.key import Key, cached_key
from socialsite.store.key_families import DERIVED, BackupPass, key_by_id, key_by_word, key_family, single_key

AppKey = Callable[[ClientId], Key]
OwnerKey = Callable[[AccountId | ClientId], Key]
OwnedKey = Callable[[AccountId | ClientId, str], Key]

# fmt: off
account = cached_key(key_by_id("accounts:{<account>}:account", "hash",
    "handle, the texts of the profile (PROFILE_TEXTS: display_name, bio, link, moved_to, and fields in JSON), password,"
    " created_ms, state, staff, private, avatar, header, preferences (JSON), version, delete_ms (of a requested"
    " deletion), restrictions (bits: 1 limited, 2 pictures marked), silenced_until_ms, role, inviter and invitation,"
    " reason and network of an application, decided_by, decided_ms, refusal, freed (deleted before its approval, so"
    " that its handle can be given again with this id), sanctions (1 if there is news about them). Sign-up, profile"
    " edits, moderation and deletion each write it with one script", backup_pass=BackupPass.ACCOUNTS,
    purged_apart=True))
handle_of_digest = key_by_word("accounts:{<hex>}:handle", "string",
    "the id of the account whose handle has this digest, claimed by SET NX",
    lifetime="none; a handle is given again only if its account was never approved, and with its id")
staff = single_key("accounts:{staff}:staff", "hash",
    "account id -> role of staff, \"\" for accounts that lost their role. The account has a copy of its role",
    cap="STAFF_CAP")
account_ids = single_key("accounts:{ids}:accounts", "string", "the last account id given out",
    backup_pass=BackupPass.ACCOUNTS)
totals = key_by_id("accounts:{<account>}:totals", "hash",
    "views of the profile, last visit, and the last batch that was added (socialsite/recipes/buffer.py)", role=DERIVED,
    cap="fields")

# Decisions of staff, and joining.

sanctions = key_by_id("accounts:{<account>}:sanctions", "hash",
    "id of a decision of staff -> Sanction (MessagePack), with its text, undo and appeal. Of those that have ended the"
    " oldest notes are dropped first, then the oldest others", cap="SANCTIONS_CAP")
due_sanctions = single_key("jobs:{due}:sanctions", "zset",
    "`<account>:<sanction>` of decisions that are not complete -> ms from which a worker completes them", cap="none",
    lifetime="none; until they are complete")
appeals = single_key("jobs:{due}:appeals", "zset", "`<account>:<sanction>` of open appeals -> ms of the appeal",
    cap="SANCTIONS_CAP an account", lifetime="none; until staff decides")
due_deletions = single_key("jobs:{due}:deletions", "zset",
    "accounts whose owners requested their deletion -> ms at which a worker deletes them", cap="accounts",
    lifetime="none; until they are deleted")
invitations = key_by_id("accounts:{<account>}:invitations", "hash",
    "random text of an invitation's code -> the invitation (MessagePack) with the handles that used it",
    cap="INVITATIONS_CAP")
applications = single_key("accounts:{applications}:applications", "zset",
    "handle of an account that waits for approval -> ms of its sign-up. It is stored before the account",
    cap="APPLICATIONS_CAP", lifetime="none; until the decision")
network_sign_ups = key_by_word("accounts:{<hex>}:signups", "string",
    "the number of sign-ups from the network of this digest", role=DERIVED, lifetime="a week since the first")
network_accounts = key_by_word("accounts:{<hex>}:network", "zset",
    "account -> ms of its last log-in from the network of this digest", cap="NETWORK_CAP",
    lifetime="90 days since the last; a deleted account is removed")

# Sessions, access tokens and apps. The digests are SHA-256 of secrets.

session: OwnedKey = key_family("sessions:{<owner>}:session:<hex>", "string",
    "a session (MessagePack) under the digest of its token", cap="SESSIONS_CAP an account",
    lifetime="the rest of its idle or absolute time")
session_index: OwnerKey = key_family("sessions:{<owner>}:index", "zset",
    "session digest, by last use in ms; only sessions in it are valid", cap="SESSIONS_CAP",
    lifetime="idle time since any use")
access_token: OwnedKey = key_family("sessions:{<owner>}:token:<hex>", "string",
    "an access token of an app (MessagePack) under the digest of its secret", cap="ACCESS_TOKENS_CAP an owner",
    lifetime="400 days unused; of an app 30 days")
access_token_index: OwnerKey = key_family("sessions:{<owner>}:tokens", "zset",
    "token digest, by last use in ms; only tokens in it are valid", cap="ACCESS_TOKENS_CAP", lifetime="as its tokens")
oauth_app: AppKey = key_family("sessions:{<hex>}:app", "string",
    "a registered app (MessagePack) with the digest of its secret",
    lifetime="one day; 400 days since its last token for an account")
authorization_code: Callable[[ClientId, str], Key] = key_family("sessions:{<hex>}:code:<hex>", "string",
    "an authorization code of an app (MessagePack) under its digest; then the token that it gave",
    lifetime="CODE_TTL_MS")
pending_login: Callable[[AccountId, str], Key] = key_family("sessions:{<owner>}:login:<hex>", "string",
    "a log-in that needs the second factor: the hash of the later session, under the digest of its token",
    lifetime="PENDING_LOGIN_TTL_MS")
challenge_of_digest = key_by_word("sessions:{<hex>}:challenge", "string",
    "1 for a challenge for a passkey, under half of the digest of the challenge, its purpose and account",
    lifetime="CHALLENGE_TTL_MS; used once")

# Security.

security_events = key_by_id("accounts:{<account>}:events", "list",
    "what concerned the security of the account, newest first (MessagePack)", cap="EVENTS_CAP",
    lifetime="90 days since the last")
security_refusals = key_by_id("accounts:{<account>}:refusals", "list",
    "refused attempts to log in or to confirm, as in events", cap="REFUSALS_CAP", lifetime="as events")
browsers = key_by_id("accounts:{<account>}:browsers", "hash",
    "browsers in which the account was signed in (MessagePack), by the digest of their cookie", cap="BROWSERS_CAP",
    lifetime="a year since the last log-in")
factors = key_by_id("accounts:{<account>}:factors", "hash",
    "second factors (MessagePack): `totp`, `codes` (digests of unused recovery codes), `passkey:<hex>`",
    cap="PASSKEYS_CAP and two")

# Mail.

mail_account = key_by_id("accounts:{<account>}:mail", "hash",
    "address (confirmed), pending (address that is not confirmed), language and digest of the mails")
address_owner = key_by_word("accounts:{<hex>}:address", "string",
    "the id of the account with the mail address of this keyed digest",
    lifetime="none; until the address is changed or the account deleted")
due_digests = single_key("jobs:{due}:digests", "zset",
    "account -> ms at which the next digest of its notifications is mailed", cap="accounts with digests")
sent_mails = key_by_id("accounts:{<account>}:mails", "hash",
    "id of a mail -> its state (MessagePack). Ids ascend with time", cap="MAILS_CAP")
# fmt: on


def handle(normalized: str) -> Key:
    return handle_of_digest(hashlib.sha256(normalized.encode()).hexdigest()[:32])


def passkey_challenge(digest: str) -> Key:
    return challenge_of_digest(digest[:32])
