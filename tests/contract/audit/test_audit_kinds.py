"""The rarer kinds of damage and exceeded caps; every kind that the audit reports has a test."""

import ast
import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils.crypto import salted_hmac

from accounts import keys as account_keys
from accounts.mail.links import address_digest
from accounts.sessions.repository import encode
from accounts.sessions.values import StoredSession
from socialsite.ids import AccountId, PostId
from socialsite.maintenance.key_families import QUARANTINE_DAYS, quarantine_key
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.imports import export_account
from tests.support.sample_site import SampleSite
from tests.support.world import World
from timelines import keys
from timelines.audit.accounts import AccountChecks
from timelines.audit.sampler import DamageCounts
from timelines.audit.wrong_types import TypeChecks
from timelines.ids import ListId
from timelines.media.storage import MediaFiles
from timelines.posts.post import Post, PostDetails, encode_post

ROOT = Path(__file__).resolve().parents[3]
NOBODY = AccountId(900)
OTHER_LIST = ListId(901)
Damage = Callable[[SampleSite], Awaitable[object]]


async def _session_without_a_place(town: SampleSite) -> None:
    value = encode(StoredSession(1, town.services.clock.now_ms(), "a browser", {}))
    await town.execute("SET", account_keys.session(town.bob.id, "d" * 64), value, "EX", 100)


async def _list_of(town: SampleSite, **fields: object) -> None:
    await town.execute("SET", keys.list_id_counter(), OTHER_LIST)
    pairs = [part for pair in fields.items() for part in pair]
    await town.execute("HSET", keys.account_list(OTHER_LIST), *pairs)


async def _post_of_nobody(town: SampleSite) -> None:
    post = Post(PostId(town.third.id + 1), NOBODY, "whose is this?")
    await town.execute("SET", keys.post(post.id), encode_post(post))


async def _quote_without_consent(town: SampleSite) -> None:
    await town.bob.publishes("look", details=PostDetails(quote_of=town.first.id))
    await town.world.deliver_all()
    await town.execute("DEL", keys.quotes(town.first.id))


async def _export_without_file(town: SampleSite) -> None:
    await export_account(town.services, town.bob.id)
    (export,) = await town.services.repositories.transfers.all(town.bob.id)
    default_storage.delete(export.file_name(town.bob.id))


async def _file_without_export(town: SampleSite) -> None:
    await export_account(town.services, town.bob.id)
    await town.execute("DEL", keys.transfers(town.bob.id))


def _report_with(*command: object) -> Damage:
    """Return a damage that stores a report with a post and then runs the command."""

    async def damage(town: SampleSite) -> None:
        made = await town.services.reports.report(
            reporter_id=town.alice.id, target_id=town.bob.id, category="spam", comment="", post_ids=[town.first.id]
        )
        names = {"{id}": made.id, "{entry}": f"{town.alice.id}:{made.id:016d}", "{bob}": town.bob.id}
        await town.execute(*(names.get(part, part) for part in command))

    return damage


DAMAGE: dict[str, Damage] = {
    "address_unindexed": lambda town: town.services.mail.mails.change(town.bob.id, address="bob@example.org"),
    "report_unindexed": _report_with("ZREM", keys.reports_by(), "{entry}"),
    "report_gone": _report_with("ZADD", keys.open_reports(), 0, "7:spam:0000000000000005"),
    "report_queue_wrong": _report_with("ZADD", keys.report_queue(), 5, "{bob}"),
    "quote_unlisted": _quote_without_consent,
    "quote_of_nothing": lambda town: town.execute("ZADD", keys.quotes(town.first.id), 777, 777),
    "post_without_author": _post_of_nobody,
    "post_unswept": lambda town: town.execute("HSET", account_keys.account(town.carol.id), "state", "deleted"),
    "home_of_nobody": lambda town: town.execute("RPUSH", keys.home_timeline(NOBODY), town.first.id, "-0"),
    "list_of_nobody": lambda town: _list_of(town, owner=NOBODY, title="x", created_ms=5),
    "list_half": lambda town: town.execute("HDEL", keys.account_list(town.list.id), "title"),
    "profile_without_account": lambda town: town.execute(
        "ZADD", keys.author_timeline(NOBODY), town.first.id, town.first.id
    ),
    "public_misplaced": lambda town: town.execute("ZADD", keys.public_timeline(), 5, town.first.id),
    "reply_misplaced": lambda town: town.execute("ZADD", keys.replies(town.first.id), 5, town.second.id),
    "session_eternal": lambda town: town.execute("SET", account_keys.session(town.bob.id, "d" * 64), "x"),
    "sessions_of_nobody": lambda town: town.execute("ZADD", account_keys.session_index(NOBODY), 5, "e" * 64),
    "session_index_eternal": lambda town: town.execute("ZADD", account_keys.session_index(town.bob.id), 5, "f" * 64),
    "pictures_miscounted": lambda town: town.execute("HSET", keys.media_of_account(town.bob.id), 7, 5, "total", 9),
    "list_timeline_of_nobody": lambda town: town.execute("RPUSH", keys.list_timeline(OTHER_LIST), town.first.id, "-0"),
    "block_garbage": lambda town: town.execute("ZADD", keys.blocks(town.bob.id), 5, "rubbish"),
}
HALF_DONE: dict[str, Damage] = {
    "address_of_nobody": lambda town: town.services.mail.mails.claim(address_digest("bob@example.org"), town.bob.id),
    "transfer_without_file": _export_without_file,
    "file_without_transfer": _file_without_export,
    "report_posts_left": _report_with("HSET", keys.reported_posts(), 5, "x"),
    "session_unindexed": _session_without_a_place,
    "list_half_deleted": lambda town: town.execute("HSET", keys.account_list(town.list.id), "deleted", 1),
}
"""Leftovers of a crash, which are deleted and do not count as damage."""


@pytest.mark.parametrize("kind", DAMAGE)
async def test_rare_damage_is_found_and_repaired(town: SampleSite, kind: str) -> None:
    await DAMAGE[kind](town)
    report = await town.audit(repair=True)
    assert kind in report.damage, [str(found) for found in report.discrepancies]
    await town.repair_until_clean()


@pytest.mark.parametrize("kind", HALF_DONE)
async def test_leftovers_of_a_crash_are_deleted_and_no_damage(town: SampleSite, kind: str) -> None:
    await HALF_DONE[kind](town)
    report = await town.audit(repair=True)
    assert report.leftovers == {kind: 1}
    assert not report.damage
    await town.repair_until_clean()


async def test_a_repaired_index_finds_the_account_by_its_address_and_keeps_one_owner(town: SampleSite) -> None:
    await DAMAGE["address_unindexed"](town)
    assert await town.services.mail.find_by_address("bob@example.org") is None
    await town.audit(repair=True)
    found = await town.services.mail.find_by_address("bob@example.org")
    assert found is not None
    assert found.id == town.bob.id
    await town.services.mail.mails.change(town.carol.id, address="bob@example.org")
    report = await town.audit(repair=True)
    assert (report.damage, report.left) == ({"address_unindexed": 1}, 1), "the first owner keeps the address"


async def _confirm_in_earlier_release(town: SampleSite, account_id: AccountId, address: str) -> None:
    """Store an address as a release stored it whose digests differed with capital letters."""
    await town.services.mail.mails.change(account_id, address=address)
    digest = salted_hmac("accounts.mail.address", address, algorithm="sha256").hexdigest()[:32]
    assert await town.services.mail.mails.claim(digest, account_id)


async def test_a_repair_indexes_addresses_with_capital_letters_again(town: SampleSite) -> None:
    await _confirm_in_earlier_release(town, town.bob.id, "Bob@example.org")
    assert await town.services.mail.find_by_address("bob@example.org") is None
    report = await town.audit(repair=True)
    assert (report.damage, report.leftovers) == ({"address_unindexed": 1}, {"address_of_nobody": 1})
    assert report.left == 0
    for spelling in ("bob@example.org", "Bob@example.org", "BOB@example.org"):
        found = await town.services.mail.find_by_address(spelling)
        assert found is not None
        assert found.id == town.bob.id
    await town.repair_until_clean()


async def test_of_two_accounts_with_one_mailbox_the_repair_gives_it_to_one_and_reports_the_other(
    town: SampleSite,
) -> None:
    await _confirm_in_earlier_release(town, town.bob.id, "BOB@example.org")
    await _confirm_in_earlier_release(town, town.carol.id, "Bob@example.org")
    report = await town.audit(repair=True)
    assert report.damage == {"address_unindexed": 2}
    assert report.left == 1, "the repair of the second account did nothing"
    found = await town.services.mail.find_by_address("bob@example.org")
    assert found is not None
    (left,) = (await town.audit(repair=True)).discrepancies
    assert (left.kind, {found.id, int(left.key.tag)}) == ("address_unindexed", {town.bob.id, town.carol.id})
    await town.services.mail.remove_address(AccountId(int(left.key.tag)))
    await town.repair_until_clean()
    assert await town.services.mail.find_by_address("bob@example.org") is not None


async def test_files_of_transfers_stay_or_go_with_them(town: SampleSite) -> None:
    files = partial(MediaFiles().list_names, "archives/")
    await export_account(town.services, town.bob.id)
    kept = await files()
    assert (await town.audit(repair=True)).leftovers == {}
    await town.execute("DEL", keys.transfers(town.bob.id))
    assert (await town.audit()).leftovers == {"file_without_transfer": 1}
    assert await files() == kept, "nothing is repaired without --repair"
    await town.audit(repair=True)
    assert await files() == []
    await _export_without_file(town)
    await town.audit(repair=True)
    (export,) = await town.services.repositories.transfers.all(town.bob.id)
    assert (export.state, export.error) == ("failed", "unreadable")


async def test_an_unreadable_value_is_reported_and_hides_no_other_damage(town: SampleSite) -> None:
    key = keys.account_list(town.list.id)
    await town.execute("HSET", key, "owner", "rubbish")
    await DAMAGE["list_of_nobody"](town)
    report = await town.audit(repair=True)
    assert {"key_unreadable": 1, "list_of_nobody": 1}.items() <= report.damage.items()
    assert await town.execute("HGET", key, "owner") == b"rubbish", "nobody knows what was there"


async def test_a_repair_keeps_correct_data(town: SampleSite) -> None:
    for kind in ("public_misplaced", "reply_misplaced", "list_half"):
        await DAMAGE[kind](town)
    await town.audit(repair=True)
    assert await town.execute("ZSCORE", keys.public_timeline(), town.first.id) == str(town.first.id).encode()
    assert (
        await town.execute("ZRANGE", keys.replies(town.first.id), 0, -1, "WITHSCORES")
        == [str(town.second.id).encode()] * 2
    )
    title, owner = await town.execute("HMGET", keys.account_list(town.list.id), "title", "owner")
    assert (title.decode(), int(owner)) == (f"List {town.list.id}", town.alice.id)


async def test_an_exceeded_cap_is_trimmed_to_the_newest_entries(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig()) as services:
        bigger = await SampleSite.build(World(services))
        posts = [bigger.first.id, bigger.second.id, bigger.third.id]
        for _ in range(2):
            await asyncio.sleep(0.002)
            posts.append((await bigger.bob.publishes("one more")).id)
        await bigger.world.deliver_all()
    async with open_services(redis_urls, ServiceConfig(profile_cap=2, public_cap=3)) as services:
        town = SampleSite(World(services), bigger.alice, bigger.bob, bigger.carol)
        report = await town.audit(repair=True)
        assert {"profile_over_cap": 1, "public_over_cap": 1}.items() <= report.damage.items()
        public = await town.execute("ZRANGE", keys.public_timeline(), 0, -1)
        assert [int(member) for member in public] == posts[2:]
        profile = await town.execute("ZRANGE", keys.author_timeline(town.bob.id), 0, -1)
        assert [int(member) for member in profile] == posts[3:]


async def test_discrepancies_are_summed_by_kind(town: SampleSite) -> None:
    counts = DamageCounts(town.services.store)
    assert await counts.read() == {}
    await counts.add({"home_incomplete": 2, "list_gone": 1, "tag_incomplete": 5})
    await counts.add({"home_incomplete": 3})
    assert await counts.read() == {"home_incomplete": 5, "list_gone": 1, "tag_incomplete": 5}


async def test_only_keys_of_another_type_are_quarantined(town: SampleSite) -> None:
    context = town.services.audit_context
    key, put = keys.keyword_filters(town.bob.id), TypeChecks(context, AccountChecks(context)).quarantine
    assert await put(key, "hash") is False
    await town.execute("SET", key, "no hash")
    assert await put(key, "string") is False
    assert await put(key, "hash") is True
    assert await town.execute("EXISTS", key) == 0
    assert await town.execute("GET", quarantine_key(key)) == b"no hash"
    assert QUARANTINE_DAYS - 1 < await town.execute("TTL", quarantine_key(key)) / 86_400 <= QUARANTINE_DAYS


def kinds() -> Iterator[str]:
    """Yield every kind of discrepancy that the audit's source names as a constant."""
    for path in (ROOT / "timelines" / "audit").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_finding = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Discrepancy"
            if is_finding and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


def test_every_kind_of_discrepancy_has_a_test() -> None:
    folders = (ROOT / "tests" / "contract", ROOT / "tests" / "support")
    texts = "".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    assert {kind for kind in kinds() if f'"{kind}"' not in texts} == set()


async def test_an_account_without_its_place_in_the_queue_of_reports_gets_it_again(town: SampleSite) -> None:
    await _report_with("DEL", keys.report_queue())(town)
    assert "report_unindexed" in (await town.audit(repair=True)).damage
    await town.repair_until_clean()
    entries, _ = await town.services.repositories.reports.queue(limit=5)
    assert [each.account_id for each in entries] == [town.bob.id]
