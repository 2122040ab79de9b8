"""The check and the repairs of each key family. A family without a check here is checked for its Redis type.

A function for each group of families names the other values that their values must agree with.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from accounts import keys as account_keys
from socialsite.service_config import ServiceConfig
from socialsite.store import Key
from socialsite.store.key_families import FAMILIES, INSTALLATION, KeyFamily, family_of, find_family
from timelines import keys
from timelines.audit.accounts import AccountChecks
from timelines.audit.cached_timelines import CachedTimelineChecks
from timelines.audit.context import AuditContext
from timelines.audit.lists import ListChecks
from timelines.audit.mail_addresses import MailAddressChecks
from timelines.audit.mirrors import MirrorChecks
from timelines.audit.pictures import MediaChecks
from timelines.audit.post_indexes import PostIndexChecks
from timelines.audit.posts import PostChecks
from timelines.audit.reactions import ReactionChecks
from timelines.audit.reader import Check
from timelines.audit.reports import ReportChecks
from timelines.audit.transfers import TransferChecks
from timelines.audit.wrong_types import TypeChecks

UNTYPED = frozenset({"any", "none", "channel"})
CheckTable = Mapping[Callable[..., Key], Check]
"""Checks by the builders of the keys that they check."""
WITH_LEFTOVERS = (
    keys.liked_posts, keys.boosted_posts, keys.account_list, keys.list_index, keys.media, keys.reported_posts,
    account_keys.session, account_keys.access_token, account_keys.session_index, account_keys.access_token_index,
    account_keys.address_owner,
)  # fmt: skip
"""Builders of the keys whose checks find leftovers, which `manage.py trim` removes."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyCheck:
    """`check` finds the discrepancies of some keys of the family, each with its repair."""

    family: KeyFamily
    check: Check
    leaves_leftovers: bool

    def cap(self, config: ServiceConfig) -> int:
        """Return the cap of a family whose entries are trimmed."""
        cap = self.family.cap
        return cap if isinstance(cap, int) else int(getattr(config, cap.lower()))


class FamilyChecks:
    """The checks of all declared families, but not of those that belong to the servers."""

    def __init__(self, context: AuditContext) -> None:
        indexes, accounts = PostIndexChecks(context), AccountChecks(context)
        pictures, transfers = MediaChecks(context), TransferChecks(context)
        self.types = TypeChecks(context, accounts)
        self.file_checks = (pictures, transfers)
        self.add_met_posts = indexes.add_met
        checks = {
            **_post_checks(context, indexes),
            **_account_checks(context, accounts),
            **_timeline_checks(context, indexes),
            **_file_checks(pictures, transfers, ReportChecks(context)),
        }
        by_family = {family_of(build): check for build, check in checks.items()}
        with_leftovers = {family_of(build) for build in WITH_LEFTOVERS}
        self._all = {
            family: FamilyCheck(
                family, by_family.get(family) or self.types.has_type(family.redis_type), family in with_leftovers
            )
            for family in FAMILIES.values()
            if family.redis_type not in UNTYPED and family.role is not INSTALLATION
        }

    def group(self, keys: Iterable[Key]) -> Mapping[FamilyCheck, list[Key]]:
        """Return the keys by the check of their family, without keys that are not audited."""
        groups: dict[FamilyCheck, list[Key]] = {}
        for key in dict.fromkeys(keys):
            family = find_family(key)
            if family is not None and family in self._all:
                groups.setdefault(self._all[family], []).append(key)
        return groups


def _post_checks(context: AuditContext, indexes: PostIndexChecks) -> CheckTable:
    """Posts agree with authors, timelines, parents and originals; their replies, quotes and reactions with them."""
    posts, reactions = PostChecks(context, indexes), ReactionChecks(context)
    return {
        keys.post: posts.posts,
        keys.post_versions: posts.versions,
        keys.replies: indexes.replies,
        keys.quotes: indexes.quotes,
        keys.idempotency_record: posts.idempotency,
        keys.post_counts: reactions.counts,
        keys.likes: reactions.likes,
        keys.boosts: reactions.boosts,
        keys.boosts_to_delete: reactions.boosts_to_delete,
        keys.liked_posts: reactions.liked,
        keys.boosted_posts: reactions.boosted,
    }


def _account_checks(context: AuditContext, accounts: AccountChecks) -> CheckTable:
    """Accounts agree with handles, sessions and mail addresses; each side of a relation with its other side."""
    mail, mirrors = MailAddressChecks(context), MirrorChecks(context)
    return {
        account_keys.account: accounts.accounts,
        account_keys.handle_of_digest: accounts.handles,
        account_keys.session: accounts.sessions,
        account_keys.access_token: accounts.sessions,
        account_keys.session_index: accounts.session_indexes,
        account_keys.access_token_index: accounts.session_indexes,
        account_keys.mail_account: mail.accounts,
        account_keys.address_owner: mail.owners,
        keys.notifications: accounts.notifications,
        keys.following: mirrors.following,
        keys.followers: mirrors.followers,
        keys.list_members: mirrors.members,
        keys.lists_with_account: mirrors.listed,
        keys.blocks: mirrors.blocks,
        keys.blocked_by: mirrors.blocked_by,
        keys.follow_requests: mirrors.received_requests,
        keys.sent_follow_requests: mirrors.sent_requests,
    }


def _timeline_checks(context: AuditContext, indexes: PostIndexChecks) -> CheckTable:
    """Timelines agree with posts, cached timelines with a rebuild, and lists with their owners and the index."""
    cached, lists = CachedTimelineChecks(context), ListChecks(context)
    return {
        keys.author_timeline: indexes.profiles,
        keys.part_of_author_timeline: indexes.profiles,
        keys.public_timeline: indexes.public,
        keys.hashtag_timeline: indexes.tags,
        keys.home_timeline: cached.homes,
        keys.list_timeline: cached.list_timelines,
        keys.account_list: lists.lists,
        keys.list_index: lists.indexes,
    }


def _file_checks(pictures: MediaChecks, transfers: TransferChecks, reports: ReportChecks) -> CheckTable:
    """Pictures and transfers agree with files, posts and accounts; reports with their indexes."""
    indexes = (keys.open_reports, keys.closed_reports, keys.reports_about, keys.reports_by)
    return {
        keys.media: pictures.rows,
        keys.media_of_account: pictures.accounts,
        keys.transfers: transfers.transfers,
        keys.reports: reports.rows,
        keys.reported_posts: reports.posts,
        keys.report_queue: reports.queue,
        **dict.fromkeys(indexes, reports.entries),
    }
