"""Loads the demo: some hundred posts in each language, a follow graph, twelve people with pictures, public lists.

NOTICE lists the sources and licences. A repeated load completes an interrupted load and duplicates nothing.
Times are shifted so that the newest post is three minutes old at the first load.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec
from django.core.files.base import ContentFile

from accounts.accounts.service import AccountService
from accounts.errors import HandleTaken
from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.ids import AccountId
from socialsite.service import Part
from timelines.importing.graph import GraphImport, GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsImport, PostsOptions, compute_shift
from timelines.importing.rows import RowRules
from timelines.lists.service import ListService
from timelines.media.processing import EncodePicture, MediaProcessing, encode_job
from timelines.media.service import MediaService
from timelines.popular.service import PopularPostsService
from timelines.reactions.service import ReactionsService
from timelines.reading.service import ReadingService

FILES: Final = Path(__file__).parent
PICTURES: Final = FILES / "pictures"
LOGIN_HANDLES: Final = ("alice", "bob", "carol")
MAX_GRAPHEMES: Final = 500
PROFILES_AT_ONCE: Final = 50
POSTS_WITH_REACTIONS: Final = 60  # the newest posts, so that the first pages look used
LIKES_PER_POST: Final = (0, 0, 0, 1, 1, 2, 3, 6)
REACTIONS_AT_ONCE: Final = 20

_profile_decoder = msgspec.json.Decoder(dict[str, str])


class Profile(NamedTuple):
    """A line of accounts.jsonl.gz and of people.jsonl."""

    handle: str
    display_name: str
    language: str
    bio: str = ""


class PublicList(msgspec.Struct, frozen=True):
    """A line of lists.jsonl."""

    owner: str
    title: str
    description: str
    members: list[str]


class DemoLoader(Part):
    accounts: AccountService
    reading: ReadingService
    reactions: ReactionsService
    popular: PopularPostsService
    graph_import: GraphImport
    posts_import: PostsImport
    media: MediaService
    media_processing: MediaProcessing
    lists: ListService

    async def load(self, now_ms: int) -> list[tuple[str, str]]:
        """Load the demo in a second or two. Returns (handle, password) of each account to log in with."""
        logins = [(handle, f"{handle}-in-wonderland") for handle in LOGIN_HANDLES]
        for handle, password in logins:
            await self._sign_up(handle, password, now_ms)
        for name in ("graph.tsv.gz", "follows.tsv"):
            await self.graph_import.run(LineFile(FILES / name), GraphOptions(handle_prefix=""), Tally(), now_ms)
        owners = await self._create_profiles("accounts.jsonl.gz", now_ms)
        people = await self._create_profiles("people.jsonl", now_ms)
        posts, stories = LineFile(FILES / "posts.jsonl.gz"), LineFile(FILES / "stories.jsonl", pictures=PICTURES)
        rules = RowRules(MAX_GRAPHEMES, latest_ms=now_ms, shift_ms=compute_shift(posts, now_ms))
        for file in (posts, stories):
            await self.posts_import.run(file, PostsOptions(rules), Tally(), now_ms)
        await run_together(*(self._set_avatar(account_id, handle) for handle, account_id in people.items()))
        lists = [
            msgspec.json.decode(line, type=PublicList) for _, line in LineFile(FILES / "lists.jsonl").lines(Tally())
        ]
        await run_together(*(self._create_list(each, people, now_ms) for each in lists))
        await self._react(owners | people, now_ms)
        return logins

    async def _sign_up(self, handle: str, password: str, now_ms: int) -> None:
        try:
            await self.accounts.sign_up(handle=handle, password=password, now_ms=now_ms)
        except HandleTaken:
            return  # an earlier load wrote the reactions

    async def _set_avatar(self, account_id: AccountId, handle: str) -> None:
        if not (await self.accounts.get(account_id)).avatar:  # an earlier load may have set the picture
            content = ContentFile(await asyncio.to_thread((PICTURES / f"{handle}.png").read_bytes), handle)
            row = await self.media.upload(owner_id=account_id, content=content, kind="avatar")
            await self.media_processing.handle(encode_job(EncodePicture(row.name, None, account_id)))
            await self.accounts.set_picture(account_id=account_id, kind="avatar", name=row.name)

    async def _create_list(self, wanted: PublicList, people: Mapping[str, AccountId], now_ms: int) -> None:
        """Create a public list, or complete the list that an earlier load created."""
        owner_id = people[wanted.owner]
        found = next((each for each in await self.lists.all_lists(owner_id) if each.title == wanted.title), None)
        list_id = (found or await self.lists.create(owner_id=owner_id, title=wanted.title, now_ms=now_ms)).id
        for handle in wanted.members:
            await self.lists.add_member(owner_id=owner_id, list_id=list_id, account_id=people[handle], now_ms=now_ms)
        await self.lists.edit(owner_id=owner_id, list_id=list_id, description=wanted.description, public_ms=now_ms)

    async def _react(self, owners: Mapping[str, AccountId], now_ms: int) -> None:
        """Like the newest posts and boost a few of them. Each load chooses the same posts."""
        draw = Random("reactions")  # noqa: S311  the choice must be repeatable
        people = [owners[handle] for handle in sorted(owners)]
        page = await self.reading.public(viewer_id=None, limit=POSTS_WITH_REACTIONS)
        like, boost = self.reactions.like, self.reactions.boost
        acts: list[Awaitable[object]] = []
        for number, entry in enumerate(page.entries):
            for account_id in draw.sample(people, draw.choice(LIKES_PER_POST)):
                acts.append(like(account_id=account_id, post_id=entry.id, now_ms=now_ms))
            if number % 12 == 7:
                acts.append(boost(account_id=draw.choice(people), post_id=entry.id, now_ms=now_ms))
        for batch in batches(acts, REACTIONS_AT_ONCE):
            await run_together(*batch)
        await self.popular.refill()

    async def _create_profiles(self, name: str, now_ms: int) -> dict[str, AccountId]:
        """Create the accounts of a file and set their names. Returns their ids by handle."""
        lines = LineFile(FILES / name).lines(Tally())
        profiles = [Profile(**_profile_decoder.decode(line)) for _, line in lines]
        owners = await self.accounts.import_accounts(handles=[profile.handle for profile in profiles], now_ms=now_ms)
        for batch in batches(profiles, PROFILES_AT_ONCE):
            await run_together(
                *(
                    self.accounts.edit_profile(
                        account_id=owners[profile.handle], display_name=profile.display_name, bio=profile.bio, link=""
                    )
                    for profile in batch
                )
            )
        return owners
