"""The keys of posts, timelines, follows and lists (docs/reference/keys.md has the table)."""

from socialsite.store.key import Key, cached_key
from socialsite.store.pair_partitions import partition_of_pair

# Posts: sources of truth.


@cached_key
def post(post_id: int) -> Key:
    """STRING: a MessagePack Post | "pending" (1 h) | "deleted:<author>" or "superseded", without expiry."""
    return Key("posts", tag=str(post_id), name="post")


@cached_key
def replies(post_id: int) -> Key:
    """ZSET of reply ids (score = member). Added by publish and the worker, removed by delete."""
    return Key("posts", tag=str(post_id), name="replies")


@cached_key
def deleted_replies(post_id: int) -> Key:
    """ZSET of ids of deleted replies that are answered themselves (score = member): threads go on there.

    Added by delete, and by publish where it answers a post that is deleted meanwhile.
    """
    return Key("posts", tag=str(post_id), name="gone")


def likes(post_id: int) -> Key:
    """ZSET: id of an account that likes the post -> ms. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="likes")


def boosts(post_id: int) -> Key:
    """ZSET: id of an account that boosts the post -> id of its boost. `fading` after the post's deletion."""
    return Key("posts", tag=str(post_id), name="boosts")


def boosts_to_delete(post_id: int) -> Key:
    """ZSET: the members of `boosts` at the deletion of the post, each until its boost is deleted."""
    return Key("posts", tag=str(post_id), name="fading")


@cached_key
def post_counts(post_id: int) -> Key:
    """STRING "<replies> <boosts> <likes>": the sizes of the three sets, written with them. Absent: none."""
    return Key("posts", tag=str(post_id), name="counts")


def idempotency_record(account_id: int, digest: str) -> Key:
    """STRING "<post id>:<digest of the request>", 25 h. Claimed by the first request of a form."""
    return Key("posts", tag=f"a{account_id}", name=f"idempotency:{digest}")


# What an account has to do with posts and with others: sources of truth, all under the account's tag.


def liked_posts(account_id: int) -> Key:
    """ZSET: id of a post that the account likes -> ms, the other side of `likes`."""
    return Key("timelines", tag=str(account_id), name="liked")


def boosted_posts(account_id: int) -> Key:
    """ZSET: id of a post that the account boosts -> ms, the other side of `boosts`."""
    return Key("timelines", tag=str(account_id), name="boosted")


def bookmarks(account_id: int) -> Key:
    """ZSET: id of a bookmarked post -> ms. BOOKMARKS_CAP, the newest."""
    return Key("timelines", tag=str(account_id), name="bookmarks")


def blocks(account_id: int) -> Key:
    """ZSET: id of a blocked account -> ms."""
    return Key("timelines", tag=str(account_id), name="blocks")


def blocked_by(account_id: int) -> Key:
    """ZSET: id of an account that blocks this one -> ms, the other side of `blocks`."""
    return Key("timelines", tag=str(account_id), name="blockers")


def mutes(account_id: int) -> Key:
    """ZSET: id of a muted account -> the ms until which it is."""
    return Key("timelines", tag=str(account_id), name="mutes")


def follow_requests(account_id: int) -> Key:
    """ZSET: id of an account that requests to follow this private account -> ms. No cap; read in pages."""
    return Key("timelines", tag=str(account_id), name="requests")


def sent_follow_requests(account_id: int) -> Key:
    """ZSET: id of a private account that this account requests to follow -> ms, the other side of `requests`."""
    return Key("timelines", tag=str(account_id), name="requested")


def boosts_hidden(account_id: int) -> Key:
    """ZSET: id of an account, boosts by which are hidden -> ms."""
    return Key("timelines", tag=str(account_id), name="quieted")


def exclusive_lists(account_id: int) -> Key:
    """SET of the account's exclusive lists: their members leave its home."""
    return Key("timelines", tag=str(account_id), name="exclusive")


def keyword_filters(account_id: int) -> Key:
    """HASH: number of a keyword filter -> MessagePack Filter. FILTERS_CAP."""
    return Key("timelines", tag=str(account_id), name="filters")


@cached_key
def notifications(account_id: int) -> Key:
    """ZSET "<kind>:<account>:<post or 0>" -> id of the notification. NOTIFICATIONS_CAP, the newest.

    Added by the worker (mentions, replies, boosts), like and follow; with `notified` by one script.
    """
    return Key("timelines", tag=str(account_id), name="notifications")


@cached_key
def last_read_notification(account_id: int) -> Key:
    """STRING: id of the last notification that the account has read; all older ones are read, too."""
    return Key("timelines", tag=str(account_id), name="notified")


@cached_key
def preferences(account_id: int) -> Key:
    """HASH: kind of notification -> "all", "followed" (only from people one follows) or "none"; and
    scroll -> "on" or "off" (older posts come by themselves).
    """
    return Key("timelines", tag=str(account_id), name="preferences")


@cached_key
def markers(account_id: int) -> Key:
    """HASH: name of a timeline -> id of the newest post that was read there. POSITIONS_CAP."""
    return Key("timelines", tag=str(account_id), name="position")


def followed_hashtags(account_id: int) -> Key:
    """ZSET: hashtag that the account follows -> ms. FOLLOWED_TAGS_CAP."""
    return Key("timelines", tag=str(account_id), name="tags")


# Timelines: profiles are sources, homes and list timelines are caches.

HOME_TIMELINE_KEY_PATTERN = b"timelines:{%d}:home"
LIST_TIMELINE_KEY_PATTERN = b"timelines:{l%d}:posts"


@cached_key
def home_timeline(account_id: int) -> Key:
    """LIST of post ids, newest first; the last element is the floor (-id). HOME_CAP, 30 days unread."""
    return Key("timelines", tag=str(account_id), name="home")


def list_timeline(list_id: int) -> Key:
    """LIST like a home, of the posts of the list's members. LIST_CAP, 30 days unread."""
    return Key("timelines", tag=f"l{list_id}", name="posts")


@cached_key
def author_feed(account_id: int) -> Key:
    """ZSET of post ids (score = member). PROFILE_CAP. Added by publish and the worker, removed by delete."""
    return Key("timelines", tag=str(account_id), name="profile")


def hashtag_timeline(digest: str) -> Key:
    """ZSET of post ids (score = member). TAG_CAP. A cache: `rebuild_timelines --tags` fills it.

    `digest`: hex, of the normalized tag. Added by publish, the worker and imports, removed by delete.
    """
    return Key("timelines", tag=digest, name="tag")


def author_feed_part(account_id: int, number: int, count: int) -> Key:
    """ZSET like a profile, one of its PROFILE_PARTITIONS parts, each under a tag and on a node of its own."""
    return Key("timelines", tag=f"q{account_id * count + number}", name=f"profile:{account_id}")


class AuthorFeedKeys:
    """The keys of an author feed: one, or several parts (Redis in Action, listing 10.13)."""

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
    """Return the account of the key of a feed or of a part of it."""
    return int(key.rpartition(":")[2] if key.tag.startswith("q") else key.tag)


def author_feed_partitions() -> Key:
    """STRING: the number of parts of a profile, recorded at first start, checked at every other."""
    return Key("timelines", tag="map", name="partitions")


def fan_out_on_read_authors() -> Key:
    """ZSET: id of an author, posts by whom are not pushed to homes -> ms of entry. PULLED_CAP."""
    return Key("timelines", tag="pulled", name="authors")


def public_timeline() -> Key:
    """ZSET of post ids (score = member). PUBLIC_CAP. A cache: `rebuild_timelines` fills it."""
    return Key("public", tag="public", name="posts")


# Follows, lists and their members: sources of truth. `tag` is the partition of the pair of ids, "p7".


def follow_partitions() -> Key:
    """STRING: the number of follow partitions. Recorded at the first start and compared at every other."""
    return Key("follows", tag="map", name="partitions")


@cached_key
def following(tag: str, account_id: int) -> Key:
    """ZSET: id of an account that `account_id` follows -> ms. FOLLOWING_CAP over all partitions.

    Written with the other side in one script (add_edges, remove_edges) by follow, unfollow and imports.
    """
    return Key("follows", tag=tag, name=f"following:{account_id}")


def followers(tag: str, account_id: int) -> Key:
    """ZSET: id of a follower of `account_id` -> ms, the other side of `following`. No cap; read in pages."""
    return Key("follows", tag=tag, name=f"followers:{account_id}")


def list_members(tag: str, list_id: int) -> Key:
    """ZSET: id of an account on the list -> ms. LIST_MEMBERS_CAP over all partitions."""
    return Key("follows", tag=tag, name=f"members:{list_id}")


def lists_with_account(tag: str, account_id: int) -> Key:
    """ZSET: id of a list with the account as a member -> ms, the other side of `members`. Read by fan-out."""
    return Key("follows", tag=tag, name=f"listed:{account_id}")


def account_list(list_id: int) -> Key:
    """HASH of a list: owner, title, created_ms; `deleted` while a deletion is under way."""
    return Key("timelines", tag=f"l{list_id}", name="list")


def list_index(account_id: int) -> Key:
    """ZSET of the ids of an account's own lists (score = member). LISTS_PER_ACCOUNT."""
    return Key("timelines", tag=str(account_id), name="lists")


def list_id_counter() -> Key:
    """STRING: the last list id given out (INCR)."""
    return Key("timelines", tag="ids", name="lists")


# Imports.


def import_source(digest: str) -> Key:
    """STRING: id of the post of an imported row, negative during its import. No expiry."""
    return Key("posts", tag=digest, name="source")


def imported_graph_ranks() -> Key:
    """ZSET: account id -> followers in the imported graphs. GRAPH_RANKS_CAP, the most followed."""
    return Key("timelines", tag="graph", name="ranks")


# Live


def delivery_lag() -> Key:
    """ZSET: hour since 1970 -> largest delivery lag in ms, where above 60 s. 25 h. Noted by the worker."""
    return Key("live", tag="lag", name="hours")


# Search: caches, filled again by `rebuild_timelines --search`. `partition` is 0 to SEARCH_PARTITIONS - 1.


def search_term(partition: int, digest: str) -> Key:
    """STRING: 7-byte ids of the partition's posts with the term of this digest, after a floor. TERM_CAP.

    A term with at most RARE_CAP posts stands in `search_rare_terms` instead.

    Filled by the worker and imports, emptied by delete (timelines/search/search_add.lua).
    """
    return Key("search", tag=f"s{partition}", name=f"term:{digest}")


@cached_key
def search_rare_terms(partition: int, number: int) -> Key:
    """HASH: digest of a term (6 bytes) -> 7-byte ids of the partition's posts with it. RARE_HASHES."""
    return Key("search", tag=f"s{partition}", name=f"rare:{number}")


def search_name_prefixes(partition: int) -> Key:
    """ZSET, by text: "<beginning of a name, or @handle>\\0<account id>" of the partition's accounts.

    Written with `search_prefixes_of_account` in one script at sign-up, profile edits, moderation and deletion.
    """
    return Key("search", tag=f"s{partition}", name="names")


def search_prefixes_of_account(partition: int) -> Key:
    """HASH: account id -> its members of `search_name_prefixes`."""
    return Key("search", tag=f"s{partition}", name="named")


def search_pending() -> Key:
    """ZSET of post ids (score = member) that the index lacks: its servers were away. DEBTS_CAP."""
    return Key("jobs", tag="search", name="owed")


def notifications_pending() -> Key:
    """ZSET "<reader>:<notification>" -> ms since it is pending. Written by the web process and workers."""
    return Key("jobs", tag="notices", name="owed")


def search_hashtags(partition: int) -> Key:
    """ZSET, by text: hashtags that were used, for completion. TAGS_CAP. Added by the worker and imports.

    A hashtag with accents has its form without accents and a NUL before it: "cafe\\0café".
    """
    return Key("search", tag=f"s{partition}", name="tags")


# Operators


def repair_log() -> Key:
    """HASH: kind of discrepancy -> how often the background audit of the workers found it. No expiry."""
    return Key("jobs", tag="audit", name="drift")


# Counters: what buffers are flushed into (socialsite/recipes/buffer_totals.py).


def post_totals(post_id: int) -> Key:
    """HASH: +views, +clicks, and the id of the last batch that was added. Deleted with the post."""
    return Key("posts", tag=str(post_id), name="totals")
