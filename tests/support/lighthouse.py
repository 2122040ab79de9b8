"""Run Lighthouse on the demo site as a phone: `make lighthouse` writes docs/reference/lighthouse.md.

It needs chromium and node (Debian packages chromium, nodejs, npm). It runs `lighthouse` if installed, else npx fetches
the pinned version. Performance depends on the machine and its load: each page is measured three times, and the median
counts.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.chromium import find_chromium
from tests.support.daphnes import ROOT
from tests.support.demo_site import demo_visitor, find_conversation
from tests.support.sites import QuickstartSite

REPORT = ROOT / "docs" / "reference" / "lighthouse.md"
LIGHTHOUSE_PACKAGE = "lighthouse@12.8.2"
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage"
RUNS_PER_PAGE = 3
MAX_ATTEMPTS = 3
"""On a busy machine the browser's trace is sometimes lost."""
TIMEOUT_S = 300
TARGETS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
METRIC_LABELS = {
    "first-contentful-paint": "first paint",
    "largest-contentful-paint": "largest paint",
    "total-blocking-time": "blocked",
    "cumulative-layout-shift": "layout shift",
    "total-byte-weight": "weight",
}
UNSCORED = frozenset({"notApplicable", "informative", "manual", "error"})


@dataclass(frozen=True)
class PageScores:
    """One page: the scores in percent, the figures as Lighthouse formats them, and its suggestions."""

    scores: dict[str, int]
    figures: dict[str, str]
    wishes: list[str]


def program() -> list[str]:
    path = shutil.which("lighthouse")
    return [path] if path else ["npx", "--yes", LIGHTHOUSE_PACKAGE]


def measure_page(url: str, headers: dict[str, str]) -> PageScores:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        arguments = ["--quiet", "--output=json", f"--output-path={report}", f"--chrome-flags={FLAGS}"]
        command = [*program(), url, *arguments, f"--extra-headers={json.dumps(headers)}"]
        for _ in range(MAX_ATTEMPTS):
            env = {**os.environ, "CHROME_PATH": find_chromium() or ""}
            if subprocess.run(command, check=False, timeout=TIMEOUT_S, env=env).returncode == 0:
                return parse_report(json.loads(report.read_text()))
    raise RuntimeError(f"Lighthouse could not look at {url}")


def parse_report(report: dict[str, Any]) -> PageScores:
    """Return the scores, figures and suggestions of a report.

    A suggestion is an audit that lowers the score of its category.
    """
    audits = report["audits"]
    scores = {name: round(100 * (report["categories"][name]["score"] or 0)) for name in TARGETS}
    wishes = [
        f"{name}: {audits[ref['id']]['title']} {audits[ref['id']].get('displayValue', '')}".strip()
        for name in TARGETS
        for ref in report["categories"][name]["auditRefs"]
        if ref["weight"] and audits[ref["id"]]["scoreDisplayMode"] not in UNSCORED
        if audits[ref["id"]]["score"] is not None and audits[ref["id"]]["score"] < 0.9
    ]
    return PageScores(scores, {METRIC_LABELS[id]: audits[id]["displayValue"] for id in METRIC_LABELS}, wishes)


def measure_median(url: str, headers: dict[str, str]) -> PageScores:
    looks = sorted(
        (measure_page(url, headers) for _ in range(RUNS_PER_PAGE)), key=lambda each: each.scores["performance"]
    )
    return looks[RUNS_PER_PAGE // 2]


def pages(site: QuickstartSite) -> dict[str, tuple[str, dict[str, str]]]:
    """Return path and headers by title: home for alice's session, the others without a session."""
    with demo_visitor(site.url, "alice") as alice:
        cookies = "; ".join(f"{each.name}={each.value}" for each in alice.http.cookies.jar)
        return {
            "home": ("/", {"Cookie": cookies}),
            "public": ("/public/", {}),
            "profile": ("/@alice/", {}),
            "post": (find_conversation(alice), {}),
        }


def table(found: dict[str, PageScores]) -> str:
    names = [*TARGETS, *METRIC_LABELS.values()]
    rows = [["page", *names], ["---"] * (len(names) + 1)]
    for title, each in found.items():
        rows.append([title, *(str(each.scores[name]) for name in TARGETS), *each.figures.values()])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def text(found: dict[str, PageScores]) -> str:
    aims = ", ".join(f"{name} {target}" for name, target in TARGETS.items())
    missed = [
        f"- {title}: {name} {each.scores[name]} of {target}"
        for title, each in found.items()
        for name, target in TARGETS.items()
        if each.scores[name] < target
    ]
    wishes = [f"- {title}: {wish}" for title, each in found.items() for wish in each.wishes]
    load = os.getloadavg()[0]
    return "\n".join(
        [
            "# Lighthouse\n",
            f"Written by `make lighthouse` ({LIGHTHOUSE_PACKAGE}, mobile, the demo site on this machine, the median of "
            f"{RUNS_PER_PAGE} runs). Targets: {aims}.",
            f"Load of the machine meanwhile: {load:.1f} on {os.cpu_count()} cores; other work lowers "
            "the performance scores.\n",
            table(found) + "\n",
            "## Missed\n",
            "\n".join(missed) or "Nothing.",
            "\n## Suggestions\n",
            "\n".join(wishes) or "Nothing.",
            "",
        ]
    )


def main() -> int:
    if find_chromium() is None or not (shutil.which("lighthouse") or shutil.which("npx")):
        print("chromium and node are needed (Debian packages chromium, nodejs, npm)")
        return 1
    with tempfile.TemporaryDirectory() as data:
        site = QuickstartSite(Path(data) / "data", "--port", "0").wait_until_ready()
        try:
            scores_by_page = {
                title: measure_median(site.url + path, headers) for title, (path, headers) in pages(site).items()
            }
        finally:
            site.interrupt()
    REPORT.write_text(text(scores_by_page))
    print(REPORT.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
