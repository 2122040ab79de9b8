"""Bodies with files: read after the session and the limits, written to a temporary file, and parsed in a thread.

A view accepts files with `accepts_files`. The handler then leaves a large multipart body unread until the view's check
has passed. No part of the body is kept in memory.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any

from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import QueryDict
from django.urls import Resolver404, resolve
from django.utils.datastructures import MultiValueDict

from socialsite.errors import MalformedRequest, RequestTooLarge
from socialsite.web.asgi_types import Receive, Scope
from socialsite.web.requests import AsyncView, P, SiteRequest

UPLOAD_METHODS = ("POST", "PUT", "PATCH")
TOO_MANY_BODIES = b"9" * 13
"""The Content-Length by which the server marks a body above the limit of unfinished bodies. It is above every limit."""
FORM_MAX_BYTES = 128 * 1024
"""Bytes of a body beside its files."""


@dataclass(frozen=True, slots=True)
class UploadRules:
    """The largest body of a view, and the function that may refuse the request before its body is read.

    `deadline_s` is the time limit of the request, or None for that of other requests.
    """

    max_bytes: int
    check: Callable[[SiteRequest], Awaitable[None]]
    deadline_s: float | None = None


@dataclass(slots=True)
class PendingBody:
    rules: UploadRules
    receive: Receive
    declared: int | None
    is_read: bool = False
    is_disconnected: bool = False


class BodyInFile(bytes):
    """An empty chunk of a body. The whole body is in `file`, where the server has written it, unless that failed."""

    file: IO[bytes]
    error: OSError | None = None

    @classmethod
    def of(cls, file: IO[bytes]) -> "BodyInFile":
        chunk = cls()
        chunk.file = file
        return chunk

    @classmethod
    def failed(cls, error: OSError) -> "BodyInFile":
        chunk = cls()
        chunk.error = error
        return chunk


class UnnamedFileHandler(FileUploadHandler):
    """Writes each file to a temporary file without a name, so that nothing is left if this process is killed."""

    def new_file(self, *args: Any, **options: Any) -> None:
        super().new_file(*args, **options)
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - Django closes it at the end of the request

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[bytes]":
        self.file.seek(0)
        return UploadedFile(
            self.file, self.file_name, self.content_type, file_size, self.charset, self.content_type_extra
        )


def accepts_files(
    max_files_bytes: int, check: Callable[[SiteRequest], Awaitable[None]], *, deadline_s: float | None = None
) -> Callable[[AsyncView[P]], AsyncView[P]]:
    """Let a view read files of so many bytes together. `check` is called before the body is read."""

    def mark(view: AsyncView[P]) -> AsyncView[P]:
        view.upload_rules = UploadRules(max_files_bytes + FORM_MAX_BYTES, check, deadline_s)  # type: ignore[attr-defined]
        return view

    return mark


def find_upload_rules(method: str, path: str, content_type: bytes) -> UploadRules | None:
    """Return the rules of the view at a path, or None if the view reads no files or the body is not multipart."""
    if method not in UPLOAD_METHODS or not content_type.lower().startswith(b"multipart/form-data"):
        return None
    try:
        rules_by_method: dict[str, UploadRules] = getattr(resolve(path).func, "upload_rules", {})
    except Resolver404:
        return None
    return rules_by_method.get(method)


def find_rules_of_scope(scope: Scope) -> UploadRules | None:
    content_type = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    path: str = scope["path"].removeprefix(scope.get("root_path") or "")
    return find_upload_rules(scope["method"], path, content_type)


def leave_body_unread(request: SiteRequest, pending: PendingBody) -> None:
    """Give the request an empty form until `receive_files` reads the body."""
    request.pending_body = pending
    request.upload_handlers = [UnnamedFileHandler(request)]
    set_form(request, QueryDict(), MultiValueDict())


def set_form(request: SiteRequest, fields: QueryDict, files: "MultiValueDict[str, Any]") -> None:
    request._post, request._files = fields, files  # type: ignore[attr-defined]
    request._form = None


async def receive_files(request: SiteRequest) -> None:
    """Read and parse the body, if the view accepts files. Raises the errors of the view's check, and CancelledError."""
    pending: PendingBody | None = request.pending_body
    if pending is None or pending.is_read:
        return
    await pending.rules.check(request)
    with tempfile.TemporaryFile() as spool:
        body = await _receive_body(pending, spool)
        pending.is_read = True
        size = body.seek(0, os.SEEK_END)
        if pending.declared is not None and size != pending.declared:
            raise MalformedRequest
        try:
            body.seek(0)
            await asyncio.to_thread(_parse, request, body, size)
        except ValueError:
            _raise_if_closed(body, pending)
            raise


async def _receive_body(pending: PendingBody, spool: IO[bytes]) -> IO[bytes]:
    """Return the file with the body: daphne's, or else `spool`. If the client disconnects, the request is cancelled."""
    has_more = True
    while has_more:
        message = await pending.receive()
        if message["type"] == "http.disconnect":
            pending.is_disconnected = True
            raise asyncio.CancelledError
        chunk: bytes = message.get("body", b"")
        if isinstance(chunk, BodyInFile) and chunk.error is not None:
            raise chunk.error
        body = chunk.file if isinstance(chunk, BodyInFile) else spool
        _raise_if_closed(body, pending)
        body.seek(0, os.SEEK_END)
        body.write(chunk)
        if body.tell() > pending.rules.max_bytes:
            raise RequestTooLarge(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        has_more = message.get("more_body", False)
    return body


def _raise_if_closed(body: IO[bytes], pending: PendingBody) -> None:
    """Cancel the request if its file is closed: the server does that when the client disconnects."""
    if body.closed:
        pending.is_disconnected = True
        raise asyncio.CancelledError


def _parse(request: SiteRequest, spool: IO[bytes], size: int) -> None:
    request.META["CONTENT_LENGTH"] = str(size)
    del request._files  # type: ignore[attr-defined]  # Django refuses to parse while it is set
    set_form(request, *request.parse_file_upload(request.META, spool))


def get_files(request: SiteRequest, name: str) -> "list[File[bytes]]":
    """Return the files of a field, without the empty ones that a browser sends if no file was chosen."""
    files = request.FILES.getlist(name)
    return [file for file in files if file.name and file.size]
