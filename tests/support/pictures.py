"""Pictures for tests, made by code, and a worker that encodes uploads when a test calls it."""

import asyncio
import io
from collections.abc import Awaitable
from typing import Any

import httpx
from django.core.files.base import ContentFile
from PIL import Image

from socialsite.container import Services
from tests.support.jobs import perform_all


def picture(
    size: tuple[int, int] = (64, 48), format: str = "JPEG", *, mode: str = "RGB", color: Any = None, **options: Any
) -> bytes:
    """Return a picture with a gradient, or with one color."""
    image = Image.linear_gradient("L").resize(size).convert(mode) if color is None else Image.new(mode, size, color)
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def animation(frames: int, size: tuple[int, int] = (32, 24), format: str = "GIF") -> bytes:
    """Return an animation whose frames differ."""
    images = [Image.new("RGB", size, (at * 7 % 256, at * 3 % 256, at % 256)) for at in range(frames)]
    file = io.BytesIO()
    images[0].save(file, format, save_all=True, append_images=images[1:], duration=40, loop=0)
    return file.getvalue()


def uploaded(content: bytes, name: str = "picture.jpg") -> "ContentFile[bytes]":
    return ContentFile(content, name)


async def encode_all(services: Services) -> int:
    """Encode every upload; return the number of jobs."""
    return await perform_all(services.media_queue, services.media_processing.handle)


async def encode_meanwhile(services: Services, sending: Awaitable[httpx.Response]) -> httpx.Response:
    """Send a request, and encode uploads until it is answered."""
    request = asyncio.ensure_future(sending)
    while not request.done():
        await encode_all(services)
        await asyncio.sleep(0.02)
    return request.result()
