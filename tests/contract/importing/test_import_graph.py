"""Importing a follow graph: direction, refused lines, repetition, and home timelines afterwards."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.corpora import corpus_path
from tests.support.topologies import Deployment
from timelines.importing.graph import GraphImport, GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.repository import GraphRanks

NOW_MS = 1_790_000_000_000


class Stopped(Exception):
    """The operator presses Ctrl-C."""


def written(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


async def run(services: Services, path: Path, options: GraphOptions | None = None) -> Tally:
    tally = Tally()
    await services.graph_import.run(LineFile(path), options or GraphOptions(), tally, NOW_MS)
    return tally


async def id_of(services: Services, handle: str) -> AccountId:
    account = await services.accounts.find_by_handle(handle)
    assert account is not None
    return AccountId(account.id)


async def handles_followed_by(services: Services, handle: str) -> set[str]:
    ids = await services.repositories.follows.following_ids(await id_of(services, handle))
    return {author.handle for author in (await services.accounts.find_authors(ids)).values()}


@pytest.mark.parametrize(
    ("options", "of_1", "of_2"),
    [
        (GraphOptions(), {"n2", "n3"}, set()),
        (GraphOptions(reverse=True), set(), {"n1"}),
        (GraphOptions(undirected=True), {"n2", "n3"}, {"n1"}),
    ],
)
async def test_the_option_determines_the_direction(
    services: Services, tmp_path: Path, options: GraphOptions, of_1: set[str], of_2: set[str]
) -> None:
    await run(services, written(tmp_path / "graph.tsv", ["1\t2", "1\t3"]), options)
    assert await handles_followed_by(services, "n1") == of_1
    assert await handles_followed_by(services, "n2") == of_2


async def test_self_loops_and_comments_are_skipped_and_invalid_lines_are_reported(
    services: Services, tmp_path: Path
) -> None:
    lines = ["# a comment", "1\t1", "", "1 2", "1\t2\t3", "4", "1\té", "7\t" + "8" * 30, "1\t" + "9" * 2_000_000]
    heard: list[tuple[int, str]] = []
    tally = Tally(on_refused=lambda number, reason: heard.append((number, reason)))
    path = written(tmp_path / "graph.tsv", lines)
    await services.graph_import.run(LineFile(path), GraphOptions(), tally, NOW_MS)
    assert tally.counts == {"self_loop": 1, "follows": 1, "standing": 0, "accounts": 2}
    assert heard == [(5, "columns"), (6, "columns"), (7, "handle"), (8, "handle"), (9, "line_too_long")]
    assert tally.refused == {"columns": 2, "handle": 2, "line_too_long": 1}


async def test_a_second_run_changes_nothing(services: Services, deployment: Deployment, tmp_path: Path) -> None:
    path = tmp_path / "graph.tsv.gz"
    path.write_bytes(gzip.compress(b"1\t2\n2\t3\n3\t1\n"))
    await run(services, path)
    before = deployment.all_keys()
    again = await run(services, path)
    assert again.counts["follows"] == 0
    assert again.counts["standing"] == 3
    assert deployment.all_keys() == before


async def test_the_next_run_finishes_an_interrupted_run(services: Services, tmp_path: Path) -> None:
    importer = services.graph_import
    importer.edges_per_batch = 10
    path = written(tmp_path / "graph.tsv", [f"{i}\t{i + 1}" for i in range(1, 101)])

    class Cut(LineFile):
        def lines(self, tally: Tally):  # type: ignore[no-untyped-def]
            for number, line in super().lines(tally):
                if number == 55:
                    raise Stopped
                yield number, line

    with pytest.raises(Stopped):
        await importer.run(Cut(path), GraphOptions(), Tally(), NOW_MS)
    tally = await run(services, path)
    assert tally.counts["follows"] + tally.counts["standing"] == 100
    assert 0 < tally.counts["follows"] < 100
    assert await handles_followed_by(services, "n100") == {"n101"}


async def test_an_imported_account_cannot_sign_in(services: Services, tmp_path: Path) -> None:
    await run(services, written(tmp_path / "graph.tsv", ["1\t2"]))
    account = await services.accounts.find_by_handle("n1")
    assert account is not None
    assert not account.has_usable_password()


async def test_a_cached_home_is_right_after_an_import(services: Services, tmp_path: Path) -> None:
    owners = await services.accounts.import_accounts(handles=["n1", "n2"], now_ms=NOW_MS)
    post = await services.publishing.publish(author_id=owners["n2"], text="hello", now_ms=services.clock.now_ms())
    assert (await services.reading.home(owners["n1"])).entries == ()
    await run(services, written(tmp_path / "graph.tsv", ["1\t2"]))
    page = await services.reading.home(owners["n1"])
    assert [entry.post.id for entry in page.entries] == [post.id]


async def test_an_import_respects_the_following_cap(services: Services, tmp_path: Path) -> None:
    importer = GraphImport(
        accounts=services.accounts,
        follows=services.repositories.follows,
        homes=services.repositories.homes,
        ranks=GraphRanks(services.store),
        following_cap=2,
    )
    tally = Tally()
    path = written(tmp_path / "graph.tsv", ["1\t2", "1\t3", "1\t4", "2\t1"])
    await importer.run(LineFile(path), GraphOptions(), tally, NOW_MS)
    assert tally.refused == {"following_cap": 1}
    assert tally.counts["follows"] == 3


async def test_a_dry_run_writes_nothing(services: Services, tmp_path: Path) -> None:
    tally = await run(services, written(tmp_path / "graph.tsv", ["1\t2", "x\t"]), GraphOptions(dry_run=True))
    assert tally.counts["follows"] == 1
    assert tally.refused == {"columns": 1}
    assert await services.accounts.find_by_handle("n1") is None


@pytest.mark.parametrize(
    ("name", "options", "accounts", "follows", "most_followed"),
    [
        ("twitter-followers-hersheycareers", GraphOptions(reverse=True), 3_726, 23_939, ("n2979", 1_627)),
        pytest.param(
            *("twitter-followers-verizoncareers", GraphOptions(reverse=True), 9_226, 59_576, ("n1508", 2_420)),
            marks=pytest.mark.nightly,
        ),
        ("ego-facebook-undirected", GraphOptions(undirected=True), 4_039, 2 * 88_234, ("n108", 1_045)),
    ],
)
async def test_real_graphs_are_imported_completely(
    services: Services, name: str, options: GraphOptions, accounts: int, follows: int, most_followed: tuple[str, int]
) -> None:
    tally = await run(services, corpus_path(f"graphs/{name}.tsv.gz"), options)
    assert tally.counts["accounts"] == accounts
    assert tally.counts["follows"] == follows
    assert tally.refused.total() == 0
    (leader,) = await GraphRanks(services.store).most_followed(1)
    handle, followers = most_followed
    assert leader == await id_of(services, handle)
    assert (await services.repositories.follows.counts(AccountId(leader))).followers == followers
