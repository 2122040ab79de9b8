"""The index of names finds accounts and hashtags by prefix. It consists of sorted sets, read by ZRANGEBYLEX.

The partition of an account depends on its id. The partition of a hashtag depends on its text. A search reads all
partitions together.
"""

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from socialsite.batches import group_by
from socialsite.ids import AccountId
from socialsite.store import Command, Key, Reply, Store, load_script
from timelines import keys
from timelines.search.repository import SEARCH_PARTITIONS
from timelines.text.accents import fold_accents

HASHTAGS_PER_PARTITION_CAP = 50_000
"""The maximum number of hashtags in one partition. No more hashtags are added before the next rebuild."""
PREFIX_DELIMITER, PREFIX_RANGE_END = b"\0", b"\xff"
"""The byte between a prefix and its account id, and a byte above all bytes of UTF-8."""

SET_NAMES_SCRIPT = load_script("search_set_names.lua", __package__)
ADD_HASHTAGS_SCRIPT = load_script("search_add_tags.lua", __package__)


class NameIndex:
    """The repository of the keys `search:{s<p>}:names`, `:named` and `:tags`.

    Callers pass names as `name_prefixes` returns them, and normalized hashtags.
    """

    def __init__(self, store: Store) -> None:
        self._component = store.component("search")

    async def set_names(self, names: Mapping[AccountId, Sequence[str]]) -> int:
        """Replace the prefixes of each account, and return the number of changes.

        An account without prefixes is removed from the index.
        """
        commands = []
        for account_id, starts in names.items():
            number = account_id % SEARCH_PARTITIONS
            places = [keys.search_name_prefixes(number), keys.search_prefixes_of_account(number)]
            commands.append(SET_NAMES_SCRIPT.command(places, [account_id, *starts]))
        return sum(await self._component.execute_all(commands))

    async def find_accounts(self, prefixes: Sequence[str], limit: int) -> list[AccountId]:
        """Return the accounts with one of the prefixes, each once. Reads at most `limit` per partition and prefix."""
        replies = await self._component.execute_all(
            prefix_range_command(keys.search_name_prefixes(number), prefix, limit)
            for prefix in prefixes
            for number in range(SEARCH_PARTITIONS)
        )
        members = (member for reply in replies for member in reply)
        return list(dict.fromkeys(AccountId(int(member.rpartition(PREFIX_DELIMITER)[2])) for member in members))

    async def add_hashtags(self, tags: Iterable[str]) -> None:
        by_partition = group_by(dict.fromkeys(tags), lambda tag: crc32(tag.encode()) % SEARCH_PARTITIONS)
        await self._component.execute_all(
            [
                ADD_HASHTAGS_SCRIPT.command(
                    [keys.search_hashtags(number)], [HASHTAGS_PER_PARTITION_CAP, *map(hashtag_member, some)]
                )
                for number, some in by_partition.items()
            ]
        )

    async def find_tags(self, prefix: str, limit: int) -> list[str]:
        """Return hashtags with the prefix, at most `limit` per partition. Accents are ignored.

        Some hashtags may no longer have any posts.
        """
        replies: list[Reply] = await self._component.execute_all(
            prefix_range_command(keys.search_hashtags(number), fold_accents(prefix), limit)
            for number in range(SEARCH_PARTITIONS)
        )
        return sorted({member.rpartition(PREFIX_DELIMITER)[2].decode() for reply in replies for member in reply})


def hashtag_member(tag: str) -> str:
    """Return the member of the sorted set for a hashtag.

    The member is the hashtag. If the hashtag has accents, the form without accents and a zero byte come first.
    """
    bare = fold_accents(tag)
    return tag if bare == tag else f"{bare}\0{tag}"


def prefix_range_command(key: Key, prefix: str, most: int) -> Command:
    """Return the command that reads the first `most` members with the prefix, in byte order."""
    start = prefix.encode()
    return ("ZRANGEBYLEX", key, b"[" + start, b"(" + start + PREFIX_RANGE_END, "LIMIT", 0, most)
