"""The table of all key families: patterns, Redis types, checks (with repairs) and caps.

A function for each group of families names the other values that their values must agree with.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from socialsite.recipes.job_queue import QUEUE_NAMES
from socialsite.service_config import ServiceConfig
from socialsite.store import Key
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
from timelines.author_feeds.hashtag_timelines import HASHTAG_CAP
from timelines.notifications.repository import NOTIFICATIONS_CAP
from timelines.notifications.thread_mutes import MUTED_THREADS_CAP
from timelines.pins.repository import PINS_CAP
from timelines.reactions.bookmarks import BOOKMARKS_CAP

QUEUES = "|".join(QUEUE_NAMES)
TYPE_CHECKED_ONLY: tuple[tuple[str, str] | tuple[str, str, tuple[str, int]], ...] = (
    (r"timelines:\{\d+\}:bookmarks", "zset", ("bookmarks", BOOKMARKS_CAP)),
    (r"timelines:\{\d+\}:pins", "zset", ("pins", PINS_CAP)),
    (r"timelines:\{\d+\}:threads", "zset", ("muted threads", MUTED_THREADS_CAP)),
    (r"timelines:\{\d+\}:(mutes|quieted|tags|voted)|series:\{(trends|popular)\}:.*", "zset"),
    (r"posts:\{\d+\}:(gone|votes)|timelines:\{pulled\}:authors|jobs:\{due\}:(polls|posts)", "zset"),
    (r"jobs:\{(mail\}:due|due\}:(digests|deletions|sanctions|appeals|held))", "zset"),
    (r"timelines:\{graph\}:ranks|series:\{b\d+\}:(pending|taken)", "zset"),
    (rf"jobs:\{{({QUEUES})\}}:waiting|posts:\{{media\}}:checks", "zset"),
    (r"accounts:\{\d+\}:(events|refusals)", "list"),
    (r"accounts:\{applications\}:applications", "zset"),
    (r"timelines:\{\d+\}:imported:\d+", "list"),
    (r"accounts:(\{\d+\}:(browsers|factors|invitations)|\{staff\}:staff)", "hash"),
    (r"accounts:\{\d+\}:(mails|sanctions)", "hash"),
    (r"accounts:\{[0-9a-f]{32}\}:signups", "string"),
    (r"accounts:\{[0-9a-f]{32}\}:network", "zset"),
    (r"accounts:\{(ids\}:accounts|site\}:(settings|announcements))|timelines:\{ids\}:lists", "string"),
    (r"posts:\{[0-9a-f]+\}:(source|preview|unpreviewed)", "string"),
    (r"limits:.*|timelines:\{(\d+\}:notified|site\}:vapid)|jobs:\{alerts\}:(backup|state)", "string"),
    (rf"jobs:\{{({QUEUES})\}}:used:\d+", "string"),
    (r"(posts|accounts):\{\d+\}:totals|posts:\{\d+\}:tally|series:\{s\d+\}:.*", "hash"),
    (rf"jobs:\{{audit\}}:drift|jobs:\{{({QUEUES})\}}:unfinished", "hash"),
    (r"series:\{b\d+\}:(buffer|batch):.*", "hash"),
    (r"timelines:\{\d+\}:(filters|notes|position|preferences|drafts|push)", "hash"),
    (r"posts:\{media\}:(usage|folder)|timelines:\{reports\}:claims", "hash"),
    (r"timelines:\{\d+\}:exclusive", "set"),
    (rf"jobs:\{{({QUEUES})\}}:(stream|dead|waiting:\d+)|jobs:\{{audit\}}:trail", "stream"),
)  # fmt: skip
"""Families of which only the type is checked: patterns, Redis types and caps."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyFamily:
    """One row of the table. `check` finds the discrepancies of some keys of the family, each with its repair.

    `cap` is a pair: the name of the entries in the output of `manage.py trim`, and the largest number of them.
    `leaves_leftovers` is True if trimming removes the leftovers that `check` finds.
    """

    pattern: re.Pattern[str]
    redis_type: str
    check: Check
    cap: tuple[str, int] | None = None
    leaves_leftovers: bool = False


class KeyFamilies:
    def __init__(self, context: AuditContext) -> None:
        config = context.config
        indexes, accounts = PostIndexChecks(context), AccountChecks(context)
        pictures, transfers = MediaChecks(context), TransferChecks(context)
        self.types = TypeChecks(context, accounts)
        self.file_checks = (pictures, transfers)
        self.add_met_posts = indexes.add_met
        self.all = (
            *_post_families(PostChecks(context, indexes), indexes),
            *_reaction_families(ReactionChecks(context)),
            *_relation_families(MirrorChecks(context)),
            *_account_families(accounts, MailAddressChecks(context)),
            *_timeline_families(indexes, config),
            *_cached_timeline_families(CachedTimelineChecks(context), config),
            *_list_families(ListChecks(context)),
            *_file_families(pictures, transfers),
            *_report_families(ReportChecks(context)),
            *(
                _family(pattern, redis_type, self.types.has_type(redis_type), *caps)
                for pattern, redis_type, *caps in TYPE_CHECKED_ONLY
            ),
        )

        patterns = (f"(?P<_{number}>{family.pattern.pattern})" for number, family in enumerate(self.all))
        self._any_pattern = re.compile("|".join(patterns))  # ten times as fast as one pattern after the other

    def group(self, keys: Iterable[Key]) -> Mapping[KeyFamily, list[Key]]:
        """Return the keys by family, without keys that are not audited."""
        groups: dict[KeyFamily, list[Key]] = {}
        for key in dict.fromkeys(keys):
            match = self._any_pattern.fullmatch(key)
            if match is not None and match.lastgroup is not None:
                groups.setdefault(self.all[int(match.lastgroup[1:])], []).append(key)
        return groups


def _family(
    pattern: str, redis_type: str, check: Check, cap: tuple[str, int] | None = None, *, leftovers: bool = False
) -> KeyFamily:
    return KeyFamily(re.compile(pattern), redis_type, check, cap, leftovers)


def _post_families(posts: PostChecks, indexes: PostIndexChecks) -> Iterator[KeyFamily]:
    """Posts agree with authors, author feeds, parents, originals and hashtags; replies and quotes with posts."""
    yield _family(r"posts:\{\d+\}:post", "string", posts.posts)
    yield _family(r"posts:\{\d+\}:versions", "list", posts.versions)
    yield _family(r"posts:\{\d+\}:replies", "zset", indexes.replies)
    yield _family(r"posts:\{\d+\}:quotes", "zset", indexes.quotes)
    yield _family(r"posts:\{a\d+\}:idempotency:[0-9a-f]+", "string", posts.idempotency)


def _reaction_families(reactions: ReactionChecks) -> Iterator[KeyFamily]:
    """Reactions agree with posts, accounts and counts."""
    yield _family(r"posts:\{\d+\}:counts", "string", reactions.counts)
    yield _family(r"posts:\{\d+\}:likes", "zset", reactions.likes)
    yield _family(r"posts:\{\d+\}:boosts", "zset", reactions.boosts)
    yield _family(r"posts:\{\d+\}:fading", "zset", reactions.boosts_to_delete)
    yield _family(r"timelines:\{\d+\}:liked", "zset", reactions.liked, leftovers=True)
    yield _family(r"timelines:\{\d+\}:boosted", "zset", reactions.boosted, leftovers=True)


def _relation_families(mirrors: MirrorChecks) -> Iterator[KeyFamily]:
    """Each side of a relation agrees with its other side."""
    yield _family(r"follows:\{p\d+\}:following:\d+", "zset", mirrors.following)
    yield _family(r"follows:\{p\d+\}:followers:\d+", "zset", mirrors.followers)
    yield _family(r"follows:\{p\d+\}:members:\d+", "zset", mirrors.members)
    yield _family(r"follows:\{p\d+\}:listed:\d+", "zset", mirrors.listed)
    yield _family(r"timelines:\{\d+\}:blocks", "zset", mirrors.blocks)
    yield _family(r"timelines:\{\d+\}:blockers", "zset", mirrors.blocked_by)
    yield _family(r"timelines:\{\d+\}:requests", "zset", mirrors.received_requests)
    yield _family(r"timelines:\{\d+\}:requested", "zset", mirrors.sent_requests)


def _account_families(accounts: AccountChecks, mail: MailAddressChecks) -> Iterator[KeyFamily]:
    """Accounts agree with handles; handles, sessions and mail addresses with accounts; sessions with their index."""
    yield _family(r"accounts:\{\d+\}:account", "hash", accounts.accounts)
    yield _family(r"accounts:\{[0-9a-f]{32}\}:handle", "string", accounts.handles)
    yield _family(r"sessions:\{\d{1,16}\}:(session|token):[0-9a-f]{64}", "string", accounts.sessions, leftovers=True)
    yield _family(r"sessions:\{\d{1,16}\}:(index|tokens)", "zset", accounts.session_indexes, leftovers=True)
    yield _family(r"accounts:\{\d+\}:mail", "hash", mail.accounts)
    yield _family(r"accounts:\{[0-9a-f]{32}\}:address", "string", mail.owners, leftovers=True)
    cap = "notifications", NOTIFICATIONS_CAP
    yield _family(r"timelines:\{\d+\}:notifications", "zset", accounts.notifications, cap)


def _timeline_families(indexes: PostIndexChecks, config: ServiceConfig) -> Iterator[KeyFamily]:
    """Timelines agree with posts."""
    profile_cap = "profile_entries", config.profile_cap
    yield _family(r"timelines:\{(\d+\}:profile|q\d+\}:profile:\d+)", "zset", indexes.profiles, profile_cap)
    yield _family(r"public:\{public\}:posts", "zset", indexes.public, ("public_entries", config.public_cap))
    yield _family(r"timelines:\{[0-9a-f]{32}\}:tag", "zset", indexes.tags, ("tag_entries", HASHTAG_CAP))


def _cached_timeline_families(cached: CachedTimelineChecks, config: ServiceConfig) -> Iterator[KeyFamily]:
    """Cached timelines agree with a rebuild from author feeds."""
    yield _family(r"timelines:\{\d+\}:home", "list", cached.homes, ("home_entries", config.home_cap))
    yield _family(r"timelines:\{l\d+\}:posts", "list", cached.list_timelines, ("list_entries", config.list_cap))


def _list_families(lists: ListChecks) -> Iterator[KeyFamily]:
    """Lists agree with their owners and the index of each owner."""
    yield _family(r"timelines:\{l\d+\}:list", "hash", lists.lists, leftovers=True)
    yield _family(r"timelines:\{\d+\}:lists", "zset", lists.indexes, leftovers=True)


def _file_families(pictures: MediaChecks, transfers: TransferChecks) -> Iterator[KeyFamily]:
    """Pictures agree with files, posts, accounts and counted bytes; transfers with files."""
    yield _family(r"posts:\{m\d+\}:media", "hash", pictures.rows, leftovers=True)
    yield _family(r"timelines:\{\d+\}:media", "hash", pictures.accounts)
    yield _family(r"timelines:\{\d+\}:transfers", "hash", transfers.transfers)


def _report_families(reports: ReportChecks) -> Iterator[KeyFamily]:
    """Reports agree with their indexes."""
    yield _family(r"timelines:\{reports\}:rows", "hash", reports.rows)
    yield _family(r"timelines:\{reports\}:posts", "hash", reports.posts, leftovers=True)
    yield _family(r"timelines:\{reports\}:(open|closed|about|by)", "zset", reports.entries)
    yield _family(r"timelines:\{reports\}:queue", "zset", reports.queue)
