"""Posts imported as the command does, for tests of what then stands."""

import json
from pathlib import Path

from socialsite.services import Services
from timelines.services.importing import LineFile, Tally
from timelines.services.importing_posts import PostsImport, PostsOptions
from timelines.services.importing_rows import RowRules


async def import_posts(services: Services, path: Path, *, max_graphemes: int = 500) -> Tally:
    now_ms, tally = services.clock.now_ms(), Tally()
    rules = RowRules(max_graphemes=max_graphemes, latest_ms=now_ms)
    await PostsImport.over(services).run(LineFile(path), PostsOptions(rules), tally, now_ms)
    return tally


async def import_old_post(services: Services, directory: Path, *, author: str, text: str) -> None:
    """One of 2015-06-01."""
    path = directory / "posts"
    row = {"id": "1", "author": author, "created_at": "2015-06-01T10:00:00Z", "text": text}
    path.write_text(json.dumps(row))
    await import_posts(services, path)
