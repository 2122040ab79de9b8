"""Perform the exports and imports of accounts in a test, and read the archives."""

import json
import zipfile
from io import BytesIO
from typing import Any

from django.core.files.storage import default_storage

from socialsite.container import Services
from socialsite.ids import AccountId
from timelines.exporting.transfer import Transfer

BASE_URL = "https://site.example"


async def perform_transfers(services: Services) -> int:
    """Perform all jobs of exports and imports; return their number."""
    queue, jobs_done = services.archive_queue, 0
    await queue.create_group()
    while jobs := await queue.fetch("abad1dea", 100, 1):
        for job in jobs:
            await queue.finish(job, await services.transfer_jobs.handle(job.payload))
            jobs_done += 1
    return jobs_done


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
