"""`python -m benchmarks [NAMES] [--rounds N] [--quick]`: measure, print, and write docs/benchmarks.md.

Exit status 0 also where a budget is missed: the page says so. --quick measures too little to be kept.
"""

import argparse
import asyncio
import importlib
import time
from types import ModuleType

from benchmarks import machine, report
from benchmarks.running import arguments, plan_of, show

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
}


def main() -> None:
    parser = arguments(argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__))
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"of {', '.join(MODULES)}; default all")
    options = parser.parse_args()
    names = [known(name) for name in options.names] or list(MODULES)
    if unknown := [name for name in names if name not in MODULES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    modules = {name: importlib.import_module(f"benchmarks.{MODULES[name]}") for name in MODULES}
    print(f"commit {machine.commit()}, load {machine.load():.1f}, {machine.description()}")
    for name in names:
        measure(name, modules[name], options)
    if not options.quick:
        report.write(modules)
        print(f"Written: {report.PAGE.relative_to(report.PAGE.parents[1])}")


def known(name: str) -> str:
    """The name as we write it: B5b for b5b and B5B."""
    return next((each for each in MODULES if each.lower() == name.lower()), name)


def measure(name: str, module: ModuleType, options: argparse.Namespace) -> None:
    plan, started = plan_of(options), time.perf_counter()
    figures = asyncio.run(module.measure(plan))
    show(name, figures)
    print(f"{'':4} {time.perf_counter() - started:.0f} s")
    if not options.quick:
        report.record(name, figures, plan.rounds)


if __name__ == "__main__":
    main()
