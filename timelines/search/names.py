"""What accounts and hashtags are called, found by the beginning: sorted sets read by text (ZRANGEBYLEX).

Accounts lie in the partition of their id, hashtags in that of their text; every partition is asked at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from socialsite.ids import AccountId
from socialsite.store import Command, Key, Reply, Store, load_script
from timelines import keys
from timelines.search.repository import SEARCH_PARTITIONS
from timelines.text.accents import fold_accents

HASHTAGS_PER_PARTITION_CAP = 50_000
"""Hashtags that one partition keeps; further ones are not completed until the next rebuild."""
PREFIX_DELIMITER, PREFIX_RANGE_END = b"\0", b"\xff"
"""Between a beginning and its account; above everything that UTF-8 has."""

SET_NAMES_SCRIPT = load_script("search_set_names.lua", __package__)
ADD_HASHTAGS_SCRIPT = load_script("search_add_tags.lua", __package__)


class NameIndex:
    """`search:{s<p>}:names`, `:named` and `:tags`. Names come as name_prefixes has them, tags normalized."""

    def __init__(self, store: Store) -> None:
        self._component = store.component("search")

    async def set_names(self, names: Mapping[AccountId, Sequence[str]]) -> int:
        """What each account is found by from now on (nothing: not at all); how many of them changed."""
        commands = []
        for account_id, starts in names.items():
            number = account_id % SEARCH_PARTITIONS
            places = [keys.search_name_prefixes(number), keys.search_prefixes_of_account(number)]
            commands.append(SET_NAMES_SCRIPT.command(places, [account_id, *starts]))
        return sum(await self._component.gather(commands))

    async def find_accounts(self, prefixes: Sequence[str], limit: int) -> list[AccountId]:
        """Accounts with one of these beginnings, at most `limit` a partition and prefix; each once."""
        replies = await self._component.gather(
            prefix_range_command(keys.search_name_prefixes(number), prefix, limit)
            for prefix in prefixes
            for number in range(SEARCH_PARTITIONS)
        )
        members = (member for reply in replies for member in reply)
        return list(dict.fromkeys(AccountId(int(member.rpartition(PREFIX_DELIMITER)[2])) for member in members))

    async def add_hashtags(self, tags: Iterable[str]) -> None:
        by_partition: dict[int, list[str]] = defaultdict(list)
        for tag in dict.fromkeys(tags):
            by_partition[crc32(tag.encode()) % SEARCH_PARTITIONS].append(tag)
        await self._component.gather(
            [
                ADD_HASHTAGS_SCRIPT.command(
                    [keys.search_hashtags(number)], [HASHTAGS_PER_PARTITION_CAP, *map(hashtag_member, some)]
                )
                for number, some in by_partition.items()
            ]
        )

    async def find_tags(self, prefix: str, limit: int) -> list[str]:
        """Hashtags that begin so, accents aside, at most `limit` a partition. Nobody need use them now."""
        replies: list[Reply] = await self._component.gather(
            prefix_range_command(keys.search_hashtags(number), fold_accents(prefix), limit)
            for number in range(SEARCH_PARTITIONS)
        )
        return sorted({member.rpartition(PREFIX_DELIMITER)[2].decode() for reply in replies for member in reply})


def hashtag_member(tag: str) -> str:
    """A hashtag behind what it is without accents. One that has none stands alone, as all did once."""
    bare = fold_accents(tag)
    return tag if bare == tag else f"{bare}\0{tag}"


def prefix_range_command(key: Key, prefix: str, most: int) -> Command:
    """The first members that begin so, in the order of their bytes."""
    start = prefix.encode()
    return ("ZRANGEBYLEX", key, b"[" + start, b"(" + start + PREFIX_RANGE_END, "LIMIT", 0, most)
