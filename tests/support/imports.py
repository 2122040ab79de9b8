"""Files of posts, and the exports and imports of accounts."""

import json
import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.jobs import perform_all
from tests.support.pictures import uploaded
from timelines.exporting.transfer import ImportContent, Transfer
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
    await import_posts(services, write_rows(directory / "posts", [row("1", text, author)]))


async def read_profile_posts(services: Services, handle: str) -> list[Post]:
    """Return the stored posts of an account, oldest first."""
    account = await services.accounts.find_by_handle(handle)
    assert account is not None
    at = services.repositories
    ids = await at.author_timelines.read(AccountId(account.id), 0, 10_000, upward=True)
    posts = await at.posts.find_many(ids)
    return [posts[post_id] for post_id in ids]


BASE_URL = "https://site.example"

DIFFERENT = {"id", "url", "inReplyTo", "blurhash", "votersCount", "replies"}


async def perform_transfers(services: Services) -> int:
    """Perform all jobs of exports and imports; return their number."""
    imports = await perform_all(services.archive_queue, services.imports.handle)
    return imports + await perform_all(services.export_queue, services.imports.handle)


async def export_account(services: Services, account_id: AccountId) -> bytes:
    export = await services.exports.request(account_id, BASE_URL, "en")
    await perform_transfers(services)
    return read_export(account_id, await services.exports.find(account_id, export.id, "export"))


def read_export(account_id: AccountId, export: Transfer) -> bytes:
    assert export.state == "ready"
    with default_storage.open(export.file_name(account_id)) as file:
        return bytes(file.read())


def read_json(archive: bytes, name: str) -> Any:
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        return json.loads(opened.read(name))


def read_text(archive: bytes, name: str) -> str:
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        return opened.read(name).decode()


async def start_import(
    services: Services, account_id: AccountId, content: bytes, kind: ImportContent = "posts"
) -> Transfer:
    """Upload a file, and return its preview."""
    file = uploaded(content, "archive.zip")
    transfer = await services.imports.upload(account_id, file, kind, BASE_URL, "en")
    await perform_transfers(services)
    return await services.exports.find(account_id, transfer.id, "import")


async def import_file(
    services: Services, account_id: AccountId, content: bytes, kind: ImportContent = "posts"
) -> Transfer:
    """Upload a file, confirm its preview, and return the finished import."""
    preview = await start_import(services, account_id, content, kind)
    assert preview.state == "ready", preview
    await services.imports.confirm(account_id, preview.id)
    await perform_transfers(services)
    return await services.exports.find(account_id, preview.id, "import")


async def begin_import(services: Services, account_id: AccountId, content: bytes) -> Transfer:
    """Import the posts of the first slice only, and return the import as its preview showed it."""
    preview = await start_import(services, account_id, content)
    services.imports.slice_s = 0
    await services.imports.confirm(account_id, preview.id)
    (job,) = await services.archive_queue.fetch("abad1dea", 1, 1)
    await services.archive_queue.finish(job, await services.imports.handle(job.payload))
    return preview


async def undo_import(services: Services, account_id: AccountId, transfer: Transfer) -> Transfer:
    await services.imports.undo(account_id, transfer.id)
    await perform_transfers(services)
    return await services.exports.find(account_id, transfer.id, "import")


def comparable(archive: bytes) -> tuple[list[Any], list[int | None]]:
    """Return the activities of an archive without ids, URLs, and what the encoder of pictures changes, and the parents.

    Activities of one millisecond are sorted by their content, because their order is that of their ids.
    """

    def strip(value: object) -> object:
        if isinstance(value, list):
            return [strip(each) for each in value]
        if isinstance(value, dict):
            return {name: strip(each) for name, each in value.items() if name not in DIFFERENT}
        return value

    items = read_json(archive, "outbox.json")["orderedItems"]
    items.sort(key=lambda item: (item["published"], json.dumps(strip(item["object"]))))
    numbers = {item["object"]["id"]: number for number, item in enumerate(items) if item["type"] == "Create"}
    parents = [numbers.get(item["object"]["inReplyTo"]) for item in items if item["type"] == "Create"]
    return [strip(item) for item in items], parents
