"""Perform the exports and imports of accounts in a test, and read the archives."""

import json
import zipfile
from io import BytesIO
from typing import Any

from django.core.files.storage import default_storage

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.pictures import uploaded
from tests.support.queues import perform_all
from timelines.exporting.transfer import ImportContent, Transfer

BASE_URL = "https://site.example"
DIFFERENT = {"id", "url", "inReplyTo", "blurhash", "votersCount", "replies"}


async def perform_transfers(services: Services) -> int:
    """Perform all jobs of exports and imports; return their number."""
    imports = await perform_all(services.archive_queue, services.imports.handle)
    return imports + await perform_all(services.export_queue, services.imports.handle)


async def export_account(services: Services, account_id: AccountId) -> bytes:
    """Export an account, and return its archive."""
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
