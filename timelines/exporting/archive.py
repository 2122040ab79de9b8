"""Writes the archive of an account to a zip file, in bounded memory: every member is written in small parts.

The archive contains Mastodon's members (actor.json, outbox.json, likes.json, bookmarks.json, media_attachments/, the
CSV files and the filters), drafts.json, and index.html, which shows the posts without a network.
"""

import asyncio
import csv
import io
import time
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import assert_never

import msgspec
from django.core.files.base import File
from django.template.loader import render_to_string
from django.utils import translation

from accounts.accounts.service import AccountService
from accounts.domain import Author
from accounts.models import Account
from accounts.profile_texts import LINK_FIELD
from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.service import Part
from socialsite.store import Store
from socialsite.web.responses import format_iso_time
from timelines.author_timelines.repository import AuthorTimelineRepository
from timelines.drafts.draft import Draft
from timelines.drafts.repository import Drafts
from timelines.drafts.views import draft_json
from timelines.exporting.activities import CONTEXT, ActivityBuilder, picture_path
from timelines.exporting.transfer import Transfer
from timelines.filters.repository import Filters
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import BLOCKS_CAP, MUTES_CAP
from timelines.graph.repository import Follows
from timelines.hashtags.followed import FollowedHashtags
from timelines.lists.account_list import LISTS_PER_ACCOUNT
from timelines.lists.repository import ListMembers, Lists
from timelines.media.media import media_file
from timelines.media.service import MediaService
from timelines.media.storage import MediaFiles
from timelines.pages.presenters import Json
from timelines.posts.poll_votes import Tally, read_tallies
from timelines.posts.post import MediaAttachment, Post
from timelines.posts.repository import PostRepository
from timelines.reactions.bookmarks import Bookmark, Bookmarks, ReadMarkedPosts
from timelines.reactions.repository import Reactions
from timelines.text.linkify import REL_ME, linkify
from timelines.visibility.filter import DEFAULT_PLACES

POSTS_PER_READ = 500
ACCOUNTS_PER_READ = 1_000
URLS_ON_INDEX = 1_000
"""The newest likes and bookmarks that index.html shows. The JSON files contain all of them."""

Progress = Callable[[int, int], Awaitable[None]]
"""Stores the number of finished steps and the number of all steps."""


class ArchiveSources(Part):
    """The repositories from which an archive is written."""

    store: Store
    accounts: AccountService
    posts: PostRepository
    author_timelines: AuthorTimelineRepository
    follows: Follows
    blocks_and_mutes: BlocksAndMutes
    lists: Lists
    members: ListMembers
    filters: Filters
    drafts: Drafts
    bookmarks: Bookmarks
    reactions: Reactions
    followed_hashtags: FollowedHashtags
    files: MediaFiles
    media: MediaService


@dataclass(slots=True)
class ArchiveWriter:
    sources: ArchiveSources
    account: Account
    transfer: Transfer
    progress: Progress
    _zip: zipfile.ZipFile = field(init=False)
    _done: int = field(init=False, default=0)
    _total: int = field(init=False, default=0)

    @property
    def _id(self) -> AccountId:
        return AccountId(self.account.id)

    async def write(self, file: "File[bytes]") -> None:
        """Write the archive. Raises StoreError, OSError."""
        self._total = 2 * await self.sources.author_timelines.count(self._id)  # the posts are read twice
        with zipfile.ZipFile(file, "w") as self._zip:
            await self._write("outbox.json", self._collection("outbox.json", self._activities()))
            context = await self._write_lists()
            for name, read in (
                ("likes", self.sources.reactions.read_likes),
                ("bookmarks", self.sources.bookmarks.read),
            ):
                index_urls: list[str] = []
                await self._write(f"{name}.json", self._collection(f"{name}.json", self._marked(read, index_urls)))
                context[name] = index_urls[:URLS_ON_INDEX]
            await self._write_actor()
            context["pages"] = [page async for page in self._write_pages()]
            await self._write_text("index.html", await self._render("index", context))

    # Members

    async def _write(self, name: str, chunks: AsyncIterator[bytes], *, compress: bool = True) -> None:
        info = zipfile.ZipInfo(name, time.gmtime(self.transfer.changed_ms / 1000)[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as member:
            async for chunk in chunks:
                await asyncio.to_thread(member.write, chunk)

    async def _write_text(self, name: str, text: str) -> None:
        await self._write(name, _once(text.encode()))

    async def _write_json(self, name: str, value: object) -> None:
        await self._write(name, _once(msgspec.json.encode(value)))

    async def _write_csv(self, name: str, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        await self._write_text(name, text.getvalue())

    async def _render(self, template: str, context: Json) -> str:
        """Return a page in the language in which the archive was requested."""

        def render() -> str:
            with translation.override(self.transfer.language):
                shared = {"account": self.account, "base_url": self.transfer.base_url}
                return render_to_string(f"export/{template}.html", {**shared, **context})

        return await asyncio.to_thread(render)

    async def _collection(self, name: str, items: AsyncIterator[Sequence[object]]) -> AsyncIterator[bytes]:
        """Yield an OrderedCollection in parts."""
        head = msgspec.json.encode({"@context": CONTEXT, "id": name, "type": "OrderedCollection", "orderedItems": []})
        yield head.removesuffix(b"]}")
        separator = b"\n"
        async for batch in items:
            encoded = await asyncio.to_thread(lambda batch: list(map(msgspec.json.encode, batch)), batch)
            for item in encoded:
                yield separator + item
                separator = b",\n"
        yield b"]}\n"

    # Posts

    async def _post_batches(self) -> AsyncIterator[list[list[Post]]]:
        """Yield the posts with all their versions, oldest first, and store the progress."""
        after, posts = 0, self.sources.posts
        while ids := await self.sources.author_timelines.read(self._id, after, POSTS_PER_READ, upward=True):
            page_posts = await posts.find_many(ids)
            own = [page_posts[id] for id in ids if id in page_posts and page_posts[id].author_id == self._id]
            found = [await posts.find_versions(post.id) if post.extra.version else [post] for post in own]
            yield [versions for versions in found if versions]  # a post may be deleted meanwhile
            after, self._done = ids[-1], self._done + len(ids)
            await self.progress(self._done, self._total)

    async def _activities(self) -> AsyncIterator[list[Json]]:
        async for batch in self._post_batches():
            posts = await self._with_parents([versions[-1] for versions in batch])
            builder = await self._builder(posts)
            polls = [post.id for post in posts if post.extra.poll]
            tallies: dict[PostId, Tally] = {}
            if polls:
                (tallies,) = await self.sources.store.read(read_tallies(polls))
            pairs = [
                ([*versions[:-1], post], tallies.get(post.id, {})) for versions, post in zip(batch, posts, strict=True)
            ]
            yield [builder.activity(versions, tally) for versions, tally in pairs]

    async def _with_parents(self, posts: list[Post]) -> list[Post]:
        """Return the posts with the authors of their parents, which old imports did not store."""
        unknown = {post.in_reply_to for post in posts if post.in_reply_to and post.reply_to_author_id is None}
        parents = await self.sources.posts.find_many(sorted(unknown)) if unknown else {}
        return [
            msgspec.structs.replace(post, reply_to_author_id=parents[post.in_reply_to].author_id)
            if post.in_reply_to in parents
            else post
            for post in posts
        ]

    async def _builder(self, posts: Iterable[Post]) -> ActivityBuilder:
        """Return a builder that knows the authors of the parents, originals and quoted posts."""
        ids = {(post.reply_to_author_id, post.boosted_author_id, post.extra.quoted_author_id) for post in posts}
        return await self._builder_for({id for id in chain.from_iterable(ids) if id is not None})

    async def _builder_for(self, author_ids: Iterable[AccountId]) -> ActivityBuilder:
        authors = await self.sources.accounts.find_shown_authors(author_ids)
        return ActivityBuilder(self.transfer.base_url, self.account.author, authors)

    async def _write_pages(self) -> AsyncIterator[Json]:
        """Write one page for the posts of each month, or of a part of it, and their pictures.

        Yield the parts of index.html about the pages.
        """
        number = 0
        async for batch in self._post_batches():
            builder = await self._builder([versions[-1] for versions in batch])
            for month, group in groupby(batch, key=lambda versions: format_iso_time(versions[-1].created_ms)[:7]):
                number += 1
                posts = [
                    {
                        "versions": [
                            (version, [(f"../{picture_path(each)}", each.alt) for each in version.extra.media])
                            for version in versions[::-1]
                        ],
                        "url": builder.post_url(versions[-1].id, self._id),
                        "parent_url": builder.post_url(versions[-1].in_reply_to, versions[-1].reply_to_author_id),
                        "boost_url": builder.post_url(versions[-1].boost_of, versions[-1].boosted_author_id),
                    }
                    for versions in group
                ]
                name = f"posts/{month}-{number}.html"
                await self._write_text(name, await self._render("posts", {"posts": posts, "month": month}))
                yield {"name": name, "month": month, "count": len(posts)}
            for versions in batch:
                for each in {each.id: each for version in versions for each in version.extra.media}.values():
                    await self._write_attachment(each)

    async def _write_attachment(self, picture: MediaAttachment) -> None:
        name = media_file(f"{picture.id}-{picture.secret}", "full", picture.extension)
        await self._write_picture(picture_path(picture), name)

    async def _write_picture(self, name: str, file_name: str) -> bool:
        """Write a picture. Return False if its file does not exist."""
        try:
            file = await self.sources.files.open(file_name)
        except FileNotFoundError:
            return False
        await self._write(name, self.sources.files.read_chunks(file), compress=False)
        return True

    # The account

    async def _write_actor(self) -> None:
        account, builder = self.account, await self._builder_for([])
        actor: Json = {
            "@context": CONTEXT, "id": builder.actor_url, "type": "Person", "url": builder.actor_url,
            "preferredUsername": account.handle, **_actor_texts(account),
            "published": format_iso_time(account.created_ms), "manuallyApprovesFollowers": account.is_private,
            "discoverable": account.preferences.is_discoverable,
            "outbox": "outbox.json", "likes": "likes.json", "bookmarks": "bookmarks.json",
        }  # fmt: skip
        for kind, name, field_name in (("avatar", account.avatar, "icon"), ("header", account.header, "image")):
            if name and await self._write_picture(f"{kind}.webp", media_file(name, "full", "webp")):
                actor[field_name] = {"type": "Image", "mediaType": "image/webp", "url": f"{kind}.webp"}
        await self._write_json("actor.json", actor)

    async def _write_lists(self) -> Json:
        """Write the CSV files, the filters and the drafts. Return what index.html shows of them."""
        at, now_ms = self.sources, self.transfer.changed_ms
        following = await self._addresses(sorted(await at.follows.following_ids(self._id)))
        hidden = await at.blocks_and_mutes.hidden_boosts_among(self._id, list(following))
        await self._write_csv("following_accounts.csv", [
            ("Account address", "Show boosts", "Notify on new posts", "Languages"),
            *((address, str(id not in hidden).lower(), "false", "") for id, address in following.items()),
        ])  # fmt: skip
        page = await at.blocks_and_mutes.blocked(self._id, None, BLOCKS_CAP)
        blocked = (await self._addresses(page.account_ids)).values()
        await self._write_csv("blocked_accounts.csv", [[address] for address in blocked])
        page = await at.blocks_and_mutes.muted(self._id, None, MUTES_CAP, now_ms=now_ms)
        muted = (await self._addresses(page.account_ids)).values()
        header = ("Account address", "Hide notifications")
        await self._write_csv("muted_accounts.csv", [header, *((address, "true") for address in muted)])
        notes = await at.blocks_and_mutes.notes(self._id)
        about = await self._addresses(sorted(notes))
        header = ("Account address", "Note")
        await self._write_csv("account_notes.csv", [header, *((about[id], notes[id]) for id in about)])
        lists = (await at.lists.page(self._id, None, LISTS_PER_ACCOUNT)).lists
        members = await at.members.member_ids_of(each.id for each in lists)
        addresses = [list((await self._addresses(sorted(members[each.id]))).values()) for each in lists]
        on_lists = [(each.title, on_list, each.description) for each, on_list in zip(lists, addresses, strict=True)]
        await self._write_csv("lists.csv", [(title, each) for title, on_list, _ in on_lists for each in on_list])
        tags = await at.followed_hashtags.all(self._id)
        await self._write_csv("followed_tags.csv", [[tag] for tag in tags])
        filters = [each for each in await at.filters.all(self._id) if each.phrase]
        await self._write_json("custom_filters.json", {"custom_filters": [
            {
                "title": each.title or each.phrase, "context": each.contexts or DEFAULT_PLACES,
                "filter_action": each.action,
                "expires_at": None if each.until_ms is None else format_iso_time(each.until_ms),
                "keywords_attributes": [{"keyword": each.phrase, "whole_word": each.whole_word}],
            }
            for each in filters
        ]})  # fmt: skip
        drafts = await at.drafts.all(self._id)
        await self._write_drafts(drafts)
        return {
            "following": following.values(), "blocked": blocked, "muted": muted, "notes": about.values(),
            "lists": on_lists, "tags": tags, "filters": filters,
            "drafts": [each.value("text") for each in drafts],
        }  # fmt: skip

    async def _write_drafts(self, drafts: Iterable[Draft]) -> None:
        """Write the drafts with their pictures, except pictures that posts contain."""
        values: list[Json] = []
        for draft in drafts:
            rows = await self.sources.media.find_all_own(self._id, draft.media_ids)
            pictures = [row.attachment for row in rows if row.state == "ready" and not row.post]
            for each in pictures:
                await self._write_attachment(each)
            media = [{"file": picture_path(each), "description": each.alt} for each in pictures]
            values.append({**draft_json(draft), "media": media})
        await self._write_json("drafts.json", values)

    async def _addresses(self, account_ids: Sequence[AccountId]) -> dict[AccountId, str]:
        """Return the addresses of the visible accounts, in the order of `account_ids`."""
        host = self.transfer.base_url.partition("://")[2]
        authors: dict[AccountId, Author] = {}
        for batch in batches(account_ids, ACCOUNTS_PER_READ):
            authors |= await self.sources.accounts.find_shown_authors(batch)
        return {id: f"{authors[id].handle}@{host}" for id in account_ids if id in authors and authors[id].is_visible}

    async def _marked(self, read: ReadMarkedPosts, shown: list[str]) -> AsyncIterator[list[str]]:
        """Yield the URLs of likes or bookmarks, the newest first. The first of them are added to `shown`."""
        edge: Bookmark | None = None
        while batch := await read(self._id, edge, POSTS_PER_READ, upward=False):
            posts = await self.sources.posts.find_many([bookmark.post_id for bookmark in batch])
            builder = await self._builder_for({post.author_id for post in posts.values()})
            found = [posts[each.post_id] for each in batch if each.post_id in posts]
            urls = [url for post in found if (url := builder.post_url(post.id, post.author_id))]
            shown += urls if len(shown) < URLS_ON_INDEX else []
            yield urls
            edge = batch[-1]


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _actor_texts(account: Account) -> Json:
    """Return the texts of the profile as properties of ActivityPub's Person."""
    actor: Json = {"attachment": []}
    for text, value in account.texts.items():
        match text.kind:
            case "name" | "text":
                actor[text.activity_name] = value
            case "link" if value:
                actor["attachment"].append({"type": "PropertyValue", "name": LINK_FIELD, "value": value})
            case "fields":
                actor["attachment"] += [
                    {"type": "PropertyValue", "name": each.name, "value": linkify(each.value, REL_ME)}
                    for each in account.filled_fields
                ]
            case "moved" if value:
                actor[text.activity_name] = value
            case "link" | "moved":
                pass
            case _:
                assert_never(text.kind)
    return actor
