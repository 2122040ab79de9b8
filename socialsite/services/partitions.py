"""The numbers of partitions a store was born with: keys name them, so no process may have others."""

from socialsite.store import Key, Store, StoreError
from timelines import keys


class WrongPartitions(StoreError):
    """FOLLOW_PARTITIONS or PROFILE_PARTITIONS is not the number this store was born with."""


WAYS = {
    "FOLLOW_PARTITIONS": " (`manage.py repartition --follow-partitions N` makes it another)",
    "PROFILE_PARTITIONS": "; it stays as it was at the first start, nothing changes it",
}


def partitions_key() -> Key:
    """STRING: the number of follow partitions, recorded at first start, checked at every other."""
    return Key("follows", tag="map", name="partitions")


async def check_partitions(store: Store, follows: int, profiles: int = 1) -> None:
    """Record the numbers of partitions, or hold them against the recorded ones. Raises WrongPartitions."""
    recorded = {
        "FOLLOW_PARTITIONS": (partitions_key(), follows),
        "PROFILE_PARTITIONS": (keys.author_feed_partitions(), profiles),
    }
    for setting, (key, partitions) in recorded.items():
        held = await store.node(key).execute("GET", key)  # alone, so that a full server is no hindrance
        if held is None:
            held = await store.node(key).execute("SET", key, partitions, "NX", "GET")
        if held is not None and int(held) != partitions:
            raise WrongPartitions(
                f"this store was made with {setting}={int(held)}, the setting says {partitions}: "
                f"put the old number back{WAYS[setting]}"
            )
