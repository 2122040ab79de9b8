"""Hashtags and accounts that an account features on its profile. Apps show them."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_lazy as _
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import Preferences, PreferencesChange
from accounts.models import Account
from socialsite.errors import Invalid
from socialsite.ids import AccountId
from socialsite.service import Service
from timelines.following.service import FollowingService
from timelines.reading.service import ReadingService

FEATURED_HASHTAGS_CAP: Final = 10
ENDORSEMENTS_CAP: Final = 40
COUNTED_POSTS: Final = 40
"""The number of newest posts in which the hashtags of an account are counted."""


@dataclass(frozen=True, slots=True)
class HashtagUse:
    """A hashtag in the newest posts of an account: the number of posts, and the time of the last (Unix ms)."""

    tag: str
    posts: int = 0
    last_post_ms: int | None = None


class FeaturedService(Service):
    """Changes and reads what an account features. Callers pass normalized hashtags."""

    accounts: AccountService
    following: FollowingService
    reading: ReadingService

    async def feature_hashtag(self, account_id: AccountId, tag: str) -> Account:
        """Feature a hashtag. Raises Invalid above FEATURED_HASHTAGS_CAP, and FieldErrors for a blocked word."""
        self.accounts.check_texts({"name": tag})

        def add(preferences: Preferences) -> Preferences:
            tags = dict.fromkeys((*preferences.featured_hashtags, tag))
            if len(tags) > FEATURED_HASHTAGS_CAP:
                raise Invalid({"name": _("You feature as many hashtags as this site allows.")})
            return structs.replace(preferences, featured_hashtags=tuple(tags))

        return await self._change(account_id, add)

    async def unfeature_hashtag(self, account_id: AccountId, tag: str) -> Account:
        def remove(preferences: Preferences) -> Preferences:
            tags = tuple(each for each in preferences.featured_hashtags if each != tag)
            return structs.replace(preferences, featured_hashtags=tags)

        return await self._change(account_id, remove)

    async def endorse(self, account_id: AccountId, other_id: AccountId) -> Account:
        """Feature another account. Raises Invalid if it is not followed, or if ENDORSEMENTS_CAP are featured."""
        ids = {*(await self.accounts.get(account_id)).preferences.endorsed_ids, other_id}
        not_followed = ids - await self.following.followed_among(account_id, ids)
        if other_id in not_followed:
            raise Invalid({"id": _("You can only feature accounts that you follow.")})

        def add(preferences: Preferences) -> Preferences:
            endorsed = [id for id in dict.fromkeys((*preferences.endorsed_ids, other_id)) if id not in not_followed]
            if len(endorsed) > ENDORSEMENTS_CAP:
                raise Invalid({"id": _("You feature as many accounts as this site allows.")})
            return structs.replace(preferences, endorsed_ids=tuple(endorsed))

        return await self._change(account_id, add)

    async def unendorse(self, account_id: AccountId, other_id: AccountId) -> Account:
        def remove(preferences: Preferences) -> Preferences:
            endorsed = tuple(id for id in preferences.endorsed_ids if id != other_id)
            return structs.replace(preferences, endorsed_ids=endorsed)

        return await self._change(account_id, remove)

    async def endorsed(self, account: Account) -> list[AccountId]:
        """Return the accounts that an account endorses and still follows."""
        account_id, ids = AccountId(account.id), account.preferences.endorsed_ids
        followed = await self.following.followed_among(account_id, ids) if ids else set()
        return [id for id in ids if id in followed]

    async def hashtags_in_use(self, account_id: AccountId, viewer_id: AccountId | None) -> dict[str, HashtagUse]:
        """Return the hashtags of the newest posts that the viewer may see, the most used first."""
        page = await self.reading.profile(account_id, viewer_id=viewer_id, limit=COUNTED_POSTS)
        posts = [entry.post for entry in page.entries if entry.original is None]
        counts = Counter(tag for post in posts for tag in set(post.indexed_hashtags))
        last = {tag: post.created_ms for post in reversed(posts) for tag in post.indexed_hashtags}
        return {tag: HashtagUse(tag, count, last[tag]) for tag, count in counts.most_common()}

    async def _change(self, account_id: AccountId, change: PreferencesChange) -> Account:
        await self.accounts.change_preferences(account_id=account_id, change=change)
        return await self.accounts.get(account_id)
