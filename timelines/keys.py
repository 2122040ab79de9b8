"""The keys of posts, timelines, follows and lists (docs/reference/keys.md has the table)."""

from socialsite.store.key import Key, cached_key
from socialsite.store.pair_partitions import partition_of_pair

# Posts: sources of truth.


@cached_key
def post(post_id: int) -> Key:
    """STRING: a MessagePack Post, "pending" (for 1 h), or the tombstone "deleted:<author>" or "superseded"."""
    return Key("posts", tag=str(post_id), name="post")


def post_versions(post_id: int) -> Key:
    """LIST of the former values of an edited post, oldest first. At most VERSIONS_CAP. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="versions")


@cached_key
def replies(post_id: int) -> Key:
    """ZSET of reply ids (score = member). Publish and the worker add to it; delete removes from it."""
    return Key("posts", tag=str(post_id), name="replies")


@cached_key
def deleted_replies(post_id: int) -> Key:
    """ZSET of ids of deleted replies that have replies themselves (score = member), so that threads continue there.

    A deletion adds to it, and so does the publication of a reply whose parent is deleted meanwhile.
    """
    return Key("posts", tag=str(post_id), name="gone")


def likes(post_id: int) -> Key:
    """ZSET: id of an account that likes the post -> ms. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="likes")


def boosts(post_id: int) -> Key:
    """ZSET: id of an account that boosts the post -> id of its boost. Renamed to `fading` when the post is deleted."""
    return Key("posts", tag=str(post_id), name="boosts")


def boosts_to_delete(post_id: int) -> Key:
    """ZSET: the members that `boosts` had when the post was deleted. A member stays until its boost is deleted."""
    return Key("posts", tag=str(post_id), name="fading")


@cached_key
def post_counts(post_id: int) -> Key:
    """STRING "<replies> <boosts> <likes>": the sizes of the three sets, written with them.

    If it is absent, all are 0.
    """
    return Key("posts", tag=str(post_id), name="counts")


def poll_votes(post_id: int) -> Key:
    """ZSET: id of an account -> its choices, one bit for each option. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="votes")


def poll_tally(post_id: int) -> Key:
    """HASH: number of an option -> votes; `voters` -> voters. Written with `votes`, deleted with the post."""
    return Key("posts", tag=str(post_id), name="tally")


def quotes(post_id: int) -> Key:
    """ZSET: id of a post that quotes this post -> the same id, negative if the author of this post revoked the quote.

    At most QUOTES_CAP members. Publish adds to it, deletion of the quote removes from it. Deleted with the post.
    """
    return Key("posts", tag=str(post_id), name="quotes")


def preview(digest: str) -> Key:
    """STRING: a MessagePack LinkPreview of the link with this digest. TTL: 30 days, or 1 h after a failure."""
    return Key("posts", tag=digest, name="preview")


def hidden_preview(post_id: int) -> Key:
    """STRING: digest of the link whose preview the author removed from the post. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="unpreviewed")


def idempotency_record(account_id: int, digest: str) -> Key:
    """STRING "<post id>:<digest of the request>", expires after 25 h. The first request of a form claims it."""
    return Key("posts", tag=f"a{account_id}", name=f"idempotency:{digest}")


# Pictures: sources of truth. The files are in the storage (timelines/media/storage.py).


@cached_key
def media(media_id: int) -> Key:
    """HASH: the row of a picture (timelines/media/media.py), from its upload until its files are deleted."""
    return Key("posts", tag=f"m{media_id}", name="media")


def media_of_account(account_id: int) -> Key:
    """HASH: id of a picture -> its bytes; `total` is their sum, `changes` counts the changes.

    At most MEDIA_PER_ACCOUNT pictures.
    """
    return Key("timelines", tag=str(account_id), name="media")


def media_total() -> Key:
    """HASH: account id -> "<total> <changes>" of `media_of_account`; the field `total` is the sum of all."""
    return Key("posts", tag="media", name="usage")


def media_checks() -> Key:
    """ZSET: name of a picture -> ms when a worker checks whether the picture is used; unused pictures are deleted.

    An upload adds its picture, the deletion of a post adds the pictures of the post. The check removes them.
    """
    return Key("posts", tag="media", name="checks")


def media_folder() -> Key:
    """HASH: `id` of the folder with the files, and what workers measured there: `bytes`, `files`, `ms`."""
    return Key("posts", tag="media", name="folder")


# Relations of an account to posts and to other accounts: sources of truth, all under the account's tag.


def liked_posts(account_id: int) -> Key:
    """ZSET: id of a post that the account likes -> ms, the other side of `likes`."""
    return Key("timelines", tag=str(account_id), name="liked")


def boosted_posts(account_id: int) -> Key:
    """ZSET: id of a post that the account boosts -> ms, the other side of `boosts`."""
    return Key("timelines", tag=str(account_id), name="boosted")


def voted_polls(account_id: int) -> Key:
    """ZSET: id of a post in whose poll the account voted -> ms, the other side of `votes`."""
    return Key("timelines", tag=str(account_id), name="voted")


def bookmarks(account_id: int) -> Key:
    """ZSET: id of a bookmarked post -> ms. The newest BOOKMARKS_CAP bookmarks are kept."""
    return Key("timelines", tag=str(account_id), name="bookmarks")


def pins(account_id: int) -> Key:
    """ZSET: id of an own post that the profile shows first -> ms. At most PINS_CAP members."""
    return Key("timelines", tag=str(account_id), name="pins")


def blocks(account_id: int) -> Key:
    """ZSET: id of a blocked account -> ms."""
    return Key("timelines", tag=str(account_id), name="blocks")


def blocked_by(account_id: int) -> Key:
    """ZSET: id of an account that blocks this one -> ms, the other side of `blocks`."""
    return Key("timelines", tag=str(account_id), name="blockers")


def mutes(account_id: int) -> Key:
    """ZSET: id of a muted account -> end of the mute in ms."""
    return Key("timelines", tag=str(account_id), name="mutes")


def follow_requests(account_id: int) -> Key:
    """ZSET: id of an account that requests to follow this private account -> ms. It has no cap and is read in pages."""
    return Key("timelines", tag=str(account_id), name="requests")


def sent_follow_requests(account_id: int) -> Key:
    """ZSET: id of a private account that this account requests to follow -> ms, the other side of `requests`."""
    return Key("timelines", tag=str(account_id), name="requested")


def boosts_hidden(account_id: int) -> Key:
    """ZSET: id of an account whose boosts are hidden -> ms."""
    return Key("timelines", tag=str(account_id), name="quieted")


def exclusive_lists(account_id: int) -> Key:
    """SET of the account's exclusive lists, whose members do not appear in its home."""
    return Key("timelines", tag=str(account_id), name="exclusive")


def keyword_filters(account_id: int) -> Key:
    """HASH: number of a keyword filter -> MessagePack KeywordFilter. At most FILTERS_CAP fields."""
    return Key("timelines", tag=str(account_id), name="filters")


@cached_key
def notifications(account_id: int) -> Key:
    """ZSET "<kind>:<account>:<post or 0>" -> id of the notification. The newest NOTIFICATIONS_CAP are kept.

    The worker (mentions, replies, boosts), like and follow add to it.
    """
    return Key("timelines", tag=str(account_id), name="notifications")


@cached_key
def last_read_notification(account_id: int) -> Key:
    """STRING: id of the newest notification that the account has read. All older notifications are read, too."""
    return Key("timelines", tag=str(account_id), name="notified")


@cached_key
def preferences(account_id: int) -> Key:
    """HASH: kind of notification -> "all", "followed" (actions of followed accounts only) or "none".

    The field `scroll` is "on" or "off": whether pages load older posts by themselves. The field `push_text` is "full"
    if push messages say who did what.
    """
    return Key("timelines", tag=str(account_id), name="preferences")


def push_subscriptions(account_id: int) -> Key:
    """HASH: id of a session or access token -> MessagePack PushSubscription. At most about SUBSCRIPTIONS_CAP fields."""
    return Key("timelines", tag=str(account_id), name="push")


def vapid_key() -> Key:
    """STRING: the private key in base64 by which push services recognize the site. Written once, never changed."""
    return Key("timelines", tag="site", name="vapid")


@cached_key
def markers(account_id: int) -> Key:
    """HASH: name of a timeline -> id of the newest post that was read there. At most MARKERS_CAP fields."""
    return Key("timelines", tag=str(account_id), name="position")


def drafts(account_id: int) -> Key:
    """HASH: id of a draft or scheduled post -> MessagePack Draft. At most DRAFTS_CAP fields."""
    return Key("timelines", tag=str(account_id), name="drafts")


def transfers(account_id: int) -> Key:
    """HASH: id of an export or import of the account -> MessagePack Transfer. At most TRANSFERS_CAP fields."""
    return Key("timelines", tag=str(account_id), name="transfers")


def imported_posts(account_id: int, transfer_id: int) -> Key:
    """LIST of the sources and posts of an import, packed in pages. It expires when the import cannot be undone."""
    return Key("timelines", tag=str(account_id), name=f"imported:{transfer_id}")


def followed_hashtags(account_id: int) -> Key:
    """ZSET: hashtag that the account follows -> ms. At most FOLLOWED_HASHTAGS_CAP members."""
    return Key("timelines", tag=str(account_id), name="tags")


# Reports: sources of truth, all with one tag. One script (timelines/reports/write_report.lua) writes all but `former`.


def former_reports() -> Key:
    """LIST of MessagePack Reports, which a release until 2026-11 wrote. Workers move them to `reports`."""
    return Key("timelines", tag="reports", name="reports")


def reports() -> Key:
    """HASH: id of a report -> MessagePack Report. At most REPORTS_CAP fields."""
    return Key("timelines", tag="reports", name="rows")


def reported_posts() -> Key:
    """HASH: id of a report -> MessagePack Posts as they were when they were reported. Deleted with the report."""
    return Key("timelines", tag="reports", name="posts")


def report_queue() -> Key:
    """ZSET: id of an account with open reports -> id of the oldest of them."""
    return Key("timelines", tag="reports", name="queue")


def report_claims() -> Key:
    """HASH: id of an account in `report_queue` -> "<staff>:<end in ms>:<reason>" of the claim on its reports."""
    return Key("timelines", tag="reports", name="claims")


def open_reports() -> Key:
    """ZSET, by text: "<reported account>:<category>:<id>" of each open report."""
    return Key("timelines", tag="reports", name="open")


def closed_reports() -> Key:
    """ZSET: id of a closed report -> ms at which it was closed. It is deleted REPORT_KEPT_DAYS later."""
    return Key("timelines", tag="reports", name="closed")


def reports_about() -> Key:
    """ZSET, by text: "<reported account>:<id>" of each report."""
    return Key("timelines", tag="reports", name="about")


def reports_by() -> Key:
    """ZSET, by text: "<reporter>:<id>" of each report whose reporter exists."""
    return Key("timelines", tag="reports", name="by")


# Timelines: profiles are sources, homes and list timelines are caches.

HOME_TIMELINE_KEY_PATTERN = b"timelines:{%d}:home"
LIST_TIMELINE_KEY_PATTERN = b"timelines:{l%d}:posts"


@cached_key
def home_timeline(account_id: int) -> Key:
    """LIST of post ids, newest first; the last element is the floor (-id).

    At most HOME_CAP ids; expires after 30 days unread.
    """
    return Key("timelines", tag=str(account_id), name="home")


def list_timeline(list_id: int) -> Key:
    """LIST like a home, with posts of the list's members. At most LIST_CAP ids; expires after 30 days unread."""
    return Key("timelines", tag=f"l{list_id}", name="posts")


@cached_key
def author_feed(account_id: int) -> Key:
    """ZSET of post ids (score = member), at most PROFILE_CAP.

    Publish and the worker add to it, delete removes from it.
    """
    return Key("timelines", tag=str(account_id), name="profile")


def hashtag_timeline(digest: str) -> Key:
    """ZSET of post ids (score = member), at most HASHTAG_CAP. It is a cache that `rebuild_timelines --tags` fills.

    `digest` is the hex digest of the normalized hashtag. Publish, the worker and imports add to the key; delete
    removes from it.
    """
    return Key("timelines", tag=digest, name="tag")


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


def author_feed_partitions() -> Key:
    """STRING: the number of parts of an author feed. The first start records it, and every other start checks it."""
    return Key("timelines", tag="map", name="partitions")


def fan_out_on_read_authors() -> Key:
    """ZSET: id of an author whose posts are not pushed to homes -> ms of its entry.

    At most FAN_OUT_ON_READ_CAP members.
    """
    return Key("timelines", tag="pulled", name="authors")


def public_timeline() -> Key:
    """ZSET of post ids (score = member), at most PUBLIC_CAP. It is a cache that `rebuild_timelines` fills."""
    return Key("public", tag="public", name="posts")


# Follows, lists and their members: sources of truth. `tag` is the partition of the pair of ids, such as "p7".


def follow_partitions() -> Key:
    """STRING: the number of follow partitions. The first start records it, and every other start checks it."""
    return Key("follows", tag="map", name="partitions")


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


def account_list(list_id: int) -> Key:
    """HASH of a list: owner, title, created_ms. The field `deleted` marks a deleted list."""
    return Key("timelines", tag=f"l{list_id}", name="list")


def list_index(account_id: int) -> Key:
    """ZSET of the ids of an account's own lists (score = member), at most LISTS_PER_ACCOUNT."""
    return Key("timelines", tag=str(account_id), name="lists")


def list_id_counter() -> Key:
    """STRING: the highest list id (INCR)."""
    return Key("timelines", tag="ids", name="lists")


# Imports.


def import_source(digest: str) -> Key:
    """STRING: id of the post of an imported row, negative during its import. It never expires."""
    return Key("posts", tag=digest, name="source")


def imported_graph_ranks() -> Key:
    """ZSET: account id -> followers in the imported graphs. The GRAPH_RANKS_CAP most followed accounts are kept."""
    return Key("timelines", tag="graph", name="ranks")


# Live


def delivery_lag() -> Key:
    """ZSET: hour since 1970 -> largest delivery lag in ms, if above 60 s.

    It expires after 25 h. The worker writes it.
    """
    return Key("live", tag="lag", name="hours")


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


def search_name_prefixes(partition: int) -> Key:
    """ZSET, by text: "<beginning of a name, or @handle>\\0<account id>" of the partition's accounts.

    One script writes it and `search_prefixes_of_account` at sign-up, profile edits, moderation and deletion.
    """
    return Key("search", tag=f"s{partition}", name="names")


def search_prefixes_of_account(partition: int) -> Key:
    """HASH: account id -> the members of this account in `search_name_prefixes`."""
    return Key("search", tag=f"s{partition}", name="named")


def search_pending() -> Key:
    """ZSET of post ids (score = member) that the index lacks because its servers were down.

    At most PENDING_CAP members.
    """
    return Key("jobs", tag="search", name="owed")


def poll_ends() -> Key:
    """ZSET: id of a post with a poll -> ms at which the poll ends. Removed after the voters are notified."""
    return Key("jobs", tag="due", name="polls")


def due_posts() -> Key:
    """ZSET: "<account>:<draft>" of a scheduled post -> ms at which it is published."""
    return Key("jobs", tag="due", name="posts")


def held_posts() -> Key:
    """ZSET: "<account>:<draft>" of a post that waits for a look by staff -> ms since when."""
    return Key("jobs", tag="due", name="held")


def notifications_pending() -> Key:
    """ZSET "<reader>:<notification>" -> ms since when it is pending. Web processes and workers write it."""
    return Key("jobs", tag="notices", name="owed")


def search_hashtags(partition: int) -> Key:
    """ZSET, by text: used hashtags, for autocomplete, at most HASHTAGS_PER_PARTITION_CAP.

    The worker and imports add to it. The member of a hashtag with accents starts with its form without accents
    and a NUL: "cafe\\0café".
    """
    return Key("search", tag=f"s{partition}", name="tags")


# Operators


def repair_log() -> Key:
    """HASH: kind of discrepancy -> how often the background audit of the workers found it. It never expires."""
    return Key("jobs", tag="audit", name="drift")


# Counters: totals to which buffers are flushed (socialsite/recipes/buffer.py).


def post_totals(post_id: int) -> Key:
    """HASH: +views, +clicks, and the id of the last batch that was added. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="totals")
