"""`python -m benchmarks.flame NAME [--seconds N] [--out FILE]`: draw a flame graph of processor time.

In a flame graph each box is a function, the boxes below it are the functions that it called, and its width is the
share of the time spent in it or below. The full name appears when the pointer is over a box. This program draws it
(flame_svg.py) from samples of the running process (sampling.py); benchmarks/flames/ contains the profiled workloads.
"""

import argparse
import asyncio
import importlib
from pathlib import Path

from benchmarks.environment import prepare
from benchmarks.flame_svg import render_svg
from benchmarks.flames import NAMES, Flame

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flame", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seconds", type=float, default=20, help="of load; default 20")
    parser.add_argument("--out", type=Path, help="where the picture goes; default docs/images/flame-NAME.svg")
    options = parser.parse_args()
    prepare()
    module = importlib.import_module(f"benchmarks.flames.{options.name}")
    flame: Flame = asyncio.run(module.collect(options.seconds))
    file = options.out or IMAGES / f"flame-{options.name}.svg"
    file.write_text(render_svg(flame, f"python -m benchmarks.flame {options.name}"))
    print(f"{file}: {flame.stacks.total()} samples, {flame.count} x {flame.unit} of {flame.unit_us:.0f} us CPU")


if __name__ == "__main__":
    main()
