"""The audit of keys with another type: the old value is quarantined and the right value is rebuilt."""

from collections.abc import Callable

import pytest

from accounts import keys as account_keys
from socialsite.maintenance.key_families import QUARANTINE_DAYS, quarantine_key
from socialsite.store import Key
from tests.support.sample_site import SampleSite
from timelines import keys

HOLDS: dict[str, Callable[[SampleSite], Key]] = {
    "following": lambda town: town.edge(keys.following, town.alice, town.bob),
    "followers": lambda town: town.edge(keys.followers, town.bob, town.alice),
    "members": lambda town: town.edge(keys.list_members, town.list.id, town.bob),
    "listed": lambda town: town.edge(keys.lists_with_account, town.bob, town.list.id),
    "profile": lambda town: keys.author_timeline(town.bob.id),
    "replies": lambda town: keys.replies(town.first.id),
    "handle": lambda town: account_keys.handle("bob"),
    "own lists": lambda town: keys.list_index(town.alice.id),
    "account ids": lambda town: account_keys.account_ids(),
    "list ids": lambda town: keys.list_id_counter(),
}
"""Sources that can be rebuilt from the other keys."""
TYPES = {"handle": "string", "account ids": "string", "list ids": "string"}  # the other keys are sorted sets


@pytest.mark.parametrize("name", HOLDS)
async def test_a_source_of_another_type_is_quarantined_and_rebuilt(town: SampleSite, name: str) -> None:
    key, kind = HOLDS[name](town), TYPES.get(name, "zset")
    read = ("GET", key) if kind == "string" else ("ZRANGE", key, 0, -1, "WITHSCORES")
    await _settled(town)
    before = await town.execute(*read)
    await town.execute("DEL", key)
    await town.execute("RPUSH", key, "something", "else")
    report = await town.audit(repair=True)
    assert report.damage["key_of_wrong_type"] == 1, [str(found) for found in report.discrepancies]
    assert await town.execute("LRANGE", quarantine_key(key), 0, -1) == [b"something", b"else"]
    assert 0 < await town.execute("TTL", quarantine_key(key)) <= QUARANTINE_DAYS * 86_400
    await town.repair_until_clean()
    assert await town.execute("TYPE", key) == kind.encode()
    assert await town.execute(*read) == before


async def _settled(town: SampleSite) -> None:
    """Make the accounts older than any sign-up in progress."""
    for person in (town.alice, town.bob, town.carol):
        await town.execute("HSET", account_keys.account(person.id), "created_ms", 5)


async def test_data_without_a_source_is_quarantined_and_its_key_is_replaced(town: SampleSite) -> None:
    post, account = keys.post(town.third.id), account_keys.account(town.carol.id)
    for key in (post, account):
        await town.execute("DEL", key)
        await town.execute("SADD", key, "nothing")
    await town.audit(repair=True)
    await town.repair_until_clean()
    assert (await town.execute("GET", post)).startswith(b"deleted")
    assert await town.execute("HMGET", account, "handle", "state") == [
        f"lost_{town.carol.id}".encode(), b"suspended",
    ]  # fmt: skip
    assert await town.execute("SMEMBERS", quarantine_key(account)) == [b"nothing"]
    assert await town.execute("EXISTS", keys.post(town.second.id)), "the posts of a lost account stay"


async def test_only_the_key_of_another_type_is_quarantined(town: SampleSite) -> None:
    """Keys that refer to Alice's unreadable account are left unchanged."""
    account = account_keys.account(town.alice.id)
    await town.execute("DEL", account)
    await town.execute("SET", account, "no hash")
    report = await town.audit(repair=True)
    assert {str(f.key) for f in report.discrepancies if f.kind == "key_of_wrong_type"} == {account}
    assert not [key for key in await town.all_keys() if ":aside:" in key and key != quarantine_key(account)]
    await town.repair_until_clean()
