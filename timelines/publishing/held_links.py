"""First posts with links, which wait for a look by staff if the site is set so."""

from collections.abc import Iterable
from dataclasses import field

from django.utils.translation import gettext as _

from socialsite.ids import AccountId
from socialsite.service import Part
from socialsite.site.service import SiteService
from timelines.author_timelines.repository import AuthorTimelineRepository
from timelines.errors import PostInvalid
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import TEXT_FORM_NAMES, PostDetails, texts_of
from timelines.posts.repository import PostRepository
from timelines.publishing.forms import PostForm
from timelines.text.linkify import has_links

UNHELD_AUTHORS_CAP = 50_000
FIRST_ENTRIES_READ, FIRST_POSTS = 50, 10
"""Posts are not held if the author's FIRST_ENTRIES_READ newest entries have FIRST_POSTS posts, or one with a link."""


class FirstLinks(Part):
    """Decides which posts wait for staff."""

    posts: PostRepository
    author_timelines: AuthorTimelineRepository
    site: SiteService
    _unheld_ids: set[AccountId] = field(init=False, default_factory=set)
    """Authors of whom this process has read that their posts are not held."""

    async def must_hold(self, author_id: AccountId, form: PostForm) -> bool:
        """Return whether the post waits for staff before it is published, because of its links."""
        return await self._is_first_link(author_id, (each for each in form.content if each[0] in TEXT_FORM_NAMES))

    async def check_edit(self, author_id: AccountId, text: str, details: PostDetails) -> None:
        """Raise PostInvalid if an edit would add the first link of an author whose first posts with links are held."""
        if reason := await self.find_refusal(author_id, texts_of(text, details)):
            raise PostInvalid({"text": reason})

    async def find_refusal(self, author_id: AccountId, texts: Iterable[tuple[str, str]]) -> str:
        """Return why these texts may not have links, or "". Staff would not look at them before they are shown."""
        if not await self._is_first_link(author_id, texts):
            return ""
        return _("The people who run this site look at your first links. Write them in a new post.")

    async def _is_first_link(self, author_id: AccountId, texts: Iterable[tuple[str, str]]) -> bool:
        if not self.site.settings.holds_first_links or not any(has_links(text) for _name, text in texts):
            return False
        return await self.holds_links_of(author_id)

    async def holds_links_of(self, author_id: AccountId) -> bool:
        """Return whether a post of the author with a link waits for staff, because the author is new to the site.

        The author's posts with links are those that staff has released.
        """
        if not self.site.settings.holds_first_links or author_id in self._unheld_ids:
            return False
        ids = await self.author_timelines.read(author_id, ABOVE_ALL_IDS, FIRST_ENTRIES_READ, upward=False)
        posts = [post for post in (await self.posts.find_many(ids)).values() if post.boost_of is None]
        if len(posts) < FIRST_POSTS and not any(has_links(post.searchable_text) for post in posts):
            return True
        if len(self._unheld_ids) >= UNHELD_AUTHORS_CAP:
            self._unheld_ids.clear()
        self._unheld_ids.add(author_id)
        return False
