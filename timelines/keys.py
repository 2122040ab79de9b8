"""The keys of posts, timelines, follows, lists, reports and search, with their declarations."""

from collections.abc import Callable

from socialsite.store.key import Key, cached_key
from socialsite.store.key_families import (
    CACHE,
    DERIVED,
    INSTALLATION,
    TEMPORARY,
    BackupPass,
    family_of,
    key_by_id,
    key_by_word,
    key_family,
    single_key,
)
from socialsite.store.pair_partitions import partition_of_pair

BOOKMARKS_CAP = 10_000
HASHTAG_CAP = 1000
LEFT_LISTS_CAP = 1_000
MUTED_THREADS_CAP = 200
NOTIFICATIONS_CAP = 1_000
PINS_CAP = 5
PUBLIC_LISTS_CAP = 1_000

# fmt: off
# Posts.

post = cached_key(key_by_id("posts:{<post>}:post", "string",
    "the post (MessagePack, with a schema version); `pending` while its id is reserved; a tombstone `deleted:<author>`"
    " (of a reply with `:<parent>`, of a boost with `::<original>`, for followers in five parts that end with `:f`) or"
    " `superseded`; the author's id alone if the body is archived. The first byte tells a post from all these, and an"
    " edited post (0xDC) from one that was never edited", cap="POST_MAX_LENGTH",
    lifetime="none; `pending` 1 h (imports 24 h)", backup_pass=BackupPass.BODIES, grows=True))
post_versions = key_by_id("posts:{<post>}:versions", "list", "the former values of an edited post, the oldest first",
    cap="VERSIONS_CAP", deleted_with_post=True, backup_pass=BackupPass.BODIES, grows=True)
replies = cached_key(key_by_id("posts:{<post>}:replies", "zset",
    "ids of direct replies. Publish and the worker add them, delete removes them", cap="none", grows=True))
deleted_replies = cached_key(key_by_id("posts:{<post>}:gone", "zset",
    "ids of deleted replies that have replies, so that threads continue there. A deletion adds to it, and so does the"
    " publication of a reply whose parent is deleted meanwhile", plain_name="deleted replies", cap="none", grows=True))
likes = key_by_id("posts:{<post>}:likes", "zset", "ids of accounts that like the post, by ms",
    mirror="timelines:{<account>}:liked", cap="none", deleted_with_post=True, grows=True)
boosts = key_by_id("posts:{<post>}:boosts", "zset", "ids of accounts that boost the post, by the id of the boost",
    mirror="timelines:{<account>}:boosted", cap="none", lifetime="none; becomes `fading` when the post is deleted",
    grows=True)
boosts_to_delete = key_by_id("posts:{<post>}:fading", "zset",
    "`boosts` of a deleted post. A member stays until its boost is deleted", plain_name="boosts to delete", cap="none",
    lifetime="none; until the worker is done", grows=True)
post_counts = cached_key(key_by_id("posts:{<post>}:counts", "string",
    "sizes of replies, boosts and likes, `12 0 3`; absent if all are 0", role=DERIVED, grows=True))
poll_votes = key_by_id("posts:{<post>}:votes", "zset",
    "ids of accounts that voted in the poll of the post -> their choices, one bit for each option",
    mirror="timelines:{<account>}:voted", cap="none", lifetime="none; until an edit changes the options",
    deleted_with_post=True, grows=True)
poll_tally = key_by_id("posts:{<post>}:tally", "hash", "option -> votes, and `voters` -> voters; written with `votes`",
    role=DERIVED, cap="options of a poll", lifetime="none; deleted with `votes`", deleted_with_post=True, grows=True)
quotes = key_by_id("posts:{<post>}:quotes", "zset",
    "ids of posts that quote the post, by id; the score is negative if the author revoked the quote", cap="QUOTES_CAP",
    deleted_with_post=True, grows=True)
preview = key_by_word("posts:{<hex>}:preview", "string",
    "the preview of the link with this digest (MessagePack), or that there is none", role=CACHE, in_backups=True,
    grows=True,
    lifetime="PREVIEW_TTL_MS, and fetched again when an old post is read; 1 h after a failure, a day for an old post")
hidden_preview = key_by_id("posts:{<post>}:unpreviewed", "string",
    "digest of the link whose preview the author removed", deleted_with_post=True, grows=True)
post_totals = key_by_id("posts:{<post>}:totals", "hash",
    "views of the post, clicks on its links, and the last batch that was added", role=DERIVED, cap="fields",
    deleted_with_post=True, grows=True)
idempotency_record: Callable[[int, str], Key] = key_family("posts:{a<account>}:idempotency:<hex>", "string",
    "post id, digest of the request and default audience of a reply, under the digest of the client's key. The first"
    " request of a form claims it", role=DERIVED, lifetime="25 h", grows=True)
import_source = key_by_word("posts:{<hex>}:source", "string",
    "the post that an imported row became; negative while the import runs", grows=True)

# Pictures. The files are in the storage (timelines/media/storage.py).

media = cached_key(key_by_id("posts:{m<post>}:media", "hash",
    "a picture (its id is one of posts): owner, kind, secret, state, size_bytes, post, alt, focus, sizes, blurhash,"
    " extension, unused_ms (since when no version of its post has it). The files are in MEDIA_ROOT or S3",
    lifetime="none; until its files are deleted", backup_pass=BackupPass.ACCOUNTS))
media_of_account = key_by_id("timelines:{<account>}:media", "hash",
    "id of a picture -> bytes; their sum in `total`, the number of changes in `changes`", cap="MEDIA_PER_ACCOUNT",
    purged_apart=True)
media_total = single_key("posts:{media}:usage", "hash",
    "account -> its bytes of pictures and the number of changes; `total`: the bytes of the site", role=DERIVED,
    cap="accounts")
media_checks = single_key("posts:{media}:checks", "zset",
    "`<id>-<secret>` of pictures, by the ms at which a worker deletes them if nothing uses them. An upload adds its"
    " picture, the deletion of a post adds the pictures of the post", cap="none", lifetime="none; until the check")
media_folder = single_key("posts:{media}:folder", "hash",
    "id of the folder with the files; bytes, files and ms of its last measurement", role=DERIVED)

# Relations of an account to posts and to other accounts, all under the account's tag.

liked_posts = key_by_id("timelines:{<account>}:liked", "zset",
    "ids of posts that the account likes, by ms; repaired by repetition", mirror="posts:{<post>}:likes", cap="none",
    grows=True)
boosted_posts = key_by_id("timelines:{<account>}:boosted", "zset", "ids of posts that the account boosts, by ms",
    mirror="posts:{<post>}:boosts", cap="none", grows=True)
voted_polls = key_by_id("timelines:{<account>}:voted", "zset", "ids of posts in whose polls the account voted, by ms",
    mirror="posts:{<post>}:votes", cap="none")
bookmarks = key_by_id("timelines:{<account>}:bookmarks", "zset",
    "ids of posts that the account has bookmarked, by ms; the newest stay", cap=BOOKMARKS_CAP, trimmed_as="bookmarks",
    grows=True)
pins = key_by_id("timelines:{<account>}:pins", "zset", "ids of own posts that the profile shows first, by ms",
    cap=PINS_CAP, trimmed_as="pins")
blocks = key_by_id("timelines:{<account>}:blocks", "zset", "ids of accounts that the account blocks, by ms",
    mirror="timelines:{<account>}:blockers", cap="BLOCKS_CAP")
blocked_by = key_by_id("timelines:{<account>}:blockers", "zset",
    "ids of accounts that block this one, by ms; repaired by repetition", mirror="timelines:{<account>}:blocks",
    cap="none")
mutes = key_by_id("timelines:{<account>}:mutes", "zset",
    "ids of muted accounts, by the ms at which the mute ends; expired ones are removed by the next mute",
    cap="MUTES_CAP")
follow_requests = key_by_id("timelines:{<account>}:requests", "zset",
    "ids of accounts that request to follow this private one, by ms", mirror="timelines:{<account>}:requested",
    cap="none")
sent_follow_requests = key_by_id("timelines:{<account>}:requested", "zset",
    "ids of private accounts that this one requests to follow, by ms", mirror="timelines:{<account>}:requests",
    cap="OPEN_REQUESTS_CAP")
account_notes = key_by_id("timelines:{<account>}:notes", "hash", "private notes about accounts, by their ids",
    cap="NOTES_CAP")
boosts_hidden = key_by_id("timelines:{<account>}:quieted", "zset", "ids of accounts whose boosts are hidden, by ms",
    plain_name="boosts hidden", cap="HIDDEN_BOOSTS_CAP")
exclusive_lists = key_by_id("timelines:{<account>}:exclusive", "set",
    "ids of the account's exclusive lists (their members leave home)", cap="LISTS_PER_ACCOUNT")
left_lists = key_by_id("timelines:{<account>}:left", "zset",
    "ids of lists of others that the account left, by ms: nobody adds it again; the newest stay",
    plain_name="left lists", cap=LEFT_LISTS_CAP)
keyword_filters = key_by_id("timelines:{<account>}:filters", "hash", "keyword filters (MessagePack), by their number",
    cap="FILTERS_CAP")
muted_threads = key_by_id("timelines:{<account>}:threads", "zset",
    "ids of the first posts of muted threads, by ms; the newest stay", cap=MUTED_THREADS_CAP,
    trimmed_as="muted threads")
notifications = cached_key(key_by_id("timelines:{<account>}:notifications", "zset",
    "`<kind>:<account>:<post or 0>`, by the id of the notification; the newest stay. The worker (mentions, replies,"
    " boosts), like and follow add to it", cap=NOTIFICATIONS_CAP, trimmed_as="notifications", grows=True))
last_read_notification = cached_key(key_by_id("timelines:{<account>}:notified", "string",
    "the id up to which notifications are read"))
preferences = cached_key(key_by_id("timelines:{<account>}:preferences", "hash",
    "scroll -> `on` or `off` (older posts load by themselves); push_text -> `full` if push messages say who did what;"
    " kind of notification -> `all`, `followed` (actions of followed accounts only), `none`", cap="kinds"))
push_subscriptions = key_by_id("timelines:{<account>}:push", "hash",
    "id of a session or access token -> where and how it receives notifications (MessagePack)",
    cap="SUBSCRIPTIONS_CAP and a few more", lifetime="none; with its session")
vapid_key = single_key("timelines:{site}:vapid", "string",
    "the private key by which push services recognize the site; never changed")
markers = cached_key(key_by_id("timelines:{<account>}:position", "hash",
    "name of a timeline (`home`, `public`, `tags`, `list:<id>`) -> id of the newest post read there",
    plain_name="markers", cap="MARKERS_CAP"))
drafts = key_by_id("timelines:{<account>}:drafts", "hash", "drafts and scheduled posts (MessagePack), by their ids",
    cap="DRAFTS_CAP")
transfers = key_by_id("timelines:{<account>}:transfers", "hash",
    "exports and imports of the account (MessagePack), by their ids. Their files are in MEDIA_ROOT or S3",
    cap="TRANSFERS_CAP", lifetime="none; deleted when they are over")
imported_posts: Callable[[int, int], Key] = key_family("timelines:{<account>}:imported:<id>", "list",
    "the sources and posts of an import, in packed pages, so that it can be undone", cap="posts of the import",
    lifetime="ARCHIVE_KEEP_DAYS")
followed_hashtags = key_by_id("timelines:{<account>}:tags", "zset", "hashtags that the account follows, by ms",
    cap="FOLLOWED_HASHTAGS_CAP")

# Reports, all with one tag. One script (timelines/reports/write_report.lua) writes all.

reports = single_key("timelines:{reports}:rows", "hash", "reports of accounts and posts (MessagePack), by their ids",
    cap="REPORTS_CAP", lifetime="none; REPORT_KEPT_DAYS after the report was closed")
reported_posts = single_key("timelines:{reports}:posts", "hash",
    "the reported posts as they were (MessagePack), by the id of the report", cap="REPORTS_CAP",
    lifetime="none; deleted with the report")
report_queue = single_key("timelines:{reports}:queue", "zset",
    "ids of accounts with open reports, by the id of the oldest of them", cap="REPORTS_CAP")
report_claims = single_key("timelines:{reports}:claims", "hash",
    "`<staff>:<end in ms>:<reason>` of the claims of staff, by the reported account", cap="REPORTS_CAP",
    lifetime="none; deleted with the last open report")
open_reports = single_key("timelines:{reports}:open", "zset", "`<reported account>:<category>:<id>` of open reports",
    cap="REPORTS_CAP")
closed_reports = single_key("timelines:{reports}:closed", "zset",
    "ids of closed reports, by the ms at which they were closed", cap="REPORTS_CAP")
reports_about = single_key("timelines:{reports}:about", "zset", "`<reported account>:<id>` of reports",
    cap="REPORTS_CAP")
reports_by = single_key("timelines:{reports}:by", "zset", "`<reporter>:<id>` of reports whose reporter exists",
    cap="REPORTS_CAP")

# Timelines. Author timelines are sources, homes and list timelines are caches.

home_timeline = cached_key(key_by_id("timelines:{<account>}:home", "list",
    "post ids, newest first, then the floor (0 or a negative id), or `building:<token>`; with some slack above the cap",
    role=CACHE, cap="HOME_CAP", trimmed_as="home_entries", lifetime="HOME_TTL_DAYS unread"))
list_timeline = key_by_id("timelines:{l<list>}:posts", "list", "as a home, of the list's members", role=CACHE,
    cap="LIST_CAP", trimmed_as="list_entries", lifetime="HOME_TTL_DAYS unread")
HOME_TIMELINE_KEY_PATTERN, LIST_TIMELINE_KEY_PATTERN = (
    family_of(build).template.encode() for build in (home_timeline, list_timeline))
author_timeline = cached_key(key_by_id("timelines:{<account>}:profile", "zset",
    "ids of the account's posts. Publish and the worker add to it", plain_name="author timeline", cap="PROFILE_CAP",
    trimmed_as="profile_entries", purged_apart=True, grows=True))
part_of_author_timeline: Callable[[int, int], Key] = key_family("timelines:{q<part>}:profile:<account>", "zset",
    "one part of the ids of the account's posts. `<part>` is the account's id times PROFILE_PARTITIONS plus the number"
    " of the part, so each part has a tag and a node of its own", plain_name="part of an author timeline",
    cap="PROFILE_CAP", trimmed_as="profile_entries", grows=True, condition="PROFILE_PARTITIONS is above 1")
author_timeline_partitions = single_key("timelines:{map}:partitions", "string",
    "number of parts of an author timeline, fixed at the first start", role=INSTALLATION)
hashtag_timeline = key_by_word("timelines:{<hex>}:tag", "zset",
    "ids of posts with the hashtag of this digest; `rebuild_timelines --tags` rebuilds it", role=CACHE, cap=HASHTAG_CAP,
    trimmed_as="tag_entries", grows=True)
fan_out_on_read_authors = single_key("timelines:{pulled}:authors", "zset",
    "ids of authors whose posts are merged on read, by the ms of their entry",
    plain_name="authors with fan-out on read", cap="FAN_OUT_ON_READ_CAP")
public_timeline = single_key("public:{public}:posts", "zset",
    "ids of all public posts; `rebuild_timelines --all` rebuilds it", role=CACHE, cap="PUBLIC_CAP",
    trimmed_as="public_entries")

# Follows, lists and their members. Both sides of a pair of ids are in one partition, and change in one script.

follow_partitions = single_key("follows:{map}:partitions", "string",
    "number of follow partitions, fixed at the first start", role=INSTALLATION)
EdgeKey = Callable[[str, int], Key]
following: EdgeKey = cached_key(key_family("follows:{<partition>}:following:<account>", "zset",
    "ids that the account follows, by ms", mirror="follows:{<partition>}:followers:<account>",
    cap="FOLLOWING_CAP over all partitions"))
followers: EdgeKey = key_family("follows:{<partition>}:followers:<account>", "zset",
    "ids of its followers, by ms; read in pages", mirror="follows:{<partition>}:following:<account>", cap="none")
list_members: EdgeKey = key_family("follows:{<partition>}:members:<list>", "zset", "ids of accounts on the list, by ms",
    mirror="follows:{<partition>}:listed:<account>", cap="LIST_MEMBERS_CAP over all partitions")
lists_with_account: EdgeKey = key_family("follows:{<partition>}:listed:<account>", "zset",
    "ids of lists with the account as a member, by ms", mirror="follows:{<partition>}:members:<list>", cap="none")
account_list = key_by_id("timelines:{l<list>}:list", "hash",
    "owner, title, created_ms, replies (which it shows), of a virtual list operation and parts (ids of lists), of a"
    " public list public_ms and description; during deletion `deleted` and owner only", lifetime="none; deleted 24 h",
    backup_pass=BackupPass.BODIES)
list_index = key_by_id("timelines:{<account>}:lists", "zset", "ids of the account's own lists", cap="LISTS_PER_ACCOUNT",
    purged_apart=True)
public_lists = single_key("timelines:{lists}:public", "zset",
    "ids of public lists, by the ms since when they are public; the newest stay", role=DERIVED, cap=PUBLIC_LISTS_CAP)
list_id_counter = single_key("timelines:{ids}:lists", "string", "the last list id given out",
    backup_pass=BackupPass.BODIES)
imported_graph_ranks = single_key("timelines:{graph}:ranks", "zset",
    "ids of imported accounts, by followers in the imported graph", role=DERIVED, cap="GRAPH_RANKS_CAP")

# Popular posts, which the worker ranks. The counts are in recipes/distinct_ranking.py.

popular_posts = key_by_word("series:{popular}:posts:<language>", "zset",
    "popular posts in a language, of `none` or `all`, by weight; the worker writes it ([popular"
    " posts](decisions/popular-posts.md))", role=CACHE, in_backups=True, cap="RANKING_CAP", lifetime="48 h")
popular_languages = single_key("series:{popular}:languages", "zset",
    "languages with such a ranking, by their number of posts", role=DERIVED, cap="languages", lifetime="48 h")

# Search. `rebuild_timelines --search` rebuilds the caches; a partition is a number below SEARCH_PARTITIONS.

search_term: Callable[[int, str], Key] = key_family("search:{s<p>}:term:<hex>", "string",
    "7-byte ids of posts with the term of this digest, ascending, after a floor (0, or the newest id that was dropped)",
    role=CACHE, cap="TERM_CAP and a quarter", grows=True)
search_rare_terms: Callable[[int, int], Key] = cached_key(key_family("search:{s<p>}:rare:<n>", "hash",
    "digest of a rare term (6 bytes) -> the same without a floor; n from 0 to RARE_TERM_HASHES - 1", role=CACHE,
    cap="RARE_TERM_CAP posts a term", grows=True))
search_name_prefixes = key_by_id("search:{s<p>}:names", "zset",
    "beginnings of names and handles (with `@`), each with an account id after a NUL. Sign-up, profile edits,"
    " moderation and deletion write it and `named` in one script", role=CACHE,
    cap="NAME_PREFIXES_CAP and one an account")
search_prefixes_of_account = key_by_id("search:{s<p>}:named", "hash", "account id -> its members of `names`",
    plain_name="name prefixes of an account", role=CACHE, cap="one an account")
search_hashtags = key_by_id("search:{s<p>}:tags", "zset",
    "used hashtags; one with accents after its form without accents and a NUL", role=CACHE,
    cap="HASHTAGS_PER_PARTITION_CAP a partition", grows=True)
search_pending = single_key("jobs:{search}:owed", "zset",
    "ids of posts that are not indexed yet, because the servers were unavailable",
    plain_name="pending posts of the search", role=TEMPORARY, cap="PENDING_CAP",
    lifetime="none; until they are indexed")

# Work that is due.

poll_ends = single_key("jobs:{due}:polls", "zset", "ids of posts with a poll -> ms at which the poll ends", cap="none",
    lifetime="none; until the voters are notified")
due_posts = single_key("jobs:{due}:posts", "zset",
    "`<account>:<draft>` of scheduled posts -> ms at which they are published", cap="DRAFTS_CAP an account",
    lifetime="none; until they are published")
held_posts = single_key("jobs:{due}:held", "zset",
    "`<account>:<draft>` of posts that wait for a look by staff -> ms since when", cap="DRAFTS_CAP an account",
    lifetime="none; until the decision")
notifications_pending = single_key("jobs:{notices}:owed", "zset",
    "pending notifications of follows, requests and likes as `<reader>:<kind>:<account>:<post or 0>`, by ms",
    plain_name="pending notifications", role=TEMPORARY, cap="PENDING_CAP", lifetime="none; until they are written")

# Operators.

delivery_lag = single_key("live:{lag}:hours", "zset",
    "largest delivery lag in ms of each hour of the last day, if above 60 s", role=TEMPORARY, cap=25, lifetime="25 h")
repair_log = single_key("jobs:{audit}:drift", "hash",
    "kind of discrepancy -> how much the last whole audit left and the background audit found since",
    plain_name="repair log", role=DERIVED, cap="kinds")
# fmt: on


def author_timeline_part(account_id: int, number: int, count: int) -> Key:
    return part_of_author_timeline(account_id * count + number, account_id)


class AuthorTimelineKeys:
    """The keys of an author timeline: one key, or one key per part (Redis in Action, listing 10.13)."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def of_post(self, account_id: int, post_id: int) -> Key:
        if self._partitions == 1:
            return author_timeline(account_id)
        number = partition_of_pair(account_id, post_id, self._partitions)
        return author_timeline_part(account_id, number, self._partitions)

    def timeline_keys(self, account_id: int) -> list[Key]:
        if self._partitions == 1:
            return [author_timeline(account_id)]
        return [author_timeline_part(account_id, number, self._partitions) for number in range(self._partitions)]


def author_timeline_owner(key: Key) -> int:
    """Return the account id in the key of an author timeline, or of a part of one."""
    return int(key.rpartition(":")[2] if key.tag.startswith("q") else key.tag)
