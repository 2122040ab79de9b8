"""The keys of one account, for audits of samples and memory estimates."""

from accounts import keys as account_keys
from socialsite.ids import AccountId
from socialsite.store import Key
from socialsite.store.key_families import FAMILIES
from timelines.keys import AuthorTimelineKeys


def owned_keys(account_id: int, follow_partitions: int, profile_partitions: int) -> list[Key]:
    """Return the keys that an account can have, except its posts and sessions. The first is that of the account."""
    owned = [
        account_keys.account(AccountId(account_id)),
        *AuthorTimelineKeys(profile_partitions).timeline_keys(account_id),
    ]
    for family in FAMILIES.values():
        if family.placeholders in (("account",), ("owner",)):
            owned.append(family.build(account_id))
        elif family.placeholders == ("partition", "account") and "<account>" in family.mirror:  # the lists of others
            owned += [family.build(f"p{number}", account_id) for number in range(follow_partitions)]
    return list(dict.fromkeys(owned))
