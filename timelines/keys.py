"""The keys of posts, timelines, follows and lists (docs/reference/keys.md has the table)."""

from functools import partial

from socialsite.store.key import Key, cached_key, key_by_digest, key_by_id, single_key
from socialsite.store.pair_partitions import partition_of_pair

_of_post = partial(key_by_id, "posts", "%d")
_of_account = partial(key_by_id, "timelines", "%d")

# Posts: sources of truth.

post = cached_key(_of_post("post"))
"""STRING: a MessagePack Post, "pending" (for 1 h), or the tombstone "deleted:<author>" or "superseded"."""
post_versions = _of_post("versions")
"""LIST of the former values of an edited post, oldest first. At most VERSIONS_CAP. Deleted with the post."""
replies = cached_key(_of_post("replies"))
"""ZSET of reply ids (score = member). Publish and the worker add to it; delete removes from it."""
deleted_replies = cached_key(_of_post("gone"))
"""ZSET of ids of deleted replies that have replies themselves (score = member), so that threads continue there.

A deletion adds to it, and so does the publication of a reply whose parent is deleted meanwhile.
"""
likes = _of_post("likes")
"""ZSET: id of an account that likes the post -> ms. Deleted with the post."""
boosts = _of_post("boosts")
"""ZSET: id of an account that boosts the post -> id of its boost. Renamed to `fading` when the post is deleted."""
boosts_to_delete = _of_post("fading")
"""ZSET: the members that `boosts` had when the post was deleted. A member stays until its boost is deleted."""
post_counts = cached_key(_of_post("counts"))
"""STRING "<replies> <boosts> <likes>": the sizes of the three sets, written with them.

If it is absent, all are 0.
"""
poll_votes = _of_post("votes")
"""ZSET: id of an account -> its choices, one bit for each option. Deleted with the post."""
poll_tally = _of_post("tally")
"""HASH: number of an option -> votes; `voters` -> voters. Written with `votes`, deleted with the post."""
quotes = _of_post("quotes")
"""ZSET: id of a post that quotes this post -> the same id, negative if the author of this post revoked the quote.

At most QUOTES_CAP members. Publish adds to it, deletion of the quote removes from it. Deleted with the post.
"""
preview = key_by_digest("posts", "preview")
"""STRING: a MessagePack LinkPreview of the link with this digest. TTL: 30 days, or 1 h after a failure."""
hidden_preview = _of_post("unpreviewed")
"""STRING: digest of the link whose preview the author removed from the post. Deleted with the post."""


def idempotency_record(account_id: int, digest: str) -> Key:
    """STRING "<post id>:<digest of the request>", expires after 25 h. The first request of a form claims it."""
    return Key("posts", tag=f"a{account_id}", name=f"idempotency:{digest}")


# Pictures: sources of truth. The files are in the storage (timelines/media/storage.py).

media = cached_key(key_by_id("posts", "m%d", "media"))
"""HASH: the row of a picture (timelines/media/media.py), from its upload until its files are deleted."""
media_of_account = _of_account("media")
"""HASH: id of a picture -> its bytes; `total` is their sum, `changes` counts the changes.

At most MEDIA_PER_ACCOUNT pictures.
"""
media_total = single_key("posts", "media", "usage")
"""HASH: account id -> "<total> <changes>" of `media_of_account`; the field `total` is the sum of all."""
media_checks = single_key("posts", "media", "checks")
"""ZSET: name of a picture -> ms when a worker checks whether the picture is used; unused pictures are deleted.

An upload adds its picture, the deletion of a post adds the pictures of the post. The check removes them.
"""
media_folder = single_key("posts", "media", "folder")
"""HASH: `id` of the folder with the files, and what workers measured there: `bytes`, `files`, `ms`."""


# Relations of an account to posts and to other accounts: sources of truth, all under the account's tag.

liked_posts = _of_account("liked")
"""ZSET: id of a post that the account likes -> ms, the other side of `likes`."""
boosted_posts = _of_account("boosted")
"""ZSET: id of a post that the account boosts -> ms, the other side of `boosts`."""
voted_polls = _of_account("voted")
"""ZSET: id of a post in whose poll the account voted -> ms, the other side of `votes`."""
bookmarks = _of_account("bookmarks")
"""ZSET: id of a bookmarked post -> ms. The newest BOOKMARKS_CAP bookmarks are kept."""
pins = _of_account("pins")
"""ZSET: id of an own post that the profile shows first -> ms. At most PINS_CAP members."""
blocks = _of_account("blocks")
"""ZSET: id of a blocked account -> ms."""
blocked_by = _of_account("blockers")
"""ZSET: id of an account that blocks this one -> ms, the other side of `blocks`."""
mutes = _of_account("mutes")
"""ZSET: id of a muted account -> end of the mute in ms."""
follow_requests = _of_account("requests")
"""ZSET: id of an account that requests to follow this private account -> ms. It has no cap and is read in pages."""
sent_follow_requests = _of_account("requested")
"""ZSET: id of a private account that this account requests to follow -> ms, the other side of `requests`."""
account_notes = _of_account("notes")
"""HASH: id of an account -> the private note about it. At most NOTES_CAP fields."""
boosts_hidden = _of_account("quieted")
"""ZSET: id of an account whose boosts are hidden -> ms."""
exclusive_lists = _of_account("exclusive")
"""SET of the account's exclusive lists, whose members do not appear in its home."""
keyword_filters = _of_account("filters")
"""HASH: number of a keyword filter -> MessagePack KeywordFilter. At most FILTERS_CAP fields."""
muted_threads = _of_account("threads")
"""ZSET: id of the first post of a thread without notifications -> ms. The newest MUTED_THREADS_CAP are kept."""
notifications = cached_key(_of_account("notifications"))
"""ZSET "<kind>:<account>:<post or 0>" -> id of the notification. The newest NOTIFICATIONS_CAP are kept.

The worker (mentions, replies, boosts), like and follow add to it.
"""
last_read_notification = cached_key(_of_account("notified"))
"""STRING: id of the newest notification that the account has read. All older notifications are read, too."""
preferences = cached_key(_of_account("preferences"))
"""HASH: kind of notification -> "all", "followed" (actions of followed accounts only) or "none".

The field `scroll` is "on" or "off": whether pages load older posts by themselves. The field `push_text` is "full"
if push messages say who did what.
"""
push_subscriptions = _of_account("push")
"""HASH: id of a session or access token -> MessagePack PushSubscription. At most about SUBSCRIPTIONS_CAP fields."""
vapid_key = single_key("timelines", "site", "vapid")
"""STRING: the private key in base64 by which push services recognize the site. Written once, never changed."""
markers = cached_key(_of_account("position"))
"""HASH: name of a timeline -> id of the newest post that was read there. At most MARKERS_CAP fields."""
drafts = _of_account("drafts")
"""HASH: id of a draft or scheduled post -> MessagePack Draft. At most DRAFTS_CAP fields."""
transfers = _of_account("transfers")
"""HASH: id of an export or import of the account -> MessagePack Transfer. At most TRANSFERS_CAP fields."""


def imported_posts(account_id: int, transfer_id: int) -> Key:
    """LIST of the sources and posts of an import, packed in pages. It expires when the import cannot be undone."""
    return Key("timelines", tag=str(account_id), name=f"imported:{transfer_id}")


followed_hashtags = _of_account("tags")
"""ZSET: hashtag that the account follows -> ms. At most FOLLOWED_HASHTAGS_CAP members."""


# Reports: sources of truth, all with one tag. One script (timelines/reports/write_report.lua) writes all.

reports = single_key("timelines", "reports", "rows")
"""HASH: id of a report -> MessagePack Report. At most REPORTS_CAP fields."""
reported_posts = single_key("timelines", "reports", "posts")
"""HASH: id of a report -> MessagePack Posts as they were when they were reported. Deleted with the report."""
report_queue = single_key("timelines", "reports", "queue")
"""ZSET: id of an account with open reports -> id of the oldest of them."""
report_claims = single_key("timelines", "reports", "claims")
"""HASH: id of an account in `report_queue` -> "<staff>:<end in ms>:<reason>" of the claim on its reports."""
open_reports = single_key("timelines", "reports", "open")
"""ZSET, by text: "<reported account>:<category>:<id>" of each open report."""
closed_reports = single_key("timelines", "reports", "closed")
"""ZSET: id of a closed report -> ms at which it was closed. It is deleted REPORT_KEPT_DAYS later."""
reports_about = single_key("timelines", "reports", "about")
"""ZSET, by text: "<reported account>:<id>" of each report."""
reports_by = single_key("timelines", "reports", "by")
"""ZSET, by text: "<reporter>:<id>" of each report whose reporter exists."""


# Timelines: profiles are sources, homes and list timelines are caches.

HOME_TIMELINE_KEY_PATTERN = b"timelines:{%d}:home"
LIST_TIMELINE_KEY_PATTERN = b"timelines:{l%d}:posts"


home_timeline = cached_key(_of_account("home"))
"""LIST of post ids, newest first; the last element is the floor (-id).

At most HOME_CAP ids; expires after 30 days unread.
"""
list_timeline = key_by_id("timelines", "l%d", "posts")
"""LIST like a home, with posts of the list's members. At most LIST_CAP ids; expires after 30 days unread."""
author_feed = cached_key(_of_account("profile"))
"""ZSET of post ids (score = member), at most PROFILE_CAP.

Publish and the worker add to it, delete removes from it.
"""
hashtag_timeline = key_by_digest("timelines", "tag")
"""ZSET of post ids (score = member), at most HASHTAG_CAP. It is a cache that `rebuild_timelines --tags` fills.

`digest` is the hex digest of the normalized hashtag. Publish, the worker and imports add to the key; delete
removes from it.
"""


def author_feed_part(account_id: int, number: int, count: int) -> Key:
    """ZSET like `author_feed`, with one of PROFILE_PARTITIONS parts of a feed.

    Each part has a tag and a node of its own.
    """
    return Key("timelines", tag=f"q{account_id * count + number}", name=f"profile:{account_id}")


class AuthorFeedKeys:
    """The keys of an author feed: one key, or one key per part (Redis in Action, listing 10.13)."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def of_post(self, account_id: int, post_id: int) -> Key:
        if self._partitions == 1:
            return author_feed(account_id)
        number = partition_of_pair(account_id, post_id, self._partitions)
        return author_feed_part(account_id, number, self._partitions)

    def feed_keys(self, account_id: int) -> list[Key]:
        if self._partitions == 1:
            return [author_feed(account_id)]
        return [author_feed_part(account_id, number, self._partitions) for number in range(self._partitions)]


def author_feed_owner(key: Key) -> int:
    """Return the account id in the key of a feed, or of a part of a feed."""
    return int(key.rpartition(":")[2] if key.tag.startswith("q") else key.tag)


author_feed_partitions = single_key("timelines", "map", "partitions")
"""STRING: the number of parts of an author feed. The first start records it, and every other start checks it."""
fan_out_on_read_authors = single_key("timelines", "pulled", "authors")
"""ZSET: id of an author whose posts are not pushed to homes -> ms of its entry.

At most FAN_OUT_ON_READ_CAP members.
"""
public_timeline = single_key("public", "public", "posts")
"""ZSET of post ids (score = member), at most PUBLIC_CAP. It is a cache that `rebuild_timelines` fills."""


# Follows, lists and their members: sources of truth. `tag` is the partition of the pair of ids, such as "p7".

follow_partitions = single_key("follows", "map", "partitions")
"""STRING: the number of follow partitions. The first start records it, and every other start checks it."""


@cached_key
def following(tag: str, account_id: int) -> Key:
    """ZSET: id of an account that `account_id` follows -> ms. At most FOLLOWING_CAP members in all partitions.

    Follow, unfollow and imports write it and `followers` in one script (add_edges, remove_edges).
    """
    return Key("follows", tag=tag, name=f"following:{account_id}")


def followers(tag: str, account_id: int) -> Key:
    """ZSET: id of a follower of `account_id` -> ms, the other side of `following`.

    It has no cap and is read in pages.
    """
    return Key("follows", tag=tag, name=f"followers:{account_id}")


def list_members(tag: str, list_id: int) -> Key:
    """ZSET: id of an account on the list -> ms. At most LIST_MEMBERS_CAP members in all partitions."""
    return Key("follows", tag=tag, name=f"members:{list_id}")


def lists_with_account(tag: str, account_id: int) -> Key:
    """ZSET: id of a list with the account as a member -> ms, the other side of `members`. Fan-out reads it."""
    return Key("follows", tag=tag, name=f"listed:{account_id}")


account_list = key_by_id("timelines", "l%d", "list")
"""HASH of a list: owner, title, created_ms. The field `deleted` marks a deleted list."""
list_index = _of_account("lists")
"""ZSET of the ids of an account's own lists (score = member), at most LISTS_PER_ACCOUNT."""
list_id_counter = single_key("timelines", "ids", "lists")
"""STRING: the highest list id (INCR)."""


# Imports.

import_source = key_by_digest("posts", "source")
"""STRING: id of the post of an imported row, negative during its import. It never expires."""
imported_graph_ranks = single_key("timelines", "graph", "ranks")
"""ZSET: account id -> followers in the imported graphs. The GRAPH_RANKS_CAP most followed accounts are kept."""


# Popular posts: a ranking for each language, which the worker replaces. The counts are in recipes/distinct_ranking.py.


def popular_posts(language: str) -> Key:
    """ZSET: post id -> weight, of the posts in a language, of NO_LANGUAGE or of ALL_LANGUAGES. At most RANKING_CAP.

    It expires when all its uses are out of the window.
    """
    return Key("series", tag="popular", name=f"posts:{language}")


popular_languages = single_key("series", "popular", "languages")
"""ZSET: language with a ranking in `popular_posts` -> number of its posts."""


# Live

delivery_lag = single_key("live", "lag", "hours")
"""ZSET: hour since 1970 -> largest delivery lag in ms, if above 60 s.

It expires after 25 h. The worker writes it.
"""


# Search: caches that `rebuild_timelines --search` fills. `partition` is 0 to SEARCH_PARTITIONS - 1.


def search_term(partition: int, digest: str) -> Key:
    """STRING: 7-byte ids of the partition's posts with the term of this digest, after a floor. At most TERM_CAP ids.

    A term with at most RARE_TERM_CAP posts is stored in `search_rare_terms` instead. The worker and imports add ids,
    and delete removes them (timelines/search/search_add.lua).
    """
    return Key("search", tag=f"s{partition}", name=f"term:{digest}")


@cached_key
def search_rare_terms(partition: int, number: int) -> Key:
    """HASH: digest of a term (6 bytes) -> 7-byte ids of the partition's posts with the term.

    There are RARE_TERM_HASHES such keys.
    """
    return Key("search", tag=f"s{partition}", name=f"rare:{number}")


search_name_prefixes = key_by_id("search", "s%d", "names")
"""ZSET, by text: "<beginning of a name, or @handle>\\0<account id>" of the partition's accounts.

One script writes it and `search_prefixes_of_account` at sign-up, profile edits, moderation and deletion.
"""
search_prefixes_of_account = key_by_id("search", "s%d", "named")
"""HASH: account id -> the members of this account in `search_name_prefixes`."""
search_pending = single_key("jobs", "search", "owed")
"""ZSET of post ids (score = member) that the index lacks because its servers were down.

At most PENDING_CAP members.
"""
poll_ends = single_key("jobs", "due", "polls")
"""ZSET: id of a post with a poll -> ms at which the poll ends. Removed after the voters are notified."""
due_posts = single_key("jobs", "due", "posts")
"""ZSET: "<account>:<draft>" of a scheduled post -> ms at which it is published."""
held_posts = single_key("jobs", "due", "held")
"""ZSET: "<account>:<draft>" of a post that waits for a look by staff -> ms since when."""
notifications_pending = single_key("jobs", "notices", "owed")
"""ZSET "<reader>:<notification>" -> ms since when it is pending. Web processes and workers write it."""
search_hashtags = key_by_id("search", "s%d", "tags")
"""ZSET, by text: used hashtags, for autocomplete, at most HASHTAGS_PER_PARTITION_CAP.

The worker and imports add to it. The member of a hashtag with accents starts with its form without accents
and a NUL: "cafe\\0café".
"""


# Operators

repair_log = single_key("jobs", "audit", "drift")
"""HASH: kind of discrepancy -> how often the background audit of the workers found it. It never expires."""


# Counters: totals to which buffers are flushed (socialsite/recipes/buffer.py).

post_totals = _of_post("totals")
"""HASH: +views, +clicks, and the id of the last batch that was added. Deleted with the post."""
