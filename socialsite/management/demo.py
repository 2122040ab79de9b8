"""What the first start puts into an empty site: accounts to log in with, their follows and their posts."""

import asyncio
import json
from pathlib import Path

from socialsite.startup import open_services

DemoLogin = tuple[str, str]
"""Handle and password. These accounts stand on a machine's own loopback; their passwords are no secrets."""


def load_demo_logins(directory: Path, *, is_wanted: bool) -> list[DemoLogin]:
    """The demo's logins; loads it at the first start of a directory, and never into a site already in use.

    A load that was cut short is repeated by the next start.
    """
    file = directory / "demo.json"
    if not file.exists():
        logins = asyncio.run(_load_demo()) if is_wanted else []
        file.write_text(json.dumps({"logins": logins}))
    return [(handle, password) for handle, password in json.loads(file.read_text())["logins"]]


async def _load_demo() -> list[DemoLogin]:
    async with open_services() as services:
        return await services.demo.load(services.clock.now_ms())
