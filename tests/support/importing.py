"""Write files of posts and import them as the command does."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from socialsite.container import Services
from socialsite.ids import AccountId
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsOptions
from timelines.importing.rows import RowRules, parse_date
from timelines.posts.post import Post

NOW_MS = parse_date("2026-11-20T12:00:00Z")
RULES = RowRules(max_graphemes=500, latest_ms=NOW_MS)


def row(source_id: str, text: str = "hello", author: str = "alice", **more: Any) -> dict[str, Any]:
    """Return a row of a file, by default of 2015-06-01."""
    return {"id": source_id, "author": author, "created_at": "2015-06-01T10:00:00Z", "text": text, **more}


def write_rows(path: Path, rows: Iterable[dict[str, Any] | str]) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows))
    return path


async def import_posts(
    services: Services, path: Path, rules: RowRules = RULES, *, to_graph: bool = False, dry: bool = False
) -> Tally:
    tally = Tally()
    await services.posts_import.run(LineFile(path), PostsOptions(rules, to_graph, dry), tally, NOW_MS)
    return tally


async def import_old_post(services: Services, directory: Path, *, author: str, text: str) -> None:
    """Import a post of 2015-06-01."""
    await import_posts(services, write_rows(directory / "posts", [row("1", text, author)]))


async def read_profile_posts(services: Services, handle: str) -> list[Post]:
    """Return the stored posts of an account, oldest first."""
    account = await services.accounts.find_by_handle(handle)
    assert account is not None
    at = services.repositories
    ids = await at.author_feeds.read(AccountId(account.id), 0, 10_000, upward=True)
    posts = await at.posts.find_many(ids)
    return [posts[post_id] for post_id in ids]
