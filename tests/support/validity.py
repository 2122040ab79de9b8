"""Check the pages of the demo site with the Nu Html Checker, offline: `make validity` (needs java and node).

The checker is the file that VNU_JAR names, else npm's package vnu-jar, stored under .cache/.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.demo_site import demo_visitor, find_conversation, generate_activity
from tests.support.site import ROOT, QuickstartSite
from tests.support.visitor import HttpVisitor

CHECKER_PACKAGE = "vnu-jar@26.9.27"
CACHE_DIR = ROOT / ".cache" / "validity"
PUBLIC_PATHS = (
    *(
        "/",
        "/public/",
        "/@bob/",
        "/@alice/",
        "/@bob/followers/",
        "/search/",
        "/search/?q=books",
        "/tags/books/",
    ),
    *("/search/?q=since:yesterday", "/@nobody/", "/about/"),
)
SIGNED_IN_PATHS = (
    *("/notifications/", "/notifications/?tab=mentions", "/bookmarks/", "/lists/", "/tags/"),
    "/accounts/suggestions/",
    *(f"/accounts/{name}/" for name in ("settings", "notifications", "password", "sessions", "requests")),
    *(f"/accounts/{name}/" for name in ("blocked", "muted", "filters", "delete", "logout")),
)
ANONYMOUS_PATHS = ("/accounts/login/", "/accounts/signup/")


def find_checker() -> Path:
    """Return the path of the jar, after downloading it if necessary."""
    jar_variable = os.environ.get("VNU_JAR")
    jar = Path(jar_variable) if jar_variable else CACHE_DIR / "node_modules/vnu-jar/build/dist/vnu.jar"
    if not jar.exists():
        subprocess.run(
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(CACHE_DIR),
                CHECKER_PACKAGE,
            ],
            check=True,
        )
    return jar


def save_pages(visitor: HttpVisitor, paths: tuple[str, ...], folder: Path, prefix: str) -> None:
    for path in paths:
        name = path.strip("/").replace("/", "_").replace("?", "_").replace(":", "_") or "start"
        (folder / f"{prefix}-{name}.html").write_text(visitor.http.get(path).text)


def main() -> int:
    if not shutil.which("java") or not (shutil.which("npm") or os.environ.get("VNU_JAR")):
        print("java and npm are needed (Debian packages default-jre-headless, npm)")
        return 1
    jar = find_checker()
    with tempfile.TemporaryDirectory() as data:
        site = QuickstartSite(Path(data) / "data", "--port", "0").wait_until_ready()
        folder = Path(data) / "pages"
        folder.mkdir()
        try:
            generate_activity(site.url)
            with demo_visitor(site.url, "alice") as alice, HttpVisitor(site.url) as stranger:
                thread = find_conversation(alice)
                save_pages(alice, (*PUBLIC_PATHS, *SIGNED_IN_PATHS, thread, f"{thread}likes/"), folder, "alice")
                save_pages(stranger, (*PUBLIC_PATHS, *ANONYMOUS_PATHS, thread), folder, "stranger")
        finally:
            site.interrupt()
        pages = sorted(folder.iterdir())
        result = subprocess.run(["java", "-jar", str(jar), "--errors-only", *map(str, pages)], check=False)
    print(f"{len(pages)} pages, {'all valid' if result.returncode == 0 else 'not all valid'}")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
