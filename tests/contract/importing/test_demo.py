"""The demo data: accounts to log in with and timelines in many languages, equal after a second load."""

import gzip
import json
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.corpora import EXTERNAL_DIR, corpus_path
from tests.support.demo_build import build
from tests.support.topologies import Deployment
from timelines.demo.load import FILES, PICTURES

MINUTE_MS = 60_000
LICENSED = {"ubuntu-irc", "whitehouse-archive", "nsmc", "wisesight", "git:tiangolo/fastapi", "quotes", "project"}


@pytest.mark.nightly
async def test_a_second_load_of_the_demo_changes_nothing(services: Services, deployment: Deployment) -> None:
    now_ms = services.clock.now_ms()
    logins = await services.demo.load(now_ms)
    loaded = lasting(deployment)
    assert await services.demo.load(now_ms + 5 * MINUTE_MS) == logins
    assert lasting(deployment) == loaded
    for handle, password in logins:
        account = await services.accounts.find_by_handle(handle)
        assert account is not None
        assert await services.accounts.check_password(account, password)
        assert len((await services.reading.home(AccountId(account.id))).entries) == 30
        counts = await services.following.counts(AccountId(account.id))
        assert counts.following > 20
        assert counts.followers > 10


def lasting(deployment: Deployment) -> list[str]:
    """Return all keys except the statistics, which are written a second later."""
    return [key for key in deployment.all_keys() if not key.startswith("series:")]


async def test_the_public_timeline_begins_minutes_ago_in_several_languages(services: Services) -> None:
    now_ms = services.clock.now_ms()
    await services.demo.load(now_ms)
    popular, _ = await services.popular.read(None, (), offset=0, limit=20)
    assert len(popular) >= 10
    page = await services.reading.public(viewer_id=None, limit=100)
    assert now_ms - 10 * MINUTE_MS < page.entries[0].post.created_ms < now_ms
    assert len({entry.author.display_name for entry in page.entries}) > 25
    texts = "".join(entry.post.text for entry in page.entries)
    assert any("ぁ" <= letter <= "ヿ" for letter in texts)
    assert not any("ก" <= letter <= "๛" or "가" <= letter <= "힣" for letter in texts)  # older than a day


async def test_the_demo_shows_faces_bios_and_described_pictures(services: Services) -> None:
    await services.demo.load(services.clock.now_ms())
    people = [json.loads(line) for line in (FILES / "people.jsonl").read_text("utf-8").splitlines()]
    for person in people:
        account = await services.accounts.get_by_handle(person["handle"])
        assert account.bio
        assert account.avatar
    page = await services.reading.public(viewer_id=None, limit=100)
    details = [entry.post.extra for entry in page.entries]
    pictures = [picture for each in details for picture in each.media]
    assert len(pictures) >= 7
    assert all(picture.alt and picture.width for picture in pictures)
    assert any(each.poll for each in details)
    assert any(each.spoiler_text for each in details)
    assert any(each.edited_ms for each in details)


async def test_the_demo_has_public_lists_that_explore_offers_to_newcomers(services: Services) -> None:
    now_ms = services.clock.now_ms()
    for _ in range(2):
        await services.demo.load(now_ms)
    explored = await services.public_lists.explored(None, 10)
    assert {each.owner.handle for each in explored} == {"mira", "ada", "jonas"}
    for each in explored:
        assert each.account_list.description
        assert len(await services.public_lists.member_ids(each.account_list, None)) == each.members >= 2


def test_each_shipped_picture_is_used_and_has_a_licence() -> None:
    notice, stories = (FILES / "NOTICE").read_text("utf-8"), (FILES / "stories.jsonl").read_text("utf-8")
    people = (FILES / "people.jsonl").read_text("utf-8").splitlines()
    used = stories + "".join(f"{json.loads(line)['handle']}.png" for line in people)
    for file in PICTURES.iterdir():
        assert file.name in used
        assert file.stem in notice


def test_every_shipped_post_has_a_source_with_a_known_licence() -> None:
    rows = [json.loads(line) for line in gzip.decompress((FILES / "posts.jsonl.gz").read_bytes()).splitlines()]
    notice = (FILES / "NOTICE").read_text("utf-8")
    assert {row["source"] for row in rows} == LICENSED
    assert all(f'"source": "{source}"' in notice for source in LICENSED)
    assert len({row["lang"] for row in rows}) >= 6
    assert 2_300 <= len(rows) <= 2_700


def test_the_same_sources_give_the_same_files(tmp_path: Path) -> None:
    corpus_path("posts/arsarcasm-arabic.jsonl.gz")
    build(EXTERNAL_DIR, tmp_path)
    for name in ("posts.jsonl.gz", "accounts.jsonl.gz", "graph.tsv.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress((FILES / name).read_bytes())
