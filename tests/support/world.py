"""Accounts for tests: `await alice.follows(bob)`. Each method makes one service call."""

from collections.abc import Sequence
from typing import Unpack

from msgspec import structs

from accounts.models import Account
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.jobs import perform_all
from timelines.lists.account_list import AccountList
from timelines.pages.page import HydratedPost, PagePart, PageRequest, TimelinePage
from timelines.posts.post import Post, PostDetails
from timelines.publishing.forms import EditForm


class Person:
    """An account and its actions."""

    def __init__(self, services: Services, account: Account) -> None:
        self._services = services
        self.account = account
        self.id = AccountId(account.id)
        self.handle: str = account.handle

    @property
    def _now_ms(self) -> int:
        return self._services.clock.now_ms()

    async def publishes(
        self,
        text: str,
        *,
        in_reply_to: Post | None = None,
        key: str | None = None,
        audience: int | None = None,
        details: PostDetails | None = None,
    ) -> Post:
        return await self._services.publishing.publish(
            author_id=self.id,
            text=text,
            in_reply_to=in_reply_to.id if in_reply_to else None,
            audience=audience,
            details=details,
            idempotency_key=key,
            now_ms=self._now_ms,
        )

    async def edits(self, post: Post, text: str, *, details: PostDetails | None = None) -> Post:
        return await self._services.edits.edit(
            EditForm(text, details or PostDetails()), account_id=self.id, post_id=post.id, now_ms=self._now_ms
        )

    async def deletes(self, post: Post) -> None:
        await self._services.publishing.delete(account_id=self.id, post_id=post.id)

    async def pins(self, post: Post, *, later_ms: int = 0) -> HydratedPost:
        return await self._services.pins.pin(account_id=self.id, post_id=post.id, now_ms=self._now_ms + later_ms)

    async def pinned_ids(self, viewer: "Person | None" = None) -> list[PostId]:
        """Return the pinned posts that the profile shows to the viewer."""
        viewer_id = None if viewer is None else viewer.id
        page = await self._services.profiles.load_page(self.handle, PageRequest(), viewer_id=viewer_id)
        return [entry.post.id for entry in page.pinned]

    async def follows(self, other: "Person") -> bool:
        return await self._services.following.follow(follower_id=self.id, followed_id=other.id, now_ms=self._now_ms)

    async def unfollows(self, other: "Person") -> bool:
        return await self._services.following.unfollow(follower_id=self.id, followed_id=other.id)

    async def blocks(self, other: "Person") -> bool:
        return await self._services.blocks_and_mutes.block(account_id=self.id, other_id=other.id, now_ms=self._now_ms)

    async def unblocks(self, other: "Person") -> bool:
        return await self._services.blocks_and_mutes.unblock(account_id=self.id, other_id=other.id)

    async def mutes(self, other: "Person", until_ms: int | None = None) -> bool:
        return await self._services.blocks_and_mutes.mute(
            account_id=self.id, other_id=other.id, now_ms=self._now_ms, until_ms=until_ms
        )

    async def unmutes(self, other: "Person") -> bool:
        return await self._services.blocks_and_mutes.unmute(account_id=self.id, other_id=other.id)

    async def makes_list(self, *members: "Person", title: str = "List") -> AccountList:
        """Create a list of this account with these members."""
        lists, now_ms = self._services.lists, self._now_ms
        new_list = await lists.create(owner_id=self.id, title=title, now_ms=now_ms)
        for member in members:
            await lists.add_member(owner_id=self.id, list_id=new_list.id, account_id=member.id, now_ms=now_ms)
        return new_list

    async def home(self, **cut: Unpack[PagePart]) -> TimelinePage:
        return await self._services.reading.home(self.id, **cut)

    async def home_ids(self, **cut: Unpack[PagePart]) -> list[PostId]:
        return ids_on(await self.home(**cut))

    async def locks(self, private: bool = True) -> None:
        """Make the account private, or public again."""
        await self._services.accounts.edit_profile(
            account_id=self.id, display_name=self.account.display_name, bio="", link="", private=private
        )

    async def hides(self) -> None:
        """Choose not to be suggested or found."""
        await self._services.accounts.change_preferences(
            account_id=self.id, change=lambda old: structs.replace(old, is_discoverable=False)
        )

    async def profile_ids(self, **cut: Unpack[PagePart]) -> list[PostId]:
        page = await self._services.reading.profile(self.id, viewer_id=None, **cut)
        return ids_on(page)


class World:
    """Services and their accounts; `deliver_all()` runs the worker until the outbox is empty."""

    def __init__(self, services: Services) -> None:
        self.services = services

    async def person(self, handle: str) -> Person:
        account = await self.services.accounts.sign_up(
            handle=handle, password=None, now_ms=self.services.clock.now_ms(), allow_reserved=True
        )
        return Person(self.services, account)

    async def people(self, *handles: str) -> list[Person]:
        return [await self.person(handle) for handle in handles]

    async def deliver_all(self) -> int:
        """Perform every job and its follow-up jobs; return the number of jobs."""
        return await perform_all(self.services.outbox, self.services.fan_out.handle)

    async def public_ids(self, **cut: Unpack[PagePart]) -> list[PostId]:
        return ids_on(await self.services.reading.public(viewer_id=None, **cut))


def ids_on(page: TimelinePage) -> list[PostId]:
    return [entry.post.id for entry in page.entries]


def ids_of(posts: Sequence[Post]) -> list[PostId]:
    return [post.id for post in posts]
