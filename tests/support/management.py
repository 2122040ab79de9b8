"""Run commands of manage.py, and code with the services of the settings."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from django.core.management import call_command

from socialsite.container import Services
from socialsite.startup import open_services

Result = TypeVar("Result")


def run_command(*words: object, **options: Any) -> str:
    """Run a command and return its output on both streams."""
    out = io.StringIO()
    call_command(*map(str, words), stdout=out, stderr=out, **options)
    return out.getvalue()


def run_with_services(do: Callable[[Services], Awaitable[Result]]) -> Result:
    async def open_and_do() -> Result:
        async with open_services() as services:
            return await do(services)

    return asyncio.run(open_and_do())
