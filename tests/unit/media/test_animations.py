"""An animation keeps the speed and the repetitions that browsers give it (libvips/libvips#2145).

An animated PNG is one, too (mastodon/mastodon#5066 and #28516).
"""

import io
import re
import struct

import pytest
from PIL import Image

from tests.support.pictures import animation
from timelines.media.encoder import encode_picture


def gif(delay: int, loop: int | None = 0) -> bytes:
    """Return a GIF of two frames. `delay` is in 1/100 s."""
    delays = re.compile(rb"\x21\xf9\x04(.)..", re.DOTALL)
    extension = re.compile(rb"\x21\xff\x0bNETSCAPE2\.0\x03\x01..\x00", re.DOTALL)
    block = b"" if loop is None else b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", loop) + b"\0"
    content = delays.sub(lambda match: b"\x21\xf9\x04" + match[1] + struct.pack("<H", delay), animation(2))
    return extension.sub(lambda _: block, content)


def frames(
    duration_ms: int, loop: int, format: str = "WEBP", *, colors: tuple[str, ...] = ("red", "blue"), **options: bool
) -> bytes:
    first, *others = [Image.new("RGB", (8, 8), color) for color in colors]
    file = io.BytesIO()
    first.save(file, format, save_all=True, append_images=others, duration=duration_ms, loop=loop, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "duration_ms", "loop"),
    [
        (gif(0), 100, 0), (gif(1), 100, 0), (gif(2), 20, 0), (gif(3), 30, 0), (gif(5), 50, 0),
        (gif(65_535), 655_350, 0), (gif(5, loop=None), 50, 1), (gif(5, loop=1), 50, 2), (gif(5, loop=7), 50, 8),
        (gif(5, loop=65_535), 50, 65_535), (frames(10, 0), 100, 0),
        (frames(15, 3), 15, 3), (frames(16_000_000, 1), 655_350, 1), (frames(10, 0, "PNG"), 100, 0),
        (frames(15, 3, "PNG"), 15, 3),
        (frames(15, 0, "PNG", colors=("green", "red", "blue"), default_image=True), 15, 0),
    ],
)  # fmt: skip
def test_an_animation_keeps_its_speed_and_its_repetitions(
    monkeypatch: pytest.MonkeyPatch, content: bytes, duration_ms: int, loop: int
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)  # the encoder sets it for its process
    full = io.BytesIO()
    encode_picture(io.BytesIO(content), full, io.BytesIO(), "picture")
    with Image.open(full) as stored:
        assert (stored.info["loop"], stored.n_frames) == (loop, 2)  # type: ignore[attr-defined]
        for frame in range(2):
            stored.seek(frame)
            stored.load()
            assert stored.info["duration"] == duration_ms


def test_an_animated_png_begins_behind_its_picture_for_programs_without_animations() -> None:
    full = io.BytesIO()
    content = frames(15, 0, "PNG", colors=("green", "red", "blue"), default_image=True)
    encode_picture(io.BytesIO(content), full, small := io.BytesIO(), "picture")
    with Image.open(full) as stored, Image.open(small) as still:
        assert all(each.convert("RGB").getpixel((4, 4))[0] > 200 for each in (stored, still))  # type: ignore[index]
