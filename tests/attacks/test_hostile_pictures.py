"""Hostile pictures: each is refused or encoded again, by a child process within its limits."""

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageCms

from tests.support.pictures import animation, picture
from tests.support.programs import need
from timelines.media.media import REFUSALS

ROOT = Path(__file__).resolve().parents[2]
MEMORY_KB = 300 * 1024
SCRIPT = b"<script>alert(document.domain)</script>"
SECRET = b"SecretOfTheOwner"


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, close_fds=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""
"""Runs a command, and prints the kB of its memory: in a process of its own, since the tests' has larger children."""


def encode(content: bytes, kind: str = "picture", max_kb: int = 0) -> tuple[dict[str, object], bytes, bytes]:
    """Run the child process; return its result and both files. With `max_kb`, it must stay within so much memory."""
    measure = [sys.executable, "-c", MEASURE] if max_kb else []
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as full, tempfile.TemporaryFile() as small:
        source.write(content)
        source.seek(0)
        outputs = [full.fileno(), small.fileno()]
        run = subprocess.run(
            [*measure, sys.executable, "-m", "timelines.media.encoder", kind, *map(str, outputs), ""],
            stdin=source, capture_output=True, pass_fds=outputs, cwd=ROOT, timeout=120, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr.decode()[-2000:]
        assert not max_kb or 10_000 < int(run.stderr) <= max_kb, run.stderr
        full.seek(0)
        small.seek(0)
        return json.loads(run.stdout), full.read(), small.read()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_header(width: int, height: int, rest: bytes = b"") -> bytes:
    """Return a PNG whose header names a size, with `rest` as its pixels."""

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rest)) + chunk(b"IEND", b"")


def jpeg_of_size(width: int, height: int) -> bytes:
    content = bytearray(picture((16, 16)))
    at = content.index(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(content)


def gif_of_size(width: int, height: int) -> bytes:
    content = bytearray(picture((16, 16), "GIF"))
    content[6:10] = struct.pack("<HH", width, height)
    return bytes(content)


def webp_of_size() -> bytes:
    """Return a WebP of 16,383 x 16,383 pixels in its header (VP8X)."""
    body = b"VP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + (16_382).to_bytes(3, "little") * 2
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


GIF_FRAME = b"\x2c\0\0\0\0\1\0\1\0\0" + b"\2\2\x44\1\0"
BOMBS: dict[str, Callable[[], bytes]] = {
    "png": lambda: png_header(65_535, 65_535),
    "jpeg": lambda: jpeg_of_size(65_535, 65_535),
    "gif": lambda: gif_of_size(65_535, 65_535),
    "webp": webp_of_size,
    "png of zeros": lambda: png_header(20_000, 20_000, b"\0" * 40_000_000),
    "ten thousand frames": lambda: b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + GIF_FRAME * 10_000 + b";",
}
DAMAGED: dict[str, Callable[[], bytes]] = {
    "truncated jpeg": lambda: picture((400, 300))[:2_000],
    "truncated png": lambda: picture((400, 300), "PNG")[:300],
    "truncated gif": lambda: picture((400, 300), "GIF")[:500],
    "truncated webp": lambda: picture((400, 300), "WEBP")[:60],
    "header only": lambda: b"\xff\xd8\xff\xe0",
    "empty": lambda: b"",
    "zeros": lambda: b"\0" * 100_000,
    "an svg": lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "a tiff": lambda: b"II*\0" + b"\0" * 100,
    "an eps": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
    "a bmp": lambda: picture((10, 10), "BMP"),
    "an icon": lambda: picture((16, 16), "ICO"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_its_pixels_are_decoded(name: str) -> None:
    result, full, _small = encode(BOMBS[name]())
    assert result.get("refusal") in REFUSALS, result
    assert full == b""


def test_a_picture_that_needs_too_much_memory_is_not_said_to_have_too_many_pixels() -> None:
    size = (5_000, 4_000)
    assert encode(picture(size, "WEBP", color=(9, 9, 9)))[0] == {"refusal": "too_slow"}
    assert "refusal" not in encode(picture(size, "PNG", color=(9, 9, 9)))[0]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_or_foreign_file_is_refused(name: str) -> None:
    assert encode(DAMAGED[name]())[0] == {"refusal": "unreadable"}


def png_with(kind: bytes, content: bytes, *, is_last: bool = False, is_damaged: bool = False) -> bytes:
    """Return a PNG with one more chunk, before or after its pixels."""
    whole, more = picture((40, 30), "PNG"), bytearray(chunk(kind, content))
    more[-1] ^= is_damaged
    at = len(whole) - 12 if is_last else whole.index(b"IDAT") - 4
    return whole[:at] + bytes(more) + whole[at:]


TEXT = b"workflow\0\0" + zlib.compress(b"x" * 3_000_000)
METADATA = {
    "a long text": lambda: png_with(b"zTXt", TEXT),
    "a long text at the end": lambda: png_with(b"zTXt", TEXT, is_last=True),
    "a long profile": lambda: png_with(b"iCCP", TEXT),
    "a damaged text": lambda: png_with(b"tEXt", b"a\0b", is_damaged=True),
    "a text without an end": lambda: png_with(b"zTXt", b"workflow\0\0" + TEXT[10:-900]),
}


@pytest.mark.parametrize("name", METADATA)
def test_a_picture_with_odd_metadata_is_accepted(name: str) -> None:
    """python-pillow/Pillow#8363 and #2445, Nandaka/PixivUtil2#269: browsers show these pictures."""
    assert "refusal" not in encode(METADATA[name]())[0]


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "WEBP"])
def test_a_polyglot_loses_its_second_half(format: str) -> None:
    content = picture((64, 48), format) + SCRIPT + b"\nPK\x03\x04" + SECRET
    result, full, small = encode(content)
    assert "refusal" not in result
    for file in (full, small):
        assert SCRIPT not in file
        assert SECRET not in file
        assert Image.open(io.BytesIO(file)).format in ("JPEG", "WEBP")


def exif_with_gps() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6  # rotated by 90 degrees
    exif[0x010F] = SECRET.decode()
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    exif.get_ifd(0x8825)[1] = SECRET.decode()
    exif.get_ifd(0x8769)[0xA433] = SECRET.decode()
    return exif


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_an_encoded_picture_has_no_private_data(format: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options: dict[str, object] = {"exif": exif_with_gps(), "icc_profile": profile}
    if format == "JPEG":
        options["comment"] = SECRET
    if format in ("JPEG", "WEBP"):
        options["xmp"] = b"<x:xmpmeta>" + SECRET + b"</x:xmpmeta>"
    content = picture((64, 48), format, **options)
    assert SECRET in content
    result, full, small = encode(content)
    assert (result["width"], result["height"]) == (48, 64)  # upright
    for file in (full, small):
        image = Image.open(io.BytesIO(file))
        assert not image.getexif()
        assert {"exif", "xmp", "icc_profile", "comment", "XML:com.adobe.xmp"} & set(image.info) == set()
        for word in (SECRET, b"Exif\0\0", b"http://ns.adobe.com", b"ICC_PROFILE", b"acsp"):
            assert word not in file


def test_a_picture_of_a_post_stays_animated_and_an_avatar_does_not() -> None:
    result, full, small = encode(animation(40, (64, 48)))
    assert result["is_animated"] is True
    assert Image.open(io.BytesIO(full)).n_frames > 1
    assert getattr(Image.open(io.BytesIO(small)), "n_frames", 1) == 1
    avatar, full, _small = encode(animation(40, (64, 48)), "avatar")
    assert avatar["is_animated"] is False
    assert Image.open(io.BytesIO(full)).size == (400, 400)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "1", "I;16", "CMYK"])
def test_every_mode_of_pixels_becomes_rgb(mode: str) -> None:
    format = "JPEG" if mode == "CMYK" else "PNG"
    image = Image.new("I;16", (60, 40)) if mode == "I;16" else Image.linear_gradient("L").resize((60, 40)).convert(mode)
    file = io.BytesIO()
    image.save(file, format)
    result, full, _small = encode(file.getvalue())
    assert "refusal" not in result
    assert Image.open(io.BytesIO(full)).mode in ("RGB", "RGBA")


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "progressive", "CMYK"])
def test_the_largest_pictures_stay_within_the_memory(mode: str) -> None:
    """The limit of the address space holds the process below 300 MB; here the pictures also have to succeed."""
    gradient = Image.linear_gradient("L").resize((6_650, 4_980))
    file = io.BytesIO()
    if mode in ("progressive", "CMYK"):
        gradient.convert("CMYK" if mode == "CMYK" else "RGB").save(
            file, "JPEG", progressive=mode == "progressive", subsampling=0
        )
    else:
        gradient.convert(mode).save(file, "PNG", compress_level=1)
    result, _full, _small = encode(file.getvalue(), max_kb=MEMORY_KB)
    assert "refusal" not in result, result
    assert int(str(result["width"])) * int(str(result["height"])) <= 8_294_400


PILLOW_TESTS = os.environ.get("PILLOW_TESTS", "")
"""The folder Tests/images of Pillow's source: `pip download --no-binary pillow --no-deps pillow`, then unpack it."""
PILLOW_PARTS = 8
"""The number of tests that share the pictures, so that each test takes less than three minutes."""
JUDGES = ("exiftool", "identify")
"""Programs of others, which read metadata: Debian's libimage-exiftool-perl and imagemagick."""
OF_THE_FORMAT = {"SourceFile", "ExifTool", "File", "JFIF", "RIFF", "Composite"}
"""Groups of exiftool that describe the file and its pixels."""


def find_private_tags(directory: Path) -> list[str]:
    """Return the tags of all files below a directory that do not describe pixels, and the files that cannot be read."""
    need(*JUDGES)
    run = subprocess.run(["exiftool", "-j", "-G", "-a", "-u", *directory.iterdir()], capture_output=True, check=False)
    described = json.loads(run.stdout)
    assert len(described) == sum(1 for _ in directory.iterdir())
    tags = [
        f"{each['SourceFile']}: {tag}"
        for each in described
        for tag in each
        if tag.partition(":")[0] not in OF_THE_FORMAT or tag.endswith((":Error", ":Warning", ":Comment"))
    ]
    for file in directory.iterdir():
        identified = subprocess.run(["identify", "-regard-warnings", file], capture_output=True, check=False)
        if identified.returncode != 0:
            tags.append(f"{file}: {identified.stderr.decode()}")
    return tags


def test_exiftool_finds_nothing_private(tmp_path: Path) -> None:
    for format in ("JPEG", "PNG", "WEBP"):
        content = picture((64, 48), format, exif=exif_with_gps())
        _result, full, small = encode(content)
        (tmp_path / f"{format}.full").write_bytes(full)
        (tmp_path / f"{format}.small").write_bytes(small)
    (tmp_path / "animation").write_bytes(encode(animation(5))[1])
    assert find_private_tags(tmp_path) == []
    (tmp_path / "original").write_bytes(content)
    assert any("GPS" in tag or "EXIF" in tag for tag in find_private_tags(tmp_path)), "exiftool finds it otherwise"


@pytest.mark.nightly
@pytest.mark.skipif(not PILLOW_TESTS, reason="PILLOW_TESTS names no folder Tests/images of Pillow's source")
@pytest.mark.parametrize("part", range(PILLOW_PARTS))
def test_pillows_own_hostile_pictures_are_refused_or_encoded(tmp_path: Path, part: int) -> None:
    refusals: Counter[str] = Counter()
    paths = sorted(path for path in Path(PILLOW_TESTS).rglob("*") if path.is_file())
    for number, path in enumerate(paths[part::PILLOW_PARTS]):
        if path.stat().st_size > 16_000_000:
            continue
        result, full, small = encode(path.read_bytes())
        refusal = str(result.get("refusal", ""))
        refusals[refusal] += 1
        if refusal:
            assert refusal in REFUSALS, path
            continue
        (tmp_path / f"{number}-{path.name}.full").write_bytes(full)
        (tmp_path / f"{number}-{path.name}.small").write_bytes(small)
    print(f"refused: {refusals}")
    assert refusals[""] > 10
    assert find_private_tags(tmp_path) == []
