"""Write docs/reference/benchmarks.md from the record of the last run.

The record is JSON beside the page: release, commit and machine of the run, and the figures of each benchmark. A run
begins with an empty record, so the page has no figure of an earlier run or release.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

import msgspec

from benchmarks import machine, pages
from benchmarks.figures import Figure
from benchmarks.imported import graph_name
from benchmarks.pages import DOCS
from socialsite import __version__

KEPT, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
HEAD = """# Benchmarks

`make bench` measures everything in one run, writes this page, and keeps nothing of an earlier run. `python -m
benchmarks NAMES [--rounds N]` only prints. The docstring of a module (of B5 `benchmarks/b5_home_page.py`) describes
what its benchmark measures, and the reference. A figure is the median of its rounds, with the lowest and the highest in
brackets. A reference runs in turn with the product in the same run, so the budget applies to the ratio (product /
reference, round by round). `MISSED` means that the median does not meet the budget; if the brackets include the budget,
the run does not decide it. The load is the machine's at the end of a benchmark: above the number of cores other
programs disturbed figures made of time (requests/s, waiting, B4, B9), CPU time and bytes less.

Follows and posts are synthetic, or real ones of tests/data. Two files are not part of the repository, because their
licences forbid a copy. Without the graph slashdot0902, B13, B19, B20, B26 and B27 use a synthetic graph of the same
size; the next lines name the graph. Without the posts nsmc-korean, B17 has no rows of Korean.
"""
MISSED = """
## Where the time goes

What profiles have shown of figures that miss their budget, or missed it in an earlier release. Shares are of processor
time, sampled with py-spy (`py-spy record --pid PID --format raw`).

- **B21, home as met.** [The profile](decisions/home-page-cost.md) has its parts; no part dominates.
- **B25, largest paint.** Between the first byte and the paint the browser waits for the stylesheet, which the head of
  the response requests while the page is read; then it applies the rules and lays out the posts. The script runs later.
- **B18, a page from four shards.** Less than a fifth of the client's time places the commands on their nodes; each of
  four nodes costs one more request, reply and wakeup. The first read of the page cannot be sent before it is awaited.
- **B27, imports.** The client is the bottleneck. The import of follows takes most of its time for accounts with their
  names in the search index, then for lines and handles, then for the calls that add edges. The import of posts takes
  most for the postings of the search index, then for rows, then for the sets of posts.
- **B26, audit and restore.** An audit takes half of its time to compare both sides of the follows, and most of the rest
  for the walk over the keys, and for the indexes of posts. Most of the time of a restore is its audit.
"""
COLUMNS = ("", "figure", "this site", "reference", "ratio", "budget", "verdict")


@dataclass(slots=True)
class Outcome:
    """The figures of a benchmark, or the reason why there are none. `load` is the machine's at the end."""

    at: str
    load: float
    seconds: float
    figures: list[Figure] = field(default_factory=list)
    failure: str = ""


@dataclass(slots=True)
class Run:
    """One run of all benchmarks. `graph` is the graph of follows of B13, B19, B20, B26 and B27."""

    release: str
    began: str
    commit: str
    machine: str
    graph: str
    rounds: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def begin(cls, rounds: int) -> Self:
        return cls(__version__, now(), machine.commit(), machine.description(), graph_name(), rounds)

    @classmethod
    def read(cls) -> Self | None:
        """Return the last run, or None if this release was not measured."""
        run = msgspec.json.decode(KEPT.read_bytes(), type=cls) if KEPT.exists() else None
        return run if run is not None and run.release == __version__ else None

    def write(self) -> None:
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    def add(self, name: str, result: bytes | str, seconds: float) -> None:
        """Add encoded figures, or the reason why there are none."""
        outcome = Outcome(now(), round(machine.load(), 1), round(seconds))
        if isinstance(result, str):
            outcome.failure = result
        else:
            outcome.figures = msgspec.json.decode(result, type=list[Figure])
        self.outcomes[name] = outcome

    def has_measured(self, name: str) -> bool:
        return name in self.outcomes and not self.outcomes[name].failure

    def describe(self, name: str) -> str:
        outcome = self.outcomes[name]
        return f"{outcome.failure or 'measured'}; {outcome.seconds:.0f} s, load {outcome.load}"

    def figure(self, name: str, what: str, unit: str, against: str = "") -> Figure | None:
        """Return a figure, or None. If several references exist, `against` names one; default the first."""
        figures = self.outcomes[name].figures if name in self.outcomes else []
        found = (each for each in figures if (each.what, each.unit) == (what, unit) and against in ("", each.against))
        return next(found, None)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def encode_figures(figures: list[Figure]) -> bytes:
    return msgspec.json.encode(figures)


def write(names: Iterable[str]) -> None:
    """Write the page of the last run."""
    PAGE.write_text(page(Run.read(), names))


def page(run: Run | None, names: Iterable[str]) -> str:
    if run is None:
        return "\n".join([HEAD, not_yet_measured(), MISSED])
    measured = [name for name in names if run.has_measured(name)]
    intro = f"Release {run.release}, commit {run.commit}, {run.rounds} rounds, begun {run.began}, on {run.machine}. "
    rows = [[name, *_cells(figure)] for name in measured for figure in run.outcomes[name].figures]
    ended = [[name, each.at, str(each.load), f"{each.seconds:.0f}"] for name, each in run.outcomes.items()]
    runs = pages.table([("", "ended", "load", "s"), *ended])
    parts = [HEAD, intro + f"Graph of follows: {run.graph}.\n", unmeasured(run, names), pages.table([COLUMNS, *rows])]
    return "\n".join([*parts, MISSED, "## Runs\n", runs, ""])


def not_yet_measured() -> str:
    return f"Release {__version__} has not been measured yet; `make bench` does it."


def unmeasured(run: Run, names: Iterable[str]) -> str:
    """Return a line for each benchmark without figures, with the reason."""
    reasons = {name: run.outcomes[name].failure if name in run.outcomes else "the run ended before" for name in names}
    lines = [f"- {name} was not measured: {reason}" for name, reason in reasons.items() if reason]
    return "\n".join([*lines, ""]) if lines else ""


def _cells(figure: Figure) -> list[str]:
    reference = "" if figure.reference is None else f"{figure.reference}: {figure.against}"
    ratio = "" if figure.ratio is None else str(figure.ratio)
    budget = "" if figure.budget is None else str(figure.budget)
    if figure.budget is not None and (figure.absolute or figure.ratio is None):
        budget += f" {figure.unit}"
    what = f"{figure.what} ({figure.note})" if figure.note else figure.what
    return [what, f"{figure.ours} {figure.unit}", reference, ratio, budget, figure.verdict]
