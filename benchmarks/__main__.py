"""`python -m benchmarks [NAMES] [--rounds N] [--quick]`: measure, print, write docs/reference/benchmarks.md.

The exit status is 0 if a budget is missed (the page says so) and 1 if a benchmark could not be measured.
--quick measures too little to be recorded. README.md's figures are written too. Two names only write files:
`python -m benchmarks scale` writes docs/reference/scale.md, `python -m benchmarks readme` writes README.md's
figures again from the records.
"""

import argparse
import asyncio
import importlib
import subprocess
import sys
import time
from types import ModuleType

from benchmarks import machine, readme, report, scale
from benchmarks.figures import DataNotAvailable
from benchmarks.running import arguments, parse_plan, show
from socialsite.store.errors import StoreError

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
    "B12": "b12_backup",
    "B13": "b13_forecast",
    "B14": "b14_settings",
    "B15": "b15_large_fanout",
    "B16": "b16_pulling",
    "B17": "b17_search",
    "B18": "b18_topologies",
    "B19": "b19_evenness",
    "B20": "b20_units",
    "B21": "b21_as_met",
    "B25": "b25_phone",
    "B27": "b27_import",
    "B29": "b29_make_run",
    "B30": "b30_api_home",
    "B31": "b31_pictures",
}


def main() -> None:
    if sys.argv[1:2] == ["scale"]:
        scale.main(sys.argv[2:])
        return
    if sys.argv[1:] == ["readme"]:
        readme.write()
        return
    parser = arguments(argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__))
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"of {', '.join(MODULES)}; default all")
    options = parser.parse_args()
    names = [require_module(name) for name in options.names] or list(MODULES)
    if unknown := [name for name in names if name not in MODULES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    modules = {name: importlib.import_module(f"benchmarks.{MODULES[name]}") for name in MODULES}
    print(f"commit {machine.commit()}, load {machine.load():.1f}, {machine.description()}")
    failed = [name for name in names if not run_measurement(name, modules, options)]
    if failed:
        sys.exit(f"Not measured: {', '.join(failed)}")


def require_module(name: str) -> str:
    """Return the name as it is in MODULES: B5b for b5b and B5B, B12 for backup."""
    word = name.lower()
    return next((n for n, module in MODULES.items() if word in (n.lower(), module.partition("_")[2])), name)


def run_measurement(name: str, modules: dict[str, ModuleType], options: argparse.Namespace) -> bool:
    """Return False if the benchmark failed; the page keeps its last results."""
    plan, started = parse_plan(options), time.perf_counter()
    try:
        figures = asyncio.run(modules[name].measure(plan))
    except DataNotAvailable as missing:
        print(f"{name:4} skipped: {missing}", flush=True)
        return True
    except (RuntimeError, OSError, StoreError, subprocess.SubprocessError) as error:
        print(f"{name:4} FAILED: {type(error).__name__}: {error}", flush=True)
        return False
    show(name, figures)
    print(f"{'':4} {time.perf_counter() - started:.0f} s, load {machine.load():.1f}", flush=True)
    if not options.quick:
        report.record(name, figures, plan.rounds)
        report.write(modules)
        readme.write()
    return True


if __name__ == "__main__":
    main()
