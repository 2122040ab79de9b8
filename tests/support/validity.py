"""Check the pages of the demo site with the Nu Html Checker, offline: `make validity` (needs java and node).

The checker is the file that VNU_JAR names, else npm's package vnu-jar, stored under .cache/.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import django

from tests.support.daphnes import ROOT
from tests.support.demo_site import demo_visitor, find_conversation, generate_activity
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

CHECKER_PACKAGE = "vnu-jar@26.9.27"
CACHE_DIR = ROOT / ".cache" / "validity"
MORE_PATHS = ("/search/?q=books", "/search/?q=since:yesterday", "/notifications/?tab=mentions", "/@nobody/")
"""Pages that the walk through the URLconf does not reach."""


def find_checker() -> Path:
    """Return the path of the jar, after downloading it if necessary."""
    jar_variable = os.environ.get("VNU_JAR")
    jar = Path(jar_variable) if jar_variable else CACHE_DIR / "node_modules/vnu-jar/build/dist/vnu.jar"
    if not jar.exists():
        subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(CACHE_DIR), CHECKER_PACKAGE],
            check=True,
        )
    return jar


def save_pages(visitor: HttpVisitor, paths: Iterable[str], folder: Path, prefix: str) -> None:
    """Save the answers that are pages, those of errors too, but not parts of pages."""
    for path in paths:
        answer = visitor.http.get(path)
        if answer.text.startswith("<!doctype html>"):
            name = re.sub(r"\W+", "_", path.strip("/")) or "start"
            (folder / f"{prefix}-{name}.html").write_text(answer.text)


def main() -> int:
    if not shutil.which("java") or not (shutil.which("npm") or os.environ.get("VNU_JAR")):
        print("java and npm are needed (Debian packages default-jre-headless, npm)")
        return 1
    jar = find_checker()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    from tests.support.routes import routes  # reads the settings

    logging.getLogger("httpx").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as data:
        site = QuickstartSite(Path(data) / "data", "--port", "0").wait_until_ready()
        folder = Path(data) / "pages"
        folder.mkdir()
        try:
            generate_activity(site.url)
            password = next(line.split()[2] for line in site.lines if line.startswith("login: operator "))
            with (
                demo_visitor(site.url, "alice") as alice,
                demo_visitor(site.url, "operator", password) as operator,
                HttpVisitor(site.url) as stranger,
            ):
                thread = find_conversation(alice)
                paths = {route.path for route in routes() if "GET" in route.methods} - {"/accounts/logout/"}
                shown = sorted({*paths, *MORE_PATHS, thread, f"{thread}likes/"})
                for visitor, name in ((alice, "alice"), (operator, "operator"), (stranger, "stranger")):
                    save_pages(visitor, shown, folder, name)
        finally:
            site.interrupt()
        pages = sorted(folder.iterdir())
        result = subprocess.run(["java", "-jar", str(jar), "--errors-only", *map(str, pages)], check=False)
    print(f"{len(pages)} pages, {'all valid' if result.returncode == 0 else 'not all valid'}")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
