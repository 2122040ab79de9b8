"""Write docs/reference/benchmarks.md from recorded results.

The last results of each benchmark are stored as JSON beside the page. A new measurement of one benchmark leaves
the results of the others, each with its own date, commit and machine.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from benchmarks import machine, pages
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.pages import DOCS

KEPT, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
HEAD = """# Benchmarks

`make bench` (`python -m benchmarks [NAMES] [--rounds N]`) writes this page. The docstring of a module (of B5
`benchmarks/b5_home_page.py`) describes what its benchmark measures, and the reference. A figure is the median
of its rounds, with the lowest and the highest in brackets. A reference runs in turn with the product in the
same run, so the budget applies to the ratio (product / reference, round by round). `MISSED` means that the
median does not meet the budget; if the brackets include the budget, the run does not decide it. The load of a
run is the machine's at its end: above the number of cores other programs disturbed figures made of time
(requests/s, waiting, B4, B9), CPU time and bytes less.
"""
MISSED = """
## Missed budgets

Shares of processor time, sampled with py-spy (`py-spy record --pid PID --format raw`).

- **B21, home as met.** The record in the table is older than commit 13dc1c48, with which the page takes 0.80 of the
  CPU. [The profile](decisions/home-page-cost.md) has its parts; no part dominates.
- **B18, a page from four shards.** The same page took 2.25 times the CPU of one server before commit 923c7269. Of the
  rest, about 55 us of 300 us place 111 commands on their nodes, and each of four nodes costs one more request,
  reply and wakeup. The first read of the page cannot be sent before it is awaited.
- **B18, a home by number of follows.** The ratios of B9 on one server and on the cluster varied by 0.5 in this run.
- **B27, imports.** The record in the table is of 2026-11-22. On 2026-11-24, commits d4c70c86 and 61fa8d03 ran three
  times in turn without other programs: follows took 19.9 and 17.5 s, posts 24.3 and 17.9 s (medians). The processor
  was slower on that day: a page of B18 took 615 us on one server, and 155 us on 2026-11-21. The client is the
  bottleneck. Of its time, the import of follows takes 33 % for accounts with their names in the search index, 25 % for
  lines and handles, 16 % for the calls that add edges. The import of posts takes 36 % for the postings of the search
  index, 14 % for rows, 12 % for the sets of posts.
- **B12, backup, restore and audit.** The records in the table are older than these budgets: 15, 60 and 20 s. Of the
  time of an audit, 47 % is the comparison of both sides of 870,161 follows, 16 % the walk over the keys and the search
  for their families, 11 % the indexes of posts, 9 % posts. Of the rebuild after a restore, 90 % is its audit.

Seconds of processor time of the client, and in brackets of Redis. Each was measured once, on 2026-11-24, in turn with
both commits, on two cores that other programs shared (load 2 to 6). Redis had a unix socket and no persistence, and
nobody posted during the backup. Other programs lengthen these times: in another hour the import of follows with
commit 54549ad6 took 9.9 s.

| work | commit d4c70c86 | commit d28a3edc |
|---|---|---|
| import of 870,161 follows | 19.5 (11.2) | 14.2 (10.0) |
| import of 72,567 posts with search | 15.3 (8.9) | 12.1 (6.8) |
| backup of 1,083,714 keys | 34.2 (10.0) | 14.9 (8.1) |
| rebuild of caches after a restore, with audit | 73.5 (26.3) | 53.1 (27.9) |
| audit of 1,083,714 keys | 59.1 (14.8) | 46.8 (17.1) |
"""
COLUMNS = ("", "figure", "this site", "reference", "ratio", "budget", "verdict")

StoredRun = dict[str, Any]


def record(name: str, figures: Sequence[Figure], rounds: int) -> None:
    """Replace the last results of a benchmark and write the page again."""
    records = _read()
    records[name] = {
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": machine.commit(),
        "machine": machine.description(),
        "load": round(machine.load(), 1),
        "rounds": rounds,
        "figures": [asdict(figure) for figure in figures],
    }
    DOCS.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(records, indent=1) + "\n")


def write(modules: dict[str, ModuleType]) -> None:
    """Write the page from all recorded results."""
    records = {name: found for name, found in _read().items() if name in modules}
    names = [name for name in modules if name in records]
    PAGE.write_text("\n".join([HEAD, table(names, records), MISSED, "## Runs\n", runs(names, records), ""]))


def table(names: Sequence[str], kept: StoredRun) -> str:
    rows = [[name, *_cells(figure_of(each))] for name in names for each in kept[name]["figures"]]
    return pages.table([COLUMNS, *rows])


def runs(names: Sequence[str], kept: StoredRun) -> str:
    """Return a paragraph per machine and a line per date and commit, with the benchmarks of that run."""
    machines: dict[str, dict[str, list[str]]] = {}
    for name in names:
        run = kept[name]
        text = f"{run['at'][:10]}, commit {run['commit']}, {rounds_of(run)}"
        lines = machines.setdefault(run["machine"], {})
        lines.setdefault(text, []).append(f"{name} (load {run['load']})")
    return "\n\n".join(
        "\n".join([f"On {described}:\n", *(f"- {', '.join(found)}: {text}" for text, found in lines.items())])
        for described, lines in machines.items()
    )


def rounds_of(run: StoredRun) -> str:
    """Return the largest number of samples of the run's figures: some figures are measured only once."""
    most = max(len(figure["ours"]["values"]) for figure in run["figures"])
    return f"{most} rounds" if most > 1 else "1 round"


def figure_of(kept: StoredRun) -> Figure:
    samples = {key: Samples(tuple(kept[key]["values"])) if kept[key] else None for key in ("ours", "reference")}
    budget = Budget(**kept["budget"]) if kept["budget"] else None
    return Figure(**{**kept, **samples, "budget": budget})


def stored_figure(name: str, what: str, unit: str, against: str = "") -> Figure | None:
    """Return the last recorded figure, or None. If several references exist, `against` names one; default the first."""
    for kept in _read().get(name, {}).get("figures", ()):
        if (kept["what"], kept["unit"]) == (what, unit) and against in ("", kept["against"]):
            return figure_of(kept)
    return None


def stored_median(name: str, what: str, unit: str) -> float | None:
    """Return the median of this site's side of the last recorded figure, or None."""
    figure = stored_figure(name, what, unit)
    return None if figure is None else figure.ours.median


def _cells(figure: Figure) -> list[str]:
    reference = "" if figure.reference is None else f"{figure.reference}: {figure.against}"
    ratio = "" if figure.ratio is None else str(figure.ratio)
    budget = "" if figure.budget is None else str(figure.budget)
    if figure.budget is not None and (figure.absolute or figure.ratio is None):
        budget += f" {figure.unit}"
    what = f"{figure.what} ({figure.note})" if figure.note else figure.what
    return [what, f"{figure.ours} {figure.unit}", reference, ratio, budget, figure.verdict]


def _read() -> StoredRun:
    records: StoredRun = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return records
