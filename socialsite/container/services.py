"""All services of one event loop."""

from typing import Any, TypeVar

from accounts.mail.handler import JOB_TIMEOUT_S as MAIL_TIMEOUT_S
from accounts.mail.queue import MAILS_AT_ONCE
from socialsite.container.posts import PostServices
from socialsite.container.repositories import AnyClock
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.job_worker import BackgroundQueue
from socialsite.service import Service, require_all_built
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from timelines.audit.audit import Audit
from timelines.audit.context import AuditContext
from timelines.audit.rebuild_after_restore import RebuildAfterRestore
from timelines.audit.sampler import AuditSampler
from timelines.demo.load import DemoLoader
from timelines.exporting.archive import ArchiveSources
from timelines.exporting.service import ExportService
from timelines.exporting.transfer import JOB_TIMEOUT_S as ARCHIVE_TIMEOUT_S
from timelines.exporting.transfer import RETRY_POLICY as TRANSFER_RETRIES
from timelines.fanout.account_purge import AccountPurge
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.fanout.rebuild_timelines import RebuildService
from timelines.fanout.service import FanOutService
from timelines.following.service import FollowingService
from timelines.importing.account_lists import AccountListsImport
from timelines.importing.graph import GraphImport
from timelines.importing.posts import PostsImport
from timelines.importing.reactions import ReactionsImport
from timelines.importing.service import ImportService
from timelines.media.processing import PICTURES_AT_ONCE
from timelines.post_archive.service import ArchivingService

S = TypeVar("S", bound=Service)


class Services(PostServices):
    """Adds exports, imports, the worker and the commands of operators.

    `services[ReadingService]` is the service of that class, so that a view names only the classes that it uses.
    """

    def __init__(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        super().__init__(store, clock, config)
        self._build_reading()
        self._build_pictures()
        self._build_notifications()
        self._build_relations()
        self._build_profiles()
        self._build_discovery()
        self._build_publishing()
        self._build_changes_and_reactions()
        self._build_exports()
        self._build_imports()
        self._build_worker()
        self._build_operators()
        self._by_class: dict[type, Any] = {type(service): service for service in vars(self).values()}
        require_all_built(self._by_class)

    def __getitem__(self, service_class: type[S]) -> S:
        service: S = self._by_class[service_class]
        return service

    async def check_archive(self) -> None:
        """Raise ArchiveUnavailable if the archive of old posts does not answer."""
        await self.repositories.archive.check()

    @property
    def background_queues(self) -> dict[str, BackgroundQueue]:
        """The queues whose jobs each worker performs, by their names."""
        media = self.media_processing
        queues = (
            BackgroundQueue(self.outbox, self.fan_out.handle),
            BackgroundQueue(self.media_queue, media.handle_quickly, PICTURES_AT_ONCE, on_dead_letter=media.abandon),
            BackgroundQueue(self.slow_pictures_queue, media.handle, 1, on_dead_letter=media.abandon),
            BackgroundQueue(self.push_queue, self.push_sending.handle),
            BackgroundQueue(self.archive_queue, self.imports.handle, 1, ARCHIVE_TIMEOUT_S, self.imports.abandon),
            BackgroundQueue(self.export_queue, self.imports.handle, 1, ARCHIVE_TIMEOUT_S, self.imports.abandon),
            BackgroundQueue(self.mail_queue, self.mail_sending.handle, MAILS_AT_ONCE, MAIL_TIMEOUT_S),
            BackgroundQueue(self.preview_queue, self.previews.handle),
        )
        return {each.queue.name: each for each in queues}

    @property
    def audit(self) -> Audit:
        """A new audit, for one run at a time."""
        return Audit(self.audit_context)

    def _build_exports(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.archive_queue = JobQueue(store, "archives", TRANSFER_RETRIES, is_heavy=True)
        """The imports, and the exports that an earlier release added."""
        self.export_queue = JobQueue(store, "exports", TRANSFER_RETRIES, is_heavy=True)
        self.archive_sources = ArchiveSources(
            store=store, accounts=self.accounts, posts=data.posts, author_timelines=data.author_timelines,
            follows=data.follows, blocks_and_mutes=data.blocks_and_mutes, lists=data.lists, members=data.members,
            filters=data.filters,
            drafts=data.drafts, bookmarks=data.bookmarks, reactions=data.reactions,
            followed_hashtags=data.followed_hashtags, files=self.media_files, media=self.media,
        )  # fmt: skip
        self.exports = ExportService(
            transfers=data.transfers, jobs=self.archive_queue, export_jobs=self.export_queue,
            sources=self.archive_sources, media=self.media, files=self.media_files, accounts=self.accounts,
            ids=self.ids, limits=self.action_limits, clock=clock, archive_keep_ms=config.archive_keep_ms,
        )  # fmt: skip

    def _build_imports(self) -> None:
        clock, config, data = self.clock, self.config, self.repositories
        self.affected_timelines = AffectedTimelines(
            follows=data.follows, members=data.members, homes=data.homes, list_timelines=data.list_timelines
        )
        self.posts_import = PostsImport(
            accounts=self.accounts, posts=data.imported_posts, public=data.public, affected=self.affected_timelines,
            indexing=self.search_indexer, ranks=data.graph_ranks, stored_posts=data.posts, media=self.media,
            media_processing=self.media_processing, new_hashtags=self.new_hashtags, limits=self.action_limits,
        )  # fmt: skip
        self.reactions_import = ReactionsImport(
            pipeline=self.pipeline, reactions=data.reactions, bookmarks=data.bookmarks
        )
        silent_following = FollowingService(
            follows=data.follows, blocks_and_mutes=data.blocks_and_mutes, follow_requests=data.follow_requests,
            accounts=self.accounts, homes=data.homes, following_cap=config.following_cap,
        )  # fmt: skip
        lists_import = AccountListsImport(
            accounts=self.accounts, following=silent_following, blocks_and_mutes=self.blocks_and_mutes,
            lists=self.lists, limits=self.action_limits,
        )  # fmt: skip
        self.imports = ImportService(
            exports=self.exports, transfers=data.transfers, posts_import=self.posts_import,
            imported_posts=data.imported_posts, reactions_import=self.reactions_import, lists_import=lists_import,
            publishing=self.publishing, accounts=self.accounts, mail=self.mail, notifications=self.notifications,
            files=self.media_files, limits=self.action_limits, site=self.site, clock=clock,
            post_max_length=config.post_max_length, archive_keep_ms=config.archive_keep_ms,
        )  # fmt: skip
        self.graph_import = GraphImport(
            accounts=self.accounts, follows=data.follows, homes=data.homes, ranks=data.graph_ranks,
            following_cap=config.following_cap,
        )  # fmt: skip

    def _build_worker(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.purging = AccountPurge(
            store=store, accounts=self.accounts, posts=data.posts, profiles=data.author_timelines,
            timeline_writer=self.timeline_writer, follows=data.follows, lists=data.lists, members=data.members,
            homes=data.homes, list_timelines=data.list_timelines, blocks_and_mutes=data.blocks_and_mutes,
            follow_requests=data.follow_requests, reactions=self.reactions, boosts=self.boosts, polls=data.poll_votes,
            media_deletion=self.media_deletion, exports=self.exports, reports=self.reports,
        )  # fmt: skip
        self.fan_out = FanOutService(
            posts=data.posts, timeline_writer=self.timeline_writer, account_purge=self.purging, boosts=self.boosts,
            indexing=self.search_indexer, fan_out_on_read=self.fan_out_on_read, follows=data.follows,
            members=data.members, homes=data.homes, list_timelines=data.list_timelines, accounts=self.accounts,
            live=self.live, media=self.media, lag=data.lag, meter=self.meter, clock=clock,
            posts_per_pass=config.posts_per_pass, time_slice_ms=config.time_slice_ms, notifications=self.notifications,
            edit_notifications=self.edit_notifications, trends=self.trends, popular=self.popular, polls=self.polls,
            previews=self.previews,
        )  # fmt: skip

    def _build_operators(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.rebuilds = RebuildService(
            reading=self.reading, homes=data.homes, lists=self.lists, profiles=data.author_timelines,
            public=data.public, tags=data.hashtag_timelines, posts=data.posts, indexing=self.search_indexer,
            public_cap=config.public_cap,
        )  # fmt: skip
        self.archiving = ArchivingService(store, data.archive)
        self.demo = DemoLoader(
            accounts=self.accounts, reading=self.reading, reactions=self.reactions, popular=self.popular,
            graph_import=self.graph_import, posts_import=self.posts_import, media=self.media,
            media_processing=self.media_processing, lists=self.lists,
        )  # fmt: skip
        self.audit_context = AuditContext(
            store=store, accounts=data.accounts, sessions=data.sessions, mails=data.mails, transfers=data.transfers,
            posts=data.posts, profiles=data.author_timelines, public=data.public, tags=data.hashtag_timelines,
            homes=data.homes, list_timelines=data.list_timelines, follows=data.follows, lists=data.lists,
            members=data.members, reactions=data.reactions, quotes=data.quotes, pulled=data.fan_out_on_read_authors,
            media_rows=data.media_rows, media_files=self.media_files, affected=self.affected_timelines,
            reports=data.reports, outbox=self.outbox, clock=clock, config=config,
        )  # fmt: skip
        self.audit_sampler = AuditSampler(context=self.audit_context)
        self.rebuild_after_restore = RebuildAfterRestore(context=self.audit_context, rebuilding=self.rebuilds)
