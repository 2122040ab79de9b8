"""Imports posts with their own times and replies. There is no fan-out and there are no notifications.

Each segment of rows takes four steps: reserve the post ids, write the posts and their index entries, delete the
affected cached timelines, and mark the sources as done. If a run is interrupted, the next run repeats the segment with
the same ids.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from django.core.files.base import ContentFile

from accounts.accounts.service import AccountService
from socialsite.batches import batches
from socialsite.concurrency import run_all_to_end
from socialsite.errors import ApiError, RateLimited, Unavailable
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Part
from timelines.author_timelines.repository import PublicTimelineRepository
from timelines.errors import MediaInvalid, MediaQuotaReached
from timelines.exporting.repository import RecordImported
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.importing.account_archive import AccountArchive
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.bluesky import BlueskyArchive
from timelines.importing.lines import ROW_ERRORS, LineFile, LineRefused, SliceEnded, Tally
from timelines.importing.repository import GraphRanks, ImportedPosts, Source, digest_of
from timelines.importing.rows import (
    PictureRow,
    PostRow,
    RowRules,
    RowVersion,
    find_author,
    find_newest_ms,
    parse_post_url,
)
from timelines.media.media import ALT_MAX_LENGTH, MEDIA_PER_POST, UPLOAD_MAX_BYTES, Media, find_refusal, validate_alt
from timelines.media.processing import EncodePicture, MediaProcessing, encode_job
from timelines.media.service import MediaService
from timelines.posts.post import NO_DETAILS, MediaAttachment, Post
from timelines.posts.repository import PostRepository
from timelines.publishing.hashtag_limit import NewHashtagLimit
from timelines.search.indexing import SearchIndexer

ROWS_PER_SEGMENT = 25_000
ARCHIVE_ROWS_PER_SEGMENT = 100
PICTURES_PER_SEGMENT = 40
"""An interrupted import uploads the pictures of a segment again. A large picture takes seconds."""
POSTS_PER_ROUND = 1_000
SHIFT_MARGIN_MS = 3 * 60_000
PostSource = LineFile | AccountArchive | BlueskyArchive
StoreProgress = Callable[[int], Awaitable[None]]
"""Stores up to which row a file is imported. It may raise an exception, which ends the import there."""


class NoGraph(Exception):
    """The posts should be assigned to the accounts of a graph, but no graph was imported."""


def compute_shift(file: PostSource, now_ms: int) -> int:
    """Return the ms to add to all times of a file, so that its newest post is three minutes old.

    Reads the file once.
    """
    newest_ms = find_newest_ms(line for _, line in file.lines(Tally()))
    return now_ms - SHIFT_MARGIN_MS - newest_ms if newest_ms else 0


@dataclass(frozen=True, slots=True)
class PostsOptions:
    """`owner_id` gets all posts, even if the file names another author. Then they do not enter the public timeline.

    New hashtags count for the limits of the `caller`, if there is one. With the `base_url` of this site, its posts that
    the owner still has are not imported again.
    """

    rules: RowRules
    assign_to_graph: bool = False
    dry_run: bool = False
    owner_id: AccountId | None = None
    caller: Caller | None = None
    base_url: str = ""
    record: RecordImported | None = None


def check_picture(content: bytes | None) -> "ContentFile[bytes]":
    """Return the file of a picture that may be uploaded. Raises LineRefused."""
    if content is None:
        raise LineRefused("missing")
    if len(content) > UPLOAD_MAX_BYTES:
        raise LineRefused("too_many_bytes")
    file = ContentFile(content, "picture")
    if refusal := find_refusal(file):
        raise LineRefused(refusal)
    return file


async def ignore_progress(number: int) -> None:
    """Do nothing."""


@dataclass(slots=True)
class RowReader:
    """Parses the rows of a file after the first `offset`."""

    file: PostSource
    rules: RowRules
    tally: Tally
    offset: int
    slice_end: SliceEnded | None = None
    """Set if the slice ended at a refused row. The rows before it are imported first."""

    def __iter__(self) -> Iterator[PostRow]:
        try:
            for number, line in self.file.lines(self.tally, self.offset):
                try:
                    yield self.rules.parse(number, line)
                except ROW_ERRORS as error:
                    self.tally.refuse_row(number, error)
        except SliceEnded as slice_end:
            self.slice_end = slice_end


class PostsImport(Part):
    """Imports posts.

    It counts new `posts` and `pictures`, `standing` (imported before, or posts of this site), `deleted`, `replies` and
    `parent_missing`.
    """

    accounts: AccountService
    posts: ImportedPosts
    public: PublicTimelineRepository
    affected: AffectedTimelines
    indexing: SearchIndexer
    ranks: GraphRanks
    stored_posts: PostRepository
    media: MediaService
    media_processing: MediaProcessing
    new_hashtags: NewHashtagLimit
    limits: ActionLimits
    rows_per_segment: int = ROWS_PER_SEGMENT

    async def run(
        self, file: PostSource, options: PostsOptions, tally: Tally, now_ms: int, *,
        offset: int = 0, progress: StoreProgress = ignore_progress,
    ) -> None:  # fmt: skip
        """Import the rows of an archive after the first `offset`, or of a file.

        Raises ArchiveUnreadable, OSError, EOFError or zlib.error if the file cannot be read, NoGraph, and StoreError.
        """
        owners = await self._assign_by_rank(file) if options.assign_to_graph else {}
        size = self.rows_per_segment if isinstance(file, LineFile) else ARCHIVE_ROWS_PER_SEGMENT
        reader = RowReader(file, options.rules, tally, offset)
        segments = _segments(reader, size)
        while segment := await asyncio.to_thread(next, segments, None):
            missing = await self._drop_existing(segment, options, tally)
            if options.dry_run:
                tally.counts["posts"] += len(missing)
                if not isinstance(file, LineFile):
                    tally.counts["pictures"] += sum(len(row.newest.pictures) for row in missing)
            else:
                owners |= {row.handle: options.owner_id for row in missing if options.owner_id is not None}
                await self._import(missing, file, owners, tally, now_ms, options)
            if reader.slice_end is None:
                await progress(segment[-1].number)
        if reader.slice_end is not None:
            await progress(reader.slice_end.number)
            raise reader.slice_end

    async def _drop_existing(self, rows: list[PostRow], options: PostsOptions, tally: Tally) -> list[PostRow]:
        """Return the rows without those that are posts of this site which the owner has."""
        existing = await self._find_existing((row.source_id for row in rows), options)
        if existing:
            tally.counts["standing"] += sum(row.source_id in existing for row in rows)
        return [row for row in rows if row.source_id not in existing]

    async def _find_existing(self, source_ids: Iterable[str], options: PostsOptions) -> dict[str, Source]:
        """Return the posts of this site which the owner has, by the source ids that are their addresses."""
        ids = {source_id: parse_post_url(source_id, options.rules.scope + options.base_url) for source_id in source_ids}
        post_ids = sorted(set(filter(None, ids.values())))
        posts = await self.stored_posts.find_many(post_ids) if post_ids else {}
        own_ids = {post.id for post in posts.values() if post.author_id == options.owner_id}
        return {source_id: Source(id, is_done=True) for source_id, id in ids.items() if id in own_ids}

    async def _assign_by_rank(self, file: PostSource) -> dict[str, AccountId]:
        """Return the account of each author. Authors with most posts get the accounts with most followers.

        The other authors get accounts with their own names. Reads the file once. Raises NoGraph.
        """
        posts = Counter(author for _, line in file.lines(Tally()) if (author := find_author(line)) is not None)
        authors = sorted(posts, key=lambda handle: (-posts[handle], handle))
        account_ids = await self.ranks.most_followed(len(authors))
        if not account_ids:
            raise NoGraph
        return dict(zip(authors, map(AccountId, account_ids), strict=False))

    async def _import(
        self, segment: list[PostRow], file: PostSource, owners: dict[str, AccountId], tally: Tally, now_ms: int,
        options: PostsOptions,
    ) -> None:  # fmt: skip
        """Import a segment, and add the accounts of its authors to `owners`."""
        rows = self._drop_repeated(segment, tally)
        parents = {row.reply_to for row in rows if row.reply_to is not None}
        sources = await self.posts.sources([*(row.source_id for row in rows), *parents])
        sources |= await self._find_existing(parents - sources.keys(), options)
        due = [row for row in rows if not (row.source_id in sources and sources[row.source_id].is_done)]
        tally.counts["standing"] += len(rows) - len(due)
        if not due:
            return
        if options.caller is not None:
            size_bytes = len(msgspec.msgpack.encode([row.versions for row in due]))
            try:
                await self.limits.enforce_bytes("imports", options.caller.account_id, size_bytes)
            except RateLimited:
                raise ArchiveUnreadable("too_large") from None
        new = [(row.source_id, row.wanted_id) for row in due if row.source_id not in sources]
        sources |= await self.posts.claim(new)
        if options.record is not None:
            await options.record([(digest_of(row.source_id), sources[row.source_id].post_id) for row in due])
        handles = sorted({row.handle for row in due if row.handle not in owners})
        owners |= await self.accounts.import_accounts(handles=handles, now_ms=now_ms)
        posts = {row.source_id: self._make_post(row, sources, owners, tally) for row in due}
        posts = await self._with_pictures(due, posts, file, tally)
        complete = await self._with_threads(list(posts.values()))
        if options.caller is not None:
            complete = await self.new_hashtags.limit_imported(complete, options.caller)
        await self._publish(complete, tally, options)
        await self.posts.finish((source_id, post.id) for source_id, post in posts.items())

    async def _with_pictures(
        self, rows: Sequence[PostRow], posts: Mapping[str, Post], archive: PostSource, tally: Tally
    ) -> dict[str, Post]:
        """Return the posts with their pictures, without those that then have neither a picture nor a text.

        Their former versions are stored. A post that an interrupted run has written keeps its pictures and versions.
        """
        unfinished = [posts[row.source_id].id for row in rows if row.picture_count or len(row.versions) > 1]
        written = await self.stored_posts.find_many(unfinished)
        complete: dict[str, Post] = {}
        for row in rows:
            post = posts[row.source_id]
            if post.id in written:
                post = written[post.id]
            elif post.id in unfinished:
                try:
                    media = await self._upload_pictures(row, post, archive, tally)
                    *former, post = (_apply_version(post, version, media) for version in row.versions)
                    if not post.extra.media and not post.text:
                        continue
                    for version in (*former, post):
                        await self.media.attach(version)
                except Unavailable:
                    raise
                except (*ROW_ERRORS, ApiError) as error:
                    tally.refuse_row(row.number, error)
                    continue
                await self.posts.write_versions(former)
            complete[row.source_id] = post
        return complete

    async def _upload_pictures(
        self, row: PostRow, post: Post, archive: PostSource, tally: Tally
    ) -> dict[str, MediaAttachment]:
        """Upload and encode the pictures of all versions of a post. Return them by the names of their files."""
        for _ in row.newest.pictures[MEDIA_PER_POST:]:
            tally.refuse(row.number, "picture_too_many")
        pictures = {each.file: each for version in row.versions for each in version.pictures[:MEDIA_PER_POST]}
        attachments: dict[str, MediaAttachment] = {}
        for name, picture in pictures.items():
            try:
                read = None if isinstance(archive, BlueskyArchive) else archive.read_picture
                content = await asyncio.to_thread(read, name) if read else None
                attachments[name] = (await self._upload(post.author_id, picture, content)).attachment
            except LineRefused as refused:
                tally.refuse(row.number, f"picture_{refused.reason}")
            except ArchiveUnreadable:
                tally.refuse(row.number, "picture_unreadable")
        tally.counts["pictures"] += len(attachments)
        return attachments

    async def _upload(self, owner_id: AccountId, picture: PictureRow, content: bytes | None) -> Media:
        """Upload and encode a picture as people's uploads. Raises LineRefused."""
        file = check_picture(content)
        try:
            row = await self.media.upload(
                owner_id=owner_id, content=file, alt=picture.description[:ALT_MAX_LENGTH], focus=picture.focus
            )
        except MediaQuotaReached:
            raise LineRefused("quota") from None
        except MediaInvalid:
            raise LineRefused("description") from None
        # If a worker has encoded the picture already, this call changes nothing.
        await self.media_processing.handle(encode_job(EncodePicture(row.name, None, owner_id)))
        encoded = await self.media.rows.find(row.id)
        if encoded is None or encoded.state != "ready":
            raise LineRefused(encoded.refusal or "" if encoded else "missing")
        return encoded

    async def _publish(self, posts: Sequence[Post], tally: Tally, options: PostsOptions) -> None:
        """Write posts.

        Cached timelines are deleted before and after, so that no concurrent rebuild misses the posts.
        """
        affected = await self.affected.of_authors({post.author_id for post in posts})
        await affected.invalidate()
        existing = await self.posts.write(posts)
        # The client encodes commands of one coroutine while the server runs commands of the other.
        await run_all_to_end(self.indexing.add_posts(existing), self._place(existing, options))
        await affected.invalidate()
        tally.counts["posts"] += len(existing)
        tally.counts["deleted"] += len(posts) - len(existing)

    async def _place(self, posts: Sequence[Post], options: PostsOptions) -> None:
        await self.posts.place(posts)
        if options.owner_id is not None:
            return
        for batch in batches((post.id for post in posts if post.is_discoverable), POSTS_PER_ROUND):
            await self.public.add_many(batch)

    async def _with_threads(self, posts: Sequence[Post]) -> list[Post]:
        """Return the posts, each with the author of its parent and the first post of its thread."""
        ids = {post.id for post in posts}
        earlier = {post.in_reply_to for post in posts if post.in_reply_to is not None} - ids
        return complete_threads(posts, await self.stored_posts.find_many(sorted(earlier)))

    @staticmethod
    def _drop_repeated(rows: list[PostRow], tally: Tally) -> list[PostRow]:
        """Return the first row of each source id."""
        first: dict[str, PostRow] = {}
        for row in rows:
            if first.setdefault(row.source_id, row) is not row:
                tally.refuse(row.number, "repeated_id")
        return list(first.values())

    @staticmethod
    def _make_post(row: PostRow, sources: dict[str, Source], owners: dict[str, AccountId], tally: Tally) -> Post:
        parent: PostId | None = None
        if row.reply_to is not None:
            source = sources.get(row.reply_to)
            parent = source.post_id if source is not None and row.reply_to != row.source_id else None
            tally.counts["parent_missing" if parent is None else "replies"] += 1
        post_id, owner_id = sources[row.source_id].post_id, owners[row.handle]
        return _apply_version(Post(post_id, owner_id, "", parent, audience=row.audience), row.newest, {})


def _segments(rows: Iterable[PostRow], max_rows: int) -> Iterator[list[PostRow]]:
    """Yield the rows in segments of at most `max_rows`. A segment ends after PICTURES_PER_SEGMENT pictures."""
    segment: list[PostRow] = []
    pictures = 0
    for row in rows:
        segment.append(row)
        pictures += row.picture_count
        if len(segment) == max_rows or pictures >= PICTURES_PER_SEGMENT:
            yield segment
            segment, pictures = [], 0
    if segment:
        yield segment


def _clean_alt(description: str) -> str:
    """Return the stored form of a description, or "" if it has characters that are not allowed."""
    with suppress(MediaInvalid):
        return validate_alt(description[:ALT_MAX_LENGTH])
    return ""


def _apply_version(post: Post, version: RowVersion, media: Mapping[str, MediaAttachment]) -> Post:
    """Return the post with the text, the details and the uploaded pictures of a version."""
    pictures = tuple(
        msgspec.structs.replace(media[each.file], alt=_clean_alt(each.description), focus=each.focus)
        for each in version.pictures[:MEDIA_PER_POST]
        if each.file in media
    )
    details = msgspec.structs.replace(version.details, media=pictures)
    return msgspec.structs.replace(post, text=version.text, details=None if details == NO_DETAILS else details)


def complete_threads(posts: Sequence[Post], earlier: Mapping[PostId, Post]) -> list[Post]:
    """Return the posts with `reply_to_author_id` and `root_id`. `earlier` contains their parents from other segments.

    If rows reply to each other in a circle, the reply that closes the circle becomes a post that answers nothing.
    """
    by_id, completed = {post.id: post for post in posts}, dict(earlier)
    for post in posts:
        path: dict[PostId, Post] = {}  # up to a completed post; no recursion, since threads can be very deep
        parent: Post | None = post
        while parent is not None and parent.id not in completed and parent.id not in path:
            path[parent.id] = parent
            parent = by_id.get(parent.in_reply_to) if parent.in_reply_to is not None else None
        if parent is not None and parent.id in path:
            id, closing = path.popitem()
            completed[id] = msgspec.structs.replace(closing, in_reply_to=None)
        for id, each in reversed(path.items()):
            parent = completed.get(each.in_reply_to) if each.in_reply_to is not None else None
            completed[id] = each
            if parent is not None:  # otherwise the parent is absent or was deleted meanwhile
                root_id = parent.root_id or parent.id
                completed[id] = msgspec.structs.replace(each, reply_to_author_id=parent.author_id, root_id=root_id)
    return [completed[post.id] for post in posts]
