"""Importing posts: times, replies, authors, refused rows, and repetition after an interruption."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from socialsite.container import Services
from socialsite.ids import PostId, id_at
from socialsite.store import Store, StoreUnavailable
from tests.support.corpora import corpus_path
from tests.support.imports import NOW_MS, RULES, import_posts, read_profile_posts, row, write_rows
from tests.support.topologies import Deployment
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.importing.graph import GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import NoGraph, PostsImport, PostsOptions
from timelines.importing.repository import GraphRanks, ImportedPosts
from timelines.importing.rows import RowRules, parse_date, parse_handle
from timelines.posts.replies import ReplyRange


async def state_of(services: Services) -> dict[str, list[PostId]]:
    public = await services.repositories.public.read(1 << 53, 10_000, upward=False)
    return {"public": public, "alice": [post.id for post in await read_profile_posts(services, "alice")]}


async def test_posts_keep_their_times_and_replies(services: Services, tmp_path: Path) -> None:
    answer = row("b", "yes", "Bob B.", created_at="2015-06-01T10:00:01.5+02:00", in_reply_to="a")
    tally = await import_posts(
        services, write_rows(tmp_path / "posts", [row("a", "no?", created_at="2015-06-01T06:00:00"), answer])
    )
    (question,) = await read_profile_posts(services, "alice")
    (reply,) = await read_profile_posts(services, "bob_b_")
    assert question.created_ms == parse_date("2015-06-01T06:00:00Z")
    assert reply.created_ms == parse_date("2015-06-01T08:00:01.500Z")
    assert reply.in_reply_to == question.id
    assert await services.repositories.threads.read_replies([ReplyRange(question.id, 0, 1, 10)]) == [[reply.id]]
    assert await services.repositories.public.read(1 << 53, 10, upward=False) == [reply.id, question.id]
    assert (tally.counts["posts"], tally.counts["replies"]) == (2, 1)


async def test_imported_posts_are_not_syndicated(services: Services, tmp_path: Path) -> None:
    await import_posts(services, write_rows(tmp_path / "posts", [row("a")]))
    assert (await services.outbox.read_depth()).is_empty


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not_json"),
        ("[1]", "fields"),
        (json.dumps({"id": "a", "author": "x", "text": "y"}), "fields"),
        (json.dumps(row("a", in_reply_to=[1])), "fields"),
        (json.dumps(row("")), "id"),
        (json.dumps(row("a", author=" ")), "author"),
        (json.dumps(row("a", created_at="yesterday")), "date"),
        (json.dumps(row("a", created_at="1999-12-31T23:59:59Z")), "before_2000"),
        (json.dumps(row("a", created_at="2026-11-20T12:00:01Z")), "in_the_future"),
        (json.dumps(row("a", created_at="9999-12-31T23:59:59-14:00")), "date"),
        (json.dumps(row("a", "x" * 501)), "text_too_long"),
        (json.dumps(row("a", " \n")), "text_empty"),
        (json.dumps(row("a", "a\0b")), "text_control"),
        (json.dumps(row("a", "\ud800")), "not_json"),
    ],
)
async def test_an_invalid_row_is_refused_with_its_reason(
    services: Services, tmp_path: Path, line: str, reason: str
) -> None:
    tally = await import_posts(services, write_rows(tmp_path / "posts", [row("good"), line, row("better")]))
    assert tally.refused == {reason: 1}
    assert tally.counts["posts"] == 2


async def test_a_second_run_changes_nothing(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "posts.gz"
    rows = [row(f"s{i}", f"post {i}", in_reply_to=f"s{i - 1}" if i % 3 else None) for i in range(300)]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    await import_posts(services, path)
    before = await state_of(services)
    again = await import_posts(services, path)
    assert (again.counts["posts"], again.counts["standing"]) == (0, 300)
    assert await state_of(services) == before


async def test_a_post_of_the_first_millisecond_is_imported_once(services: Services, tmp_path: Path) -> None:
    """The digest of this source ends in twelve zeros, so its post gets the lowest possible id."""
    path = write_rows(tmp_path / "posts", [row("4163", created_at="2000-01-01T00:00:00Z")])
    await import_posts(services, path)
    (post,) = await read_profile_posts(services, "alice")
    assert post.id == 1
    again = await import_posts(services, path)
    assert (again.counts["posts"], again.counts["standing"]) == (0, 1)


class Unplugged(ImportedPosts):
    """A repository that loses the store at one step of its second segment."""

    def __init__(self, store: Store, step: str) -> None:
        super().__init__(store, profile_cap=1000)
        self.step = step
        self.segments = 0

    async def claim(self, wanted: Any) -> Any:
        self.segments += 1
        return self._through("claim", await super().claim(wanted))

    async def write(self, posts: Any) -> Any:
        return self._through("write", await super().write(posts))

    async def place(self, posts: Any) -> None:
        self._through("place", await super().place(posts))

    async def finish(self, done: Any) -> None:
        if self.step == "half of finish" and self.segments == 2:
            done = list(done)[:5]
        await super().finish(done)
        self._through("half of finish", None)

    def _through(self, step: str, value: Any) -> Any:
        if step == self.step and self.segments == 2:
            raise StoreUnavailable("unplugged")
        return value


def segments_of_20(services: Services, posts: ImportedPosts) -> PostsImport:
    at = services.repositories
    return PostsImport(
        accounts=services.accounts,
        posts=posts,
        public=at.public,
        affected=AffectedTimelines(at.follows, at.members, at.homes, at.list_timelines),
        ranks=GraphRanks(services.store),
        stored_posts=at.posts,
        indexing=services.search_indexer,
        media=services.media,
        media_processing=services.media_processing,
        new_hashtags=services.new_hashtags,
        limits=services.action_limits,
        rows_per_segment=20,
    )


@pytest.mark.parametrize("step", ["claim", "write", "place", "half of finish"])
async def test_the_next_run_finishes_an_interrupted_run_without_duplicates(
    services: Services, tmp_path: Path, step: str
) -> None:
    path = write_rows(tmp_path / "posts", [row(f"s{i}", f"post {i}") for i in range(60)])
    stopped = segments_of_20(services, Unplugged(services.store, step))
    with pytest.raises(StoreUnavailable):
        await stopped.run(LineFile(path), PostsOptions(RULES), Tally(), NOW_MS)
    # The times differ from the first run; posts that were begun keep their ids.
    await import_posts(services, path, RowRules(max_graphemes=500, latest_ms=NOW_MS, shift_ms=1000))
    texts = [post.text for post in await read_profile_posts(services, "alice")]
    assert sorted(texts) == sorted(f"post {i}" for i in range(60))
    assert len((await state_of(services))["public"]) == 60


async def test_an_id_of_another_source_is_skipped(services: Services) -> None:
    posts = ImportedPosts(services.store, profile_cap=1000)
    post_id = id_at(NOW_MS, 7)
    first = await posts.claim([("a", post_id), ("b", post_id)])
    second = await posts.claim([("c", post_id)])
    assert [first["a"].post_id, first["b"].post_id, second["c"].post_id] == [post_id, post_id + 1, post_id + 2]
    assert await posts.claim([("a", PostId(post_id + 100))]) == {"a": first["a"]}


async def test_a_row_keeps_its_former_versions(services: Services, tmp_path: Path) -> None:
    edited = row("1", "second", versions=[{"text": "first"}], edited_at="2015-06-01T10:05:00Z")
    await import_posts(services, write_rows(tmp_path / "posts", [edited]))
    (post,) = await read_profile_posts(services, "alice")
    versions = await services.repositories.posts.find_versions(post.id)
    assert [version.text for version in versions] == ["first", "second"]


async def test_a_deleted_import_stays_deleted(services: Services, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "posts", [row("a"), row("b")])
    await import_posts(services, path)
    (first, second) = await read_profile_posts(services, "alice")
    await services.publishing.delete(account_id=first.author_id, post_id=first.id)
    await import_posts(services, path)
    assert [post.id for post in await read_profile_posts(services, "alice")] == [second.id]


async def test_home_and_list_timelines_show_imported_posts(services: Services, tmp_path: Path) -> None:
    owners = await services.accounts.import_accounts(handles=["alice", "reader"], now_ms=NOW_MS)
    reader, alice = owners["reader"], owners["alice"]
    await services.following.follow(follower_id=reader, followed_id=alice, now_ms=NOW_MS)
    named = await services.lists.create(owner_id=reader, title="friends", now_ms=NOW_MS)
    await services.lists.add_member(owner_id=reader, list_id=named.id, account_id=alice, now_ms=NOW_MS)
    assert (await services.reading.home(reader)).entries == ()
    assert (await services.lists.read_timeline(named.id, viewer_id=reader)).entries == ()
    await import_posts(services, write_rows(tmp_path / "posts", [row("a"), row("b")]))
    assert len((await services.reading.home(reader)).entries) == 2
    assert len((await services.reading.home(alice)).entries) == 2
    assert len((await services.lists.read_timeline(named.id, viewer_id=reader)).entries) == 2


async def test_authors_are_assigned_to_accounts_of_the_graph_by_rank(services: Services, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    graph.write_text("1\t9\n2\t9\n3\t9\n1\t8\n2\t8\n1\t7\n")
    await services.graph_import.run(LineFile(graph), GraphOptions(), Tally(), NOW_MS)
    rows = [
        row(f"{author}{i}", author=author) for author, n in [("few", 1), ("most", 3), ("some", 2)] for i in range(n)
    ]
    await import_posts(services, write_rows(tmp_path / "posts", rows), to_graph=True)
    assert [len(await read_profile_posts(services, handle)) for handle in ("n9", "n8", "n7")] == [3, 2, 1]
    assert await services.accounts.find_by_handle("most") is None


async def test_assigning_authors_without_a_graph_is_refused(services: Services, tmp_path: Path) -> None:
    with pytest.raises(NoGraph):
        await import_posts(services, write_rows(tmp_path / "posts", [row("a")]), to_graph=True)


async def test_a_dry_run_writes_nothing(services: Services, deployment: Deployment, tmp_path: Path) -> None:
    before = deployment.all_keys()
    tally = await import_posts(services, write_rows(tmp_path / "posts", [row("a"), "{"]), dry=True)
    assert (tally.counts["posts"], tally.refused.total()) == (1, 1)
    assert deployment.all_keys() == before


@pytest.mark.parametrize(
    ("author", "handle"),
    [("FLOTUS", "flotus"), ("Jo Ann-é", "jo_ann__"), ("x" * 30, "x" * 20), ("日本", "__"), ("Straße", "strasse")],
)
def test_an_authors_name_becomes_a_handle(author: str, handle: str) -> None:
    assert parse_handle(author) == handle


@pytest.mark.nightly
async def test_thai_posts_above_the_length_limit_are_refused(services: Services) -> None:
    tally = await import_posts(services, corpus_path("posts/wisesight-thai.jsonl.gz"))
    assert tally.refused["text_too_long"] == 240
    assert tally.counts["posts"] + tally.refused.total() == 12_000


async def test_html_entities_are_decoded_once(services: Services) -> None:
    path = corpus_path("posts/whitehouse-flotus.jsonl.gz")
    with gzip.open(path, "rt") as lines:
        escaped = sum("&amp;" in line for line in lines)
    tally = await import_posts(services, path, RowRules(max_graphemes=500, latest_ms=NOW_MS, unescape=True))
    posts = await read_profile_posts(services, "flotus")
    assert escaped == 374
    assert tally.counts["posts"] == len(posts) == 3_152
    assert sum("&amp;" in post.text for post in posts) == 0
    assert sum("&" in post.text for post in posts) >= 374
