"""The keys that belong to one account alone, except its posts and sessions. Audits and memory estimates use them."""

from accounts import keys as account_keys
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines import keys

KEYS_OF_ACCOUNT = (
    keys.liked_posts, keys.boosted_posts, keys.bookmarks, keys.blocks, keys.blocked_by, keys.mutes, keys.boosts_hidden,
    keys.follow_requests, keys.sent_follow_requests, keys.exclusive_lists, keys.keyword_filters, keys.notifications,
    keys.last_read_notification, keys.preferences, keys.followed_hashtags, keys.markers, keys.pins, keys.voted_polls,
    keys.media_of_account, keys.drafts, keys.transfers, keys.push_subscriptions, keys.muted_threads,
    keys.account_notes,
)  # fmt: skip


def owned_keys(account_id: int, follow_partitions: int, profile_partitions: int) -> list[Key]:
    """Return all keys that the account can have."""
    owned = [
        account_keys.account(AccountId(account_id)),
        account_keys.session_index(AccountId(account_id)),
        account_keys.access_token_index(AccountId(account_id)),
        account_keys.browsers(AccountId(account_id)),
        account_keys.factors(AccountId(account_id)),
        account_keys.security_events(AccountId(account_id)),
        account_keys.security_refusals(AccountId(account_id)),
        account_keys.mail_account(AccountId(account_id)),
        account_keys.invitations(AccountId(account_id)),
        account_keys.sent_mails(AccountId(account_id)),
        account_keys.sanctions(AccountId(account_id)),
        keys.home_timeline(account_id),
        *keys.AuthorFeedKeys(profile_partitions).feed_keys(account_id),
        keys.list_index(account_id),
        *(key_of(account_id) for key_of in KEYS_OF_ACCOUNT),
    ]
    for number in range(follow_partitions):
        owned.append(keys.following(f"p{number}", account_id))
        owned.append(keys.followers(f"p{number}", account_id))
    return owned
