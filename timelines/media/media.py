"""The row of a picture, the names of its files, the rules of its texts, and the reasons of a refusal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from django.core.files.base import File
from django.utils.translation import gettext_lazy as _
from msgspec import structs

from socialsite.errors import LazyText
from socialsite.ids import AccountId, PostId
from timelines.errors import MediaInvalid
from timelines.posts.post import MediaAttachment
from timelines.text.post_text import TextRefused, check_text

MediaKind = Literal["picture", "avatar", "header", "preview", "logo"]
MediaState = Literal["processing", "ready", "refused", "deleting"]
MediaSize = Literal["full", "small"]
Crop = tuple[float, float, float, float]
"""Left, top, width and height of the part that is kept, as shares of the picture from 0 to 1."""
SIZES: Final[tuple[MediaSize, ...]] = ("full", "small")
CONTENT_TYPES: Final = {"webp": "image/webp", "jpg": "image/jpeg"}
"""Extension of a stored file -> its content type."""

UPLOAD_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
UPLOAD_MAX_BYTES = 16 * 1024 * 1024
UPLOAD_MAX_PIXELS = 33_177_600  # MAX_PIXELS of the encoder, which imports nothing of the site
MEDIA_PER_POST = 4
MEDIA_PER_THREAD = 25 * MEDIA_PER_POST  # THREAD_POSTS_CAP of timelines/publishing/forms.py
MEDIA_PER_ACCOUNT = 20_000
"""The maximum number of pictures of an account, whatever their size."""
ALT_MAX_LENGTH = 1_500  # graphemes
UNATTACHED_MS = 24 * 3_600_000
"""Time after which an upload that nothing uses is deleted."""

SITE_OWNER = AccountId(0)
"""The owner of the logo and of the pictures of link previews, which count for the site and for no account."""
PREVIEW_PICTURE_TTL_MS = 31 * 24 * 3_600_000
"""Time after which the picture of a preview is deleted: a day after the preview."""

NAME = re.compile(r"([1-9][0-9]{0,15})-([0-9a-f]{32})")
REFUSALS: Final[Mapping[str, LazyText]] = {
    "unreadable": _("This file is not a picture that can be read. Choose a JPEG, PNG, GIF or WebP picture."),
    "heic": _("This picture has the format HEIC. Your phone can send it as JPEG: choose “Most compatible” there."),
    "too_large": _("This picture has too many pixels. A picture has at most 33 megapixels."),
    "too_long": _("This animation is too long. An animation has at most 1,000 frames and 300 megapixels in all."),
    "too_slow": _("This picture takes too long to read. Save it anew as JPEG or PNG, and try again."),
}
"""Code -> sentence."""


class Media(msgspec.Struct, frozen=True):
    """A row: the HASH `posts:{m<id>}:media` with these fields as texts.

    `name` identifies the files. The file of the upload exists only in the state "processing".
    """

    id: int
    secret: str
    owner: AccountId
    kind: MediaKind
    created_ms: int
    state: MediaState = "processing"
    size_bytes: int = 0
    """The size of the files that are counted for the quotas."""
    post: PostId = PostId(0)
    """The post with this picture, or 0."""
    alt: str = ""
    focus_x: float = 0.0
    focus_y: float = 0.0
    width: int = 0
    height: int = 0
    small_width: int = 0
    small_height: int = 0
    blurhash: str = ""
    extension: str = "webp"
    is_animated: bool = False
    refusal: str = ""
    unused_ms: int = 0
    """The time at which a check found that no version of the post contains the picture, or 0."""

    @property
    def name(self) -> str:
        return f"{self.id}-{self.secret}"

    @property
    def focus(self) -> tuple[float, float]:
        return self.focus_x, self.focus_y

    @property
    def attachment(self) -> MediaAttachment:
        """The part of the row that a post contains."""
        return msgspec.convert(self, MediaAttachment, from_attributes=True)


class MediaChange(msgspec.Struct, frozen=True):
    """The change of a picture by a client. None keeps the value."""

    alt: str | None = None
    focus: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that a viewer may see. `is_public` is true if every visitor may see it."""

    name: str
    is_public: bool


def media_url(name: str, size: MediaSize, extension: str) -> str:
    return f"/media/{name}/{size}.{extension}"


def parse_name(name: str) -> tuple[int, str] | None:
    """Return the id and the secret of a name, or None if the text is not a name."""
    match = NAME.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


# Names in the storage


def upload_file(name: str) -> str:
    """Return the name of the uploaded file, which is deleted after the encoding."""
    return f"incoming/{name}"


def media_file(name: str, size: MediaSize, extension: str) -> str:
    """Return the name of a stored size. The two folders come from the secret, so that each has few files."""
    secret = name.rpartition("-")[2]
    return f"{secret[:2]}/{secret[2:4]}/{name}.{size}.{extension}"


def all_files(name: str) -> list[str]:
    """Return the names of all files that a picture can have, in each format."""
    return [upload_file(name), *(media_file(name, size, extension) for size in SIZES for extension in CONTENT_TYPES)]


def name_of_file(file: str) -> str | None:
    """Return the name of the picture of a stored file, or None if the file belongs to no picture."""
    name = file.rpartition("/")[2].partition(".")[0]
    return name if NAME.fullmatch(name) else None


SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")


HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


SIGNATURE_BYTES = 16


def find_refusal(content: "File[bytes]") -> str | None:
    """Return the code of a refusal if the first bytes belong to none of the four formats. Nothing is decoded."""
    content.seek(0)
    first = content.read(SIGNATURE_BYTES)
    content.seek(0)
    is_webp = first[:4] == b"RIFF" and first[8:12] == b"WEBP"
    if is_webp or first.startswith(SIGNATURES):
        return None
    return "heic" if first[4:8] == b"ftyp" and first[8:12] in HEIC_BRANDS else "unreadable"


def change_attachment(attachment: MediaAttachment, change: MediaChange | None) -> MediaAttachment:
    """Return the picture with another text or focal point. Raises MediaInvalid."""
    if change is None:
        return attachment
    alt = attachment.alt if change.alt is None else validate_alt(change.alt)
    return structs.replace(attachment, alt=alt, focus=change.focus or attachment.focus)


def validate_alt(alt: str) -> str:
    """Return the text in its stored form. Raises MediaInvalid."""
    if not alt.strip():
        return ""
    try:
        return check_text(alt, ALT_MAX_LENGTH)
    except TextRefused as refused:
        raise MediaInvalid({"description": _("A description has at most 1,500 characters.")}) from refused
