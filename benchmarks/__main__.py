"""`python -m benchmarks`: measure everything, and write docs/reference/benchmarks.md and README.md's figures.

Each benchmark is a process of its own: if it fails or takes longer than MAX_S, the others are measured. The pages name
the benchmarks that were not measured. Nothing of an earlier run is kept; `--rest` continues the last run if the
product is the same. The exit status is 1 if a benchmark could not be measured, and 0 if a budget is missed.

`python -m benchmarks NAMES` measures these and only prints. `--quick` measures too little, and records nothing.
`python -m benchmarks pages` writes both pages again from the record, `python -m benchmarks scale` writes
docs/reference/scale.md.
"""

import argparse
import asyncio
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import machine, readme, report, scale
from benchmarks.figures import DataNotAvailable
from benchmarks.running import arguments, parse_plan, show

MAX_S = 1_800.0
"""A benchmark that takes longer is ended."""
STOP_S = 30.0

MODULES = {
    "B1": "b1_fanout",
    "B2": "b2_seed_fanout",
    "B3": "b3_bytes",
    "B4": "b4_home_read",
    "B5": "b5_home_page",
    "B5b": "b5b_other_pages",
    "B5c": "b5c_publish",
    "B6": "b6_push",
    "B7": "b7_push_latency",
    "B8": "b8_socket_memory",
    "B9": "b9_growth",
    "B10": "b10_rebuild",
    "B11": "b11_statistics",
    "B13": "b13_forecast",
    "B15": "b15_large_fanout",
    "B17": "b17_search",
    "B18": "b18_topologies",
    "B19": "b19_evenness",
    "B20": "b20_units",
    "B21": "b21_as_met",
    "B25": "b25_phone",
    "B26": "b26_operators",
    "B27": "b27_import",
    "B29": "b29_make_run",
    "B30": "b30_api_home",
    "B31": "b31_pictures",
    "B33": "b33_memory",
}


def main() -> None:
    if sys.argv[1:2] == ["scale"]:
        scale.main(sys.argv[2:])
        return
    parser = arguments(argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__))
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"of {', '.join(MODULES)}; default all")
    parser.add_argument(
        "--rest", action="store_true", help="measure what the last run of this product has not measured"
    )
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.names == ["pages"]:
        write_pages()
        return
    names = [require_module(name) for name in options.names]
    if unknown := [name for name in names if name not in MODULES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    if names:
        for name in names:
            measure(name, options)
    else:
        measure_all(options)


def require_module(name: str) -> str:
    """Return the name as it is in MODULES: B5b for b5b and B5B, B26 for operators."""
    word = name.lower()
    return next((n for n, module in MODULES.items() if word in (n.lower(), module.partition("_")[2])), name)


def measure(name: str, options: argparse.Namespace) -> None:
    """Measure and print; write the figures into the file `--into`, if there is one."""
    try:
        figures = asyncio.run(importlib.import_module(f"benchmarks.{MODULES[name]}").measure(parse_plan(options)))
    except DataNotAvailable as missing:
        sys.exit(str(missing))
    show(name, figures)
    if options.into:
        options.into.write_bytes(report.encode_figures(figures))


def measure_all(options: argparse.Namespace) -> None:
    run = report.Run.read() if options.rest else None
    if run is None or not machine.has_product_of(run.commit):
        run = report.Run.begin(parse_plan(options).rounds)
    print(f"commit {run.commit}, load {machine.load():.1f}, {run.machine}", flush=True)
    for name in [name for name in MODULES if not run.has_measured(name)]:
        began = time.perf_counter()
        outcome = measure_apart(name, options)
        run.add(name, outcome, time.perf_counter() - began)
        print(f"{name:4} {run.describe(name)}", flush=True)
        if not options.quick:
            run.write()
            write_pages()
    if unmeasured := [name for name in MODULES if not run.has_measured(name)]:
        sys.exit(f"Not measured: {', '.join(unmeasured)}")


def measure_apart(name: str, options: argparse.Namespace) -> bytes | str:
    """Measure in a process of its own. Return the encoded figures, or the reason why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        into, errors = Path(folder) / "figures", Path(folder) / "errors"
        words = [name, "--rounds", str(options.rounds), *["--quick"] * options.quick, "--into", str(into)]
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks", *words], stderr=file, start_new_session=True
            )
        try:
            process.wait(MAX_S)
        except subprocess.TimeoutExpired:
            return f"it took longer than {MAX_S:.0f} s"
        finally:
            end(process)
            sys.stderr.write(errors.read_text())
        lines = errors.read_text().split("\n")
        return into.read_bytes() if process.returncode == 0 else " ".join(lines[-2:]).strip()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Let a process stop what it started, then kill what is left of it."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def write_pages() -> None:
    report.write(MODULES)
    readme.write()


if __name__ == "__main__":
    main()
