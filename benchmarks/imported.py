"""The large import of the backup and forecast benchmarks: the slashdot graph, and posts for its accounts.

The graph may not be copied into the repository. If it is absent, a synthetic one of the same size is used.
"""

import gzip
import itertools
import random
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import DataNotAvailable, Plan
from benchmarks.servers import ROOT, redis_server
from tests.support.corpora import SOURCES, find_corpus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from socialsite.container import Services

GRAPH, POSTS = "graphs/slashdot0902-directed.tsv.gz", "posts/ubuntu-irc.jsonl.gz"
SYNTHETIC_GRAPH = ROOT / ".cache" / "synthetic-graph.tsv.gz"
GRAPH_ACCOUNTS, GRAPH_FOLLOWS = 82_168, 870_161


def graph_name() -> str:
    return "slashdot0902" if find_corpus(GRAPH) else "synthetic, as large as slashdot0902"


def data_path(name: str) -> Path:
    """Return the path of a data file. Raises DataNotAvailable if it is absent and not synthesized."""
    path = find_corpus(name) or (synthetic_graph() if name == GRAPH else None)
    if path is None:
        raise DataNotAvailable(f"needs {name}, from {SOURCES[name]}")
    return path


def synthetic_graph() -> Path:
    """Return a graph in which both numbers of follows of an account fall as powers of its rank. It is written once."""
    if not SYNTHETIC_GRAPH.exists():
        chance, ids = random.Random(902), range(1, GRAPH_ACCOUNTS + 1)
        weights = list(itertools.accumulate((rank + 3) ** -0.7 for rank in ids))
        active = chance.sample(ids, len(ids))
        edges = dict.fromkeys((one, 1 + one % 100) for one in ids if one > 100)
        while len(edges) < GRAPH_FOLLOWS:
            pairs = zip(*(chance.choices(names, cum_weights=weights, k=1_000) for names in (active, ids)), strict=True)
            edges.update((pair, None) for pair in pairs if pair[0] != pair[1])
        SYNTHETIC_GRAPH.parent.mkdir(exist_ok=True)
        lines = "".join(f"{one}\t{other}\n" for one, other in sorted(itertools.islice(edges, GRAPH_FOLLOWS)))
        SYNTHETIC_GRAPH.write_bytes(gzip.compress(lines.encode(), 1))
    return SYNTHETIC_GRAPH


def split_file(name: str, into: Path, plan: Plan, *parts: float) -> list[Path]:
    """Split the lines of a file into consecutive parts of these shares; `quick` takes a tenth of the lines."""
    with gzip.open(data_path(name), "rt", encoding="utf-8") as file:
        lines = list(file)
    lines = lines[: plan.size(len(lines))]
    ends = [round(len(lines) * share) for share in itertools.accumulate(parts)]
    paths: list[Path] = []
    for number, (start, end) in enumerate(itertools.pairwise([0, *ends])):
        paths.append(into / f"{number}-{Path(name).stem}")
        paths[-1].write_text("".join(lines[start:end]), encoding="utf-8")
    return paths


@asynccontextmanager
async def open_services_on_one_server() -> "AsyncIterator[Services]":
    """Open the services of a site on a separate server."""
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    with redis_server() as server:
        async with open_services(server.url, ServiceConfig()) as services:
            yield services


async def import_graph(services: "Services", path: Path) -> None:
    from timelines.importing.graph import GraphOptions
    from timelines.importing.lines import LineFile, Tally

    now_ms = services.clock.now_ms()
    await services.graph_import.run(LineFile(path), GraphOptions(), Tally(), now_ms)


async def import_posts(services: "Services", path: Path) -> int:
    """Import posts; return the number of new posts."""
    from timelines.importing.lines import LineFile, Tally
    from timelines.importing.posts import PostsOptions
    from timelines.importing.rows import RowRules

    now_ms, tally = services.clock.now_ms(), Tally()
    rules = RowRules(max_graphemes=services.config.post_max_length, latest_ms=now_ms)
    options = PostsOptions(rules, assign_to_graph=True)
    await services.posts_import.run(LineFile(path), options, tally, now_ms)
    return tally.counts["posts"]
