"""The child process that decodes and encodes one picture: `python -m timelines.media.encoder KIND FULL SMALL CROP S`.

The picture is read from standard input. FULL and SMALL are the numbers of two open files, to which the full and the
small size are written. The process is killed after S seconds of processor time. CROP is the part of an avatar or header
to show: left, top, width and height as fractions, or "". The result, or the refusal, is written to standard output as a
JSON object.

A picture is hostile input. So this module is the only one that imports Pillow, and it limits the memory, the processor
time and the open files of its process before it reads a byte. It passes four formats to Pillow, checks the size in the
header before it decodes pixels, and always encodes again: the orientation is applied, colors become sRGB, and the
result has no metadata.
"""

import errno
import io
import json
import os
import resource
import struct
import sys
import warnings
from dataclasses import asdict, dataclass
from typing import IO, Any

import blurhash
from PIL import (
    GifImagePlugin,
    Image,
    ImageCms,
    ImageFile,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

from timelines.media.sizes import SMALL_MAX_PIXELS, SMALL_MAX_SIDE, fitting_size

MEMORY_MAX_BYTES = 300 * 1024 * 1024
OPEN_FILES_MAX = 32
OUTPUT_MAX_BYTES = 32 * 1024 * 1024

DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors of the disk. They say nothing about the picture."""
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MAX_PIXELS = 33_177_600  # 7680 x 4320, Mastodon's limit
METADATA_MAX_BYTES = 16 * 1024 * 1024
"""The most bytes of one compressed text or profile of a PNG. Programs that generate pictures store long texts."""
MAX_FRAMES = 1_000
MAX_FRAME_PIXELS = 300_000_000  # width x height x frames of an animation
FULL_MAX_PIXELS = 8_294_400  # 3840 x 2160, as Mastodon's large size
ANIMATION_MAX_PIXELS = 921_600  # pixels of one frame: 1280 x 720
ANIMATION_MAX_FRAME_PIXELS = 60_000_000  # of all frames; a long animation becomes smaller
LOOPS_MAX, DURATION_MAX_MS = 65_535, 655_350  # the most repetitions of WebP, the longest frame of GIF
FULL_MAX_SIDE = 8_192  # pixels; the formats allow 16,383
CROPPED_SIZES = {"avatar": ((400, 400), (96, 96)), "logo": ((400, 400), (96, 96)), "header": ((1500, 500), (600, 200))}
"""Kind -> full and small size. A picture of another kind keeps its proportions."""

STRIP_HEIGHT = 256  # an even number of rows
WEBP_OPTIONS = {"quality": 80, "method": 2}
JPEG_OPTIONS = {"quality": 85, "progressive": True}
BLURHASH_SIDE = 32
ORIENTATION_TAG = 0x0112
TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}  # fmt: skip
"""EXIF orientation -> the transposition that makes the picture upright."""
PLUGINS = (GifImagePlugin, JpegImagePlugin, MpoImagePlugin, PngImagePlugin, WebPImagePlugin)
"""The decoders are imported before the limits apply. Pillow would import them, and all others, later."""


class PictureRefused(Exception):
    """The picture is not stored. The message is one of the codes of `timelines.media.media.REFUSALS`."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """The sizes in pixels, and the other properties that pages need."""

    width: int
    height: int
    small_width: int
    small_height: int
    blurhash: str
    extension: str
    is_animated: bool = False


def limit_process(cpu_s: int) -> None:
    """Limit memory, processor time, files and priority of this process."""
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_MAX_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX),
        (resource.RLIMIT_FSIZE, OUTPUT_MAX_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    # SIGXCPU at the first limit ends the process. The SIGKILL at the second would look like a kill from outside.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    os.nice(10)  # pages and other jobs go first


def encode_picture(
    source: IO[bytes], full: IO[bytes], small: IO[bytes], kind: str, crop: tuple[float, ...] = ()
) -> EncodedPicture:
    """Write the full and the small size of a picture. Raises PictureRefused."""
    Image.MAX_IMAGE_PIXELS, PngImagePlugin.MAX_TEXT_CHUNK = MAX_PIXELS, METADATA_MAX_BYTES
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        ImageFile.LOAD_TRUNCATED_IMAGES = True  # damaged metadata is accepted, damaged pixels are refused
        with Image.open(source, formats=FORMATS) as picture:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
            if picture.width * picture.height > MAX_PIXELS:
                raise PictureRefused("too_large")
            if kind not in CROPPED_SIZES and picture.format in ("GIF", "WEBP", "PNG") and _count_frames(picture) > 1:
                return _encode_animation(picture, full, small)
            return _encode_still(picture, full, small, kind, crop)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise PictureRefused("too_large") from error
    except MemoryError as error:  # libwebp decodes whole pictures only; as JPEG or PNG the same picture is read
        raise PictureRefused("too_slow") from error
    except PictureRefused:
        raise
    except Exception as error:  # the decoders raise any error for a damaged file
        if isinstance(error, OSError) and error.errno in DISK_ERRNOS:
            raise
        raise PictureRefused("unreadable") from error


def _count_frames(picture: Image.Image) -> int:
    """Return the number of frames. Raises PictureRefused if the animation has too many frames or pixels."""
    if isinstance(picture, GifImagePlugin.GifImageFile):
        frames = _count_gif_frames(picture)
    else:
        frames = getattr(picture, "n_frames", 1) - _first_frame(picture)
    if frames > MAX_FRAMES or (frames > 1 and frames * picture.width * picture.height > MAX_FRAME_PIXELS):
        raise PictureRefused("too_long")
    return frames


def _first_frame(picture: Image.Image) -> int:
    """Return 1 if the first picture of an animated PNG is for programs that show no animations, else 0."""
    return int(getattr(picture, "default_image", False))


def _count_gif_frames(picture: GifImagePlugin.GifImageFile) -> int:
    """Count up to MAX_FRAMES + 1 frames without decoding them."""
    frames = 1
    try:
        while frames <= MAX_FRAMES:
            picture._seek(frames, False)
            frames += 1
    except EOFError:
        pass
    picture.seek(0)
    return frames


# Stills


def _encode_still(
    picture: Image.Image, full: IO[bytes], small: IO[bytes], kind: str, crop: tuple[float, ...]
) -> EncodedPicture:
    orientation = _read_orientation(picture)
    profile = picture.info.get("icc_profile")
    is_photo = picture.format in ("JPEG", "MPO") and kind not in CROPPED_SIZES
    upright = _load_halved(picture)
    if upright is not picture:
        picture.close()  # frees the pixels of the original
    if kind not in CROPPED_SIZES:
        upright = _shrink(upright, FULL_MAX_PIXELS, FULL_MAX_SIDE)
    if orientation in TRANSPOSITIONS:
        upright = upright.transpose(TRANSPOSITIONS[orientation])
    upright = _convert_to_srgb(upright, profile)
    if kind in CROPPED_SIZES:
        full_size, small_size = CROPPED_SIZES[kind]
        upright = ImageOps.fit(_crop(upright, crop), full_size, Image.Resampling.LANCZOS)
        preview = upright.resize(small_size, Image.Resampling.LANCZOS)
    else:
        preview = _shrink(upright, SMALL_MAX_PIXELS, SMALL_MAX_SIDE)
    extension = "jpg" if is_photo else "webp"
    _save(upright, full, extension)
    _save(preview, small, extension)
    return EncodedPicture(*upright.size, *preview.size, _blurhash(preview), extension)


def _read_orientation(picture: Image.Image) -> int:
    try:
        return int(picture.getexif().get(ORIENTATION_TAG, 1))
    except (OSError, ValueError, TypeError, KeyError, SyntaxError, struct.error):  # damaged: the picture is not turned
        return 1


def _load_halved(picture: Image.Image) -> Image.Image:
    """Decode the picture. A picture of more than twice the full size is halved, to stay within the memory."""
    width, height = picture.size
    if width * height <= 2 * FULL_MAX_PIXELS or min(width, height) < 2:
        picture.load()
        return _in_plain_mode(picture)
    if isinstance(picture, JpegImagePlugin.JpegImageFile):
        picture.draft(None, (width // 2, height // 2))  # libjpeg decodes half the size
        picture.load()
        if picture.width < width:
            return _in_plain_mode(picture)
    return _halve(picture)


def _halve(picture: Image.Image) -> Image.Image:
    """Halve the picture strip by strip, since Pillow would copy all of it to resize transparent pixels."""
    width, height = picture.size
    first = _in_plain_mode(picture.crop((0, 0, width, min(2, height))))
    halved = Image.new(first.mode, ((width + 1) // 2, (height + 1) // 2))
    for top in range(0, height, STRIP_HEIGHT):
        strip = picture.crop((0, top, width, min(top + STRIP_HEIGHT, height)))
        halved.paste(_in_plain_mode(strip).reduce(2), (0, top // 2))
    return halved


def _in_plain_mode(picture: Image.Image) -> Image.Image:
    """Return the picture in a mode that can be resized: L, RGB, RGBA or CMYK."""
    if picture.mode.startswith("I"):  # 16 bits of grey
        return picture.convert("I").point(lambda grey: grey * (1 / 256)).convert("L")
    if picture.has_transparency_data:
        return picture if picture.mode == "RGBA" else picture.convert("RGBA")
    return picture if picture.mode in ("L", "RGB", "CMYK") else picture.convert("RGB")


def _shrink(picture: Image.Image, max_pixels: int, max_side: int) -> Image.Image:
    size = fitting_size(picture.size, max_pixels, max_side)
    if size == picture.size:
        return picture
    return picture.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def _crop(picture: Image.Image, crop: tuple[float, ...]) -> Image.Image:
    """Return the chosen part of a picture, or all of it if nothing was chosen."""
    if len(crop) != 4:
        return picture
    width, height = picture.size
    left, top = int(crop[0] * width), int(crop[1] * height)
    right, bottom = left + max(1, round(crop[2] * width)), top + max(1, round(crop[3] * height))
    return picture.crop((min(left, width - 1), min(top, height - 1), min(right, width), min(bottom, height)))


def _convert_to_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the picture in RGB or RGBA, with the colors of sRGB."""
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    colors = picture.convert("RGB") if picture.mode == "RGBA" else picture
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.createProfile("sRGB")
            colors = ImageCms.profileToProfile(colors, source, srgb, outputMode="RGB") or colors
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            pass  # a profile that cannot be read, or of another kind of picture
    if colors.mode != "RGB":
        colors = colors.convert("RGB")
    if alpha is not None:
        colors.putalpha(alpha)
    return colors


def _save(picture: Image.Image, file: IO[bytes], extension: str) -> None:
    picture.info = {}  # Pillow would write the comments and profiles in it
    if extension == "jpg":
        encoded = io.BytesIO()  # Pillow does not notice if a full disk stores a part of the last bytes
        picture.save(encoded, "JPEG", **JPEG_OPTIONS)
        file.write(encoded.getbuffer())
    else:
        picture.save(file, "WEBP", **WEBP_OPTIONS)


def _blurhash(picture: Image.Image) -> str:
    """Return the blurhash (https://blurha.sh), with 4 x 3 components."""
    tiny = _shrink(picture, BLURHASH_SIDE * BLURHASH_SIDE, BLURHASH_SIDE).convert("RGB")
    pixels = tiny.tobytes()
    row_bytes = 3 * tiny.width
    rows = [
        [list(pixels[at : at + 3]) for at in range(start, start + row_bytes, 3)]
        for start in range(0, len(pixels), row_bytes)
    ]
    code: str = blurhash.encode(rows, components_x=4, components_y=3)  # type: ignore[no-untyped-call]
    return code


# Animations


class ScaledFrames(Image.Image):
    """An animation whose frames are decoded and scaled one at a time, while Pillow saves it."""

    def __init__(self, source: Image.Image, size: tuple[int, int], frames: int) -> None:
        super().__init__()
        self._source = source
        self._scaled_size = size
        self.n_frames = frames
        self.seek(0)

    def tell(self) -> int:
        return 0

    def seek(self, frame: int) -> None:
        self._source.seek(frame + _first_frame(self._source))
        scaled = self._source.convert("RGBA")
        if scaled.size != self._scaled_size:
            scaled = scaled.resize(self._scaled_size, Image.Resampling.BICUBIC, reducing_gap=2.0)
        self.im, self._mode, self._size = scaled.im, "RGBA", scaled.size


class FrameDurations(list[int]):
    """The duration of each frame in ms, read from the frame that was decoded last."""

    def __init__(self, source: Image.Image) -> None:
        super().__init__()
        self._source = source

    def __getitem__(self, frame: Any) -> Any:
        duration = int(self._source.info.get("duration") or 0)
        return min(duration, DURATION_MAX_MS) if duration > 10 else 100  # as browsers show such frames


def _encode_animation(picture: Image.Image, full: IO[bytes], small: IO[bytes]) -> EncodedPicture:
    """Write the animation as WebP, and its first frame as the small size."""
    frames = _count_frames(picture)
    max_pixels = min(ANIMATION_MAX_PIXELS, ANIMATION_MAX_FRAME_PIXELS // frames)
    size = fitting_size(picture.size, max_pixels, FULL_MAX_SIDE)
    loop = int(picture.info.get("loop", 0))
    if isinstance(picture, GifImagePlugin.GifImageFile):  # `loop` counts plays after the first; absent: one play
        loop = min(loop + 1, LOOPS_MAX) if loop or "loop" not in picture.info else 0
    scaled = ScaledFrames(picture, size, frames)
    still = Image.Image.copy(scaled)
    preview = _shrink(still, SMALL_MAX_PIXELS, SMALL_MAX_SIDE)
    _save(preview, small, "webp")
    durations = FrameDurations(picture)
    scaled.save(full, "WEBP", save_all=True, duration=durations, loop=loop, quality=75, method=0)
    return EncodedPicture(*size, *preview.size, _blurhash(preview), "webp", is_animated=True)


# An older worker beside this file gives no time.
def main(kind: str, full_descriptor: str, small_descriptor: str, crop: str, cpu_s: str = "20") -> None:
    limit_process(int(cpu_s))
    part = tuple(map(float, crop.split(","))) if crop else ()
    try:
        with (
            os.fdopen(int(full_descriptor), "wb", closefd=False) as full,
            os.fdopen(int(small_descriptor), "wb", closefd=False) as small,
        ):
            result: dict[str, Any] = asdict(encode_picture(sys.stdin.buffer, full, small, kind, part))
    except PictureRefused as refusal:
        result = {"refusal": str(refusal)}
    except OSError as error:
        if error.errno not in DISK_ERRNOS:
            raise
        os._exit(os.EX_IOERR)  # the interpreter would try to write the rest
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
