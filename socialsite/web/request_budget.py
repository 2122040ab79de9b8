"""The maximum of fields, names and parts of a request, in every format, and the headers that are slow to parse.

64 kB of JSON can have 30,000 values, and each value repeats the name of its list as a field. So the fields are counted
while they are read.
"""

from typing import IO, Any

from django.conf import settings
from django.http.cookie import parse_cookie
from django.http.multipartparser import MultiPartParserError

from socialsite.errors import MalformedRequest

VALUES_MAX: int = 2 * settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
"""The values of the query and of the body together."""
NAME_MAX_LENGTH = 256
"""Characters of the name of a field, with the names of the objects that contain it."""
HEADER_MAX_BYTES = {b"accept": 1024, b"content-type": 300}
"""Bytes of the headers whose parameters Django parses in quadratic time. Lines of the same name are added up."""

Headers = list[tuple[bytes, bytes]]


class FieldBudget:
    """Counts the fields, lists, objects and nulls of one body, which bounds the memory of all names together."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = VALUES_MAX

    def count(self, name: str) -> None:
        """Count a value with this name. Raises MalformedRequest."""
        self._left -= 1
        if self._left < 0 or len(name) > NAME_MAX_LENGTH:
            raise MalformedRequest


class CountedParts:
    """The file of a multipart body, which is refused if it has too many parts. Django counts only parts with a name."""

    def __init__(self, body: IO[bytes], boundary: str) -> None:
        self._body, self._mark, self._end = body, b"--" + boundary.encode("utf-8", "replace"), b""
        self._left = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + settings.DATA_UPLOAD_MAX_NUMBER_FILES + 1

    def read(self, *size: int) -> bytes:
        """Return bytes as a file does. Raises MultiPartParserError."""
        chunk = self._body.read(*size)
        read = self._end + chunk  # a boundary may lie in two chunks
        self._left -= read.count(self._mark)
        self._end = read[1 - len(self._mark) :]
        if self._left < 0:
            raise MultiPartParserError("too many parts")
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


def find_oversized_headers(headers: Headers) -> set[bytes]:
    """Return the names of the headers that are too long to be parsed."""
    sizes = dict.fromkeys(HEADER_MAX_BYTES, 0)
    for name, value in headers:
        if name in sizes:
            sizes[name] += len(value) + 1
    return {name for name, size in sizes.items() if size > HEADER_MAX_BYTES[name] + 1}


def parse_cookies(header: str) -> dict[str, str]:
    """Parse cookies as Django does, without those that contain a backslash. No cookie of the site has one.

    Until Python 3.11.9, quoted values take quadratic time in their backslashes (CVE-2024-7592).
    """
    if "\\" in header:
        header = ";".join(each for each in header.split(";") if "\\" not in each)
    return parse_cookie(header)
