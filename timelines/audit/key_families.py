"""The table of all key families: patterns, Redis types, checks (with repairs) and caps.

The comments in the table name the other values that the values of a family must agree with.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from socialsite.recipes.job_queue import QUEUE_NAMES
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
from timelines.pins.repository import PINS_CAP
from timelines.reactions.bookmarks import BOOKMARKS_CAP

QUEUES = "|".join(QUEUE_NAMES)
TYPE_CHECKED_ONLY: tuple[tuple[str, str] | tuple[str, str, tuple[str, int]], ...] = (
    (r"timelines:\{\d+\}:bookmarks", "zset", ("bookmarks", BOOKMARKS_CAP)),
    (r"timelines:\{\d+\}:pins", "zset", ("pins", PINS_CAP)),
    (r"timelines:\{\d+\}:(mutes|quieted|tags|voted)|series:\{trends\}:.*", "zset"),
    (r"posts:\{\d+\}:(gone|votes)|timelines:\{pulled\}:authors|jobs:\{due\}:(polls|posts)", "zset"),
    (r"jobs:\{(mail\}:due|due\}:(digests|deletions|sanctions|appeals|held))", "zset"),
    (r"timelines:\{graph\}:ranks|series:\{b\d+\}:(pending|taken)", "zset"),
    (rf"jobs:\{{({QUEUES})\}}:waiting|posts:\{{media\}}:checks", "zset"),
    (r"accounts:\{\d+\}:(events|refusals)", "list"),
    (r"accounts:\{applications\}:applications", "zset"),
    (r"timelines:\{(reports\}:reports|\d+\}:imported:\d+)", "list"),
    (r"accounts:(\{\d+\}:(browsers|factors|invitations)|\{staff\}:staff)", "hash"),
    (r"accounts:\{\d+\}:(mails|sanctions)", "hash"),
    (r"accounts:\{[0-9a-f]{32}\}:signups", "string"),
    (r"accounts:\{(ids\}:accounts|site\}:(settings|announcements))|timelines:\{ids\}:lists", "string"),
    (r"posts:\{[0-9a-f]+\}:(source|preview|unpreviewed)", "string"),
    (r"limits:.*|timelines:\{(\d+\}:notified|site\}:vapid)|jobs:\{alerts\}:(backup|state)", "string"),
    (r"(posts|accounts):\{\d+\}:totals|posts:\{\d+\}:tally|series:\{s\d+\}:.*", "hash"),
    (rf"jobs:\{{audit\}}:drift|jobs:\{{({QUEUES})\}}:unfinished", "hash"),
    (r"series:\{b\d+\}:(buffer|batch):.*", "hash"),
    (r"timelines:\{\d+\}:(filters|position|preferences|drafts|push)", "hash"),
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
        indexes, reactions = PostIndexChecks(context), ReactionChecks(context)
        posts, mirrors = PostChecks(context, indexes), MirrorChecks(context)
        accounts, lists, cached = AccountChecks(context), ListChecks(context), CachedTimelineChecks(context)
        self.types = TypeChecks(context, accounts)
        pictures, transfers = MediaChecks(context), TransferChecks(context)
        self.file_checks = (pictures, transfers)
        reports, mail_addresses = ReportChecks(context), MailAddressChecks(context)
        self.add_met_posts = indexes.add_met

        def family(
            pattern: str, redis_type: str, check: Check, cap: tuple[str, int] | None = None, *, leftovers: bool = False
        ) -> KeyFamily:
            return KeyFamily(re.compile(pattern), redis_type, check, cap, leftovers)

        self.all = (
            # posts: authors, author feeds, parents, originals, tags; their sets: posts, accounts, counts
            family(r"posts:\{\d+\}:post", "string", posts.posts),
            family(r"posts:\{\d+\}:versions", "list", posts.versions),
            family(r"posts:\{\d+\}:replies", "zset", indexes.replies),
            family(r"posts:\{\d+\}:quotes", "zset", indexes.quotes),
            family(r"posts:\{a\d+\}:idempotency:[0-9a-f]+", "string", posts.idempotency),
            family(r"posts:\{\d+\}:counts", "string", reactions.counts),
            family(r"posts:\{\d+\}:likes", "zset", reactions.likes),
            family(r"posts:\{\d+\}:boosts", "zset", reactions.boosts),
            family(r"posts:\{\d+\}:fading", "zset", reactions.boosts_to_delete),
            family(r"timelines:\{\d+\}:liked", "zset", reactions.liked, leftovers=True),
            family(r"timelines:\{\d+\}:boosted", "zset", reactions.boosted, leftovers=True),
            family(
                r"timelines:\{\d+\}:notifications", "zset", accounts.notifications,
                ("notifications", NOTIFICATIONS_CAP),
            ),
            # relations: the other side
            family(r"follows:\{p\d+\}:following:\d+", "zset", mirrors.following),
            family(r"follows:\{p\d+\}:followers:\d+", "zset", mirrors.followers),
            family(r"follows:\{p\d+\}:members:\d+", "zset", mirrors.members),
            family(r"follows:\{p\d+\}:listed:\d+", "zset", mirrors.listed),
            family(r"timelines:\{\d+\}:blocks", "zset", mirrors.blocks),
            family(r"timelines:\{\d+\}:blockers", "zset", mirrors.blocked_by),
            family(r"timelines:\{\d+\}:requests", "zset", mirrors.received_requests),
            family(r"timelines:\{\d+\}:requested", "zset", mirrors.sent_requests),
            # accounts: handles; handles and sessions: accounts; sessions: the index, and the other way round
            family(r"accounts:\{\d+\}:account", "hash", accounts.accounts),
            family(r"accounts:\{[0-9a-f]{32}\}:handle", "string", accounts.handles),
            family(r"sessions:\{\d{1,16}\}:(session|token):[0-9a-f]{64}", "string", accounts.sessions, leftovers=True),
            family(r"sessions:\{\d{1,16}\}:(index|tokens)", "zset", accounts.session_indexes, leftovers=True),
            # timelines: posts; cached timelines: a rebuild from author feeds
            family(
                r"timelines:\{(\d+\}:profile|q\d+\}:profile:\d+)", "zset", indexes.profiles,
                ("profile_entries", config.profile_cap),
            ),
            family(r"public:\{public\}:posts", "zset", indexes.public, ("public_entries", config.public_cap)),
            family(r"timelines:\{[0-9a-f]{32}\}:tag", "zset", indexes.tags, ("tag_entries", HASHTAG_CAP)),
            family(r"timelines:\{\d+\}:home", "list", cached.homes, ("home_entries", config.home_cap)),
            family(r"timelines:\{l\d+\}:posts", "list", cached.list_timelines, ("list_entries", config.list_cap)),
            # lists: owners, and the index of each owner
            family(r"timelines:\{l\d+\}:list", "hash", lists.lists, leftovers=True),
            family(r"timelines:\{\d+\}:lists", "zset", lists.indexes, leftovers=True),
            # pictures: files, posts, accounts, counted bytes
            family(r"posts:\{m\d+\}:media", "hash", pictures.rows, leftovers=True),
            family(r"timelines:\{\d+\}:media", "hash", pictures.accounts),
            # transfers: files; mail addresses: the index, and the other way round
            family(r"timelines:\{\d+\}:transfers", "hash", transfers.transfers),
            family(r"accounts:\{\d+\}:mail", "hash", mail_addresses.accounts),
            family(r"accounts:\{[0-9a-f]{32}\}:address", "string", mail_addresses.owners, leftovers=True),
            # reports: their indexes, and the other way round
            family(r"timelines:\{reports\}:rows", "hash", reports.rows),
            family(r"timelines:\{reports\}:posts", "hash", reports.posts, leftovers=True),
            family(r"timelines:\{reports\}:(open|closed|about|by)", "zset", reports.entries),
            family(r"timelines:\{reports\}:queue", "zset", reports.queue),
            *(
                family(pattern, redis_type, self.types.has_type(redis_type), *caps)
                for pattern, redis_type, *caps in TYPE_CHECKED_ONLY
            ),
        )  # fmt: skip

    def group(self, keys: Iterable[Key]) -> Mapping[KeyFamily, list[Key]]:
        """Return the keys by family, without keys that are not audited."""
        groups: dict[KeyFamily, list[Key]] = {}
        for key in dict.fromkeys(keys):
            family = next((family for family in self.all if family.pattern.fullmatch(key)), None)
            if family is not None:
                groups.setdefault(family, []).append(key)
        return groups
