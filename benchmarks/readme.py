"""Write the table of figures in README.md from docs/reference/benchmarks.json.

Every run writes the table again; tests/unit/documents/test_readme.py compares it with the record of the last run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import Figure
from benchmarks.pages import ROOT, replace_section, table
from benchmarks.report import Run, not_yet_measured

PAGE = ROOT / "README.md"
BEGIN = "<!-- python -m benchmarks -->"


@dataclass(frozen=True, slots=True)
class ReadmeRow:
    """A row of the table; `ours` and `reference` have a {} for each figure.

    A figure is (benchmark, what, unit), or also the name of its reference if it has several.
    """

    what: str
    ours: str
    reference: str
    figures: tuple[tuple[str, ...], ...]


HELLO, HOME, PUBLISH = ('Django\'s stock async "hello"', "home page of 30, signed in", "publish, until the answer")
MAKE_RUN, AS_MET = "home of 30 posts, `make run`", "home of 30 as met: web, worker and Redis"
ROWS = (
    ReadmeRow(
        "home page of 30 posts of one reader, `make run` alone",
        "{} ms, {} ms of CPU of web, worker and Redis",
        "compressed, append-only file on",
        (("B29", f"{MAKE_RUN}, one connection", "ms"), ("B29", f"{MAKE_RUN}: web, worker and Redis", "CPU ms/request")),
    ),
    ReadmeRow(
        "the same with 1,000,000 posts, 10,000 readers, 20 posts/s, nginx",
        "{} ms of CPU of web, worker and Redis",
        "\"hello\" behind the same nginx: {} ms on Django's stock handler, {} ms on this site's",
        (
            ("B21", AS_MET, "CPU ms/request"),
            ("B21", AS_MET, "CPU ms/request", "hello on the site's handler, behind nginx"),
        ),
    ),
    ReadmeRow(
        "the only web process is killed, until it serves again",
        "{} s",
        "",
        (("B29", "the only web process killed, until it serves a page", "s"),),
    ),
    ReadmeRow(
        "memory of all processes, `make run` with its demo, after 200 pages",
        "{} MB",
        "",
        (("B33", "an idle site after 200 pages of 20 readers", "MB"),),
    ),
    ReadmeRow(
        "import of 870,161 follows; of 72,567 posts with search",
        "{} s; {} s",
        "the same commands, sent by a plain loop: {} s; {} s",
        (("B27", "import of the follows", "s"), ("B27", "import of 72,567 posts with search", "s")),
    ),
    ReadmeRow(
        "signed-in home page of 30 posts, whole, over daphne",
        "{} pages/s, {} ms of CPU of web, worker and Redis",
        'Django\'s stock async "hello": {}/s, {} ms',
        (("B5", HOME, "requests/s"), ("B5", HOME, "CPU ms/request")),
    ),
    ReadmeRow(
        PUBLISH,
        "{}/s, {} ms of CPU of web and Redis",
        'the same "hello": {}/s, {} ms',
        (("B5c", PUBLISH, "requests/s"), ("B5c", PUBLISH, "CPU ms/request")),
    ),
    ReadmeRow(
        "one post into 10,000 full homes",
        "{} deliveries/s",
        "Redis in Action, listing 8.6: {}/s",
        (("B2", "one post to 10,000 full homes, by the worker", "deliveries/s"),),
    ),
    ReadmeRow(
        "one post to 2,000 open sockets",
        "{} us of CPU a delivery",
        "channels_redis: {} us",
        (("B6", "one post to 2,000 sockets, their homes", "CPU us/delivery"),),
    ),
)


def write() -> None:
    PAGE.write_text(replace_section(PAGE.read_text(), BEGIN, [figures()]))


def figures() -> str:
    """Return the table, or a sentence if this release has not been measured."""
    run = Run.read()
    return (
        not_yet_measured()
        if run is None
        else table([(f"release {run.release}, {run.began[:10]}", "this site", "beside it"), *_cells(run)])
    )


def _cells(run: Run) -> Iterator[tuple[str, str, str]]:
    """Yield the cells of each row."""
    for row in ROWS:
        stored_figures = [figure for name in row.figures if (figure := run.figure(*name)) is not None]
        if len(stored_figures) < len(row.figures):
            yield row.what, "not measured", ""
            continue
        ours = row.ours.format(*(format_rounded(figure.ours.median) for figure in stored_figures))
        missed = dict.fromkeys(_missed_budget(each) for each in stored_figures if each.verdict == "MISSED")
        yield row.what, ours + "".join(missed), row.reference.format(*_references(stored_figures))


def _missed_budget(figure: Figure) -> str:
    bounds_ratio = figure.ratio is not None and not figure.absolute
    return f"; **missed: {'ratio' if bounds_ratio else figure.unit} {figure.budget}**"


def _references(found: list[Figure]) -> Iterator[str]:
    for figure in found:
        if figure.reference is not None:
            yield format_rounded(figure.reference.median)


def format_rounded(value: float) -> str:
    """Return three significant digits, which is the precision of the measurement."""
    return f"{float(f'{value:.3g}'):,.12g}"
