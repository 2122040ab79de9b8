"""The options of a run, and its figures on a terminal."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.figures import Figure, Plan


def arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds that count; default 5")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it runs")
    return parser


def parse_plan(options: argparse.Namespace) -> Plan:
    return Plan(rounds=max(1, options.rounds), quick=options.quick)


def show(name: str, figures: Sequence[Figure]) -> None:
    for figure in figures:
        print(f"{name:4} {line(figure)}")
    sys.stdout.flush()


def line(figure: Figure) -> str:
    parts = [f"{figure.what}: {figure.ours} {figure.unit}"]
    if figure.reference is not None:
        parts.append(f"{figure.against} {figure.reference}")
        parts.append(f"ratio {figure.ratio}")
    if figure.budget is not None:
        parts.append(f"budget {figure.budget}: {figure.verdict}")
    if figure.note:
        parts.append(figure.note)
    return "; ".join(parts)
