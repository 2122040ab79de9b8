"""The files of pictures, through Django's Storage API: a folder, or S3-compatible storage (STORAGES["default"]).

Calls of a storage and of the file system block, so they run in threads.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, default_storage

from socialsite.service import Service
from timelines.media.media import all_files, name_of_file

CHUNK_BYTES = 256 * 1024
SIZES_AT_ONCE = 8
FOLDER_ID_FILE = ".folder-id"
INCOMING = "incoming"
"""The folder of uploads, and of files that are not complete yet."""


class TemporaryMedia(File):  # type: ignore[type-arg]  # Django is not generic at run time
    """A new file. A folder moves it to its final name, so that no reader gets a part of it. `close` deletes it."""

    def __init__(self, folder: str | None) -> None:
        super().__init__(tempfile.NamedTemporaryFile("w+b", dir=folder, delete=False))  # noqa: SIM115 - closed below
        if folder is None:
            os.unlink(str(self.name))  # the system frees it with its descriptor, also after a kill

    def temporary_file_path(self) -> str:
        """Return the path. Django's storages read this method."""
        return str(self.name)

    @property
    def descriptor(self) -> int:
        return int(self.fileno())

    def measure(self) -> int:
        """Return the size in bytes after another process wrote the file."""
        self.__dict__.pop("size", None)  # Django cached the former size
        return os.fstat(self.descriptor).st_size

    def close(self) -> None:
        super().close()
        with contextlib.suppress(FileNotFoundError):  # the file was moved
            os.unlink(str(self.name))


class MediaFiles(Service):
    @property
    def folder(self) -> Path | None:
        """The folder of the files, or None if another storage has them."""
        return Path(default_storage.path("")) if isinstance(default_storage, FileSystemStorage) else None

    @contextlib.asynccontextmanager
    async def new_file(self) -> AsyncIterator[TemporaryMedia]:
        """Create an empty file on the file system of the folder, and close it at the end."""
        creating = asyncio.get_running_loop().run_in_executor(None, self._create_file)
        try:
            yield await asyncio.shield(creating)
        finally:
            file = await creating  # even if cancelled
            await asyncio.to_thread(file.close)

    def _create_file(self) -> TemporaryMedia:
        folder = self.folder
        if folder is None:
            return TemporaryMedia(None)
        (folder / INCOMING).mkdir(parents=True, exist_ok=True)
        return TemporaryMedia(str(folder / INCOMING))

    def find_id(self, *, create: bool = False) -> str | None:
        """Return the id that the folder stores, so that all machines can check that they use the same folder.

        Return None if there is no folder, or no id and `create` is false.
        """
        folder = self.folder
        if folder is None:
            return None
        file = folder / FOLDER_ID_FILE
        if create and not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            folder_id = secrets.token_hex(16)
            new_file = file.with_suffix(f".{folder_id}")
            new_file.write_text(folder_id)
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(new_file, file)
            new_file.unlink()
        return file.read_text() if file.exists() else None

    async def save(self, name: str, content: "File[bytes]") -> None:
        """Store the content under the name, and replace a file of this name."""

        def save() -> None:
            content.seek(0)
            default_storage.save(name, content)

        await asyncio.to_thread(save)

    async def open(self, name: str) -> "File[bytes]":
        """Open a file to read. Raises FileNotFoundError."""
        return await asyncio.to_thread(default_storage.open, name)

    async def read_chunks(self, file: "File[bytes]") -> AsyncIterator[bytes]:
        """Read an open file piece by piece, and close it."""
        try:
            while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
                yield chunk
        finally:
            await asyncio.to_thread(file.close)

    async def list_names(self, folder: str = "") -> list[str]:
        """Return the names of all files below a folder of the storage."""
        return await asyncio.to_thread(lambda: list(list_files(folder)))

    async def delete(self, names: Iterable[str]) -> None:
        """Delete the files that exist. Raises OSError."""

        def delete() -> None:
            for name in names:
                try:
                    default_storage.delete(name)
                except Exception as error:  # a library of S3 has errors of its own
                    raise OSError(f"{name}: {error}") from error

        await asyncio.to_thread(delete)

    async def delete_picture(self, name: str) -> None:
        await self.delete(all_files(name))

    async def delete_abandoned(self, before_ms: int) -> None:
        """Delete the temporary files that were written last before this time, because their process was killed."""
        folder = self.folder

        def delete() -> None:
            for file in (folder / INCOMING).glob("*") if folder else ():
                with contextlib.suppress(FileNotFoundError):  # moved or deleted meanwhile
                    if name_of_file(file.name) is None and file.stat().st_mtime * 1000 < before_ms:
                        file.unlink()

        await asyncio.to_thread(delete)

    async def measure(self) -> tuple[int, int] | None:
        """Return the bytes of the folder as `du` counts them, and the number of its files; None without a folder."""
        folder = self.folder
        return None if folder is None else await asyncio.to_thread(measure_folder, folder)

    async def read_sizes(self, names: Iterable[str]) -> list[int | None]:
        """Return the bytes of each file, or None if it does not exist."""

        def read_size(name: str) -> int | None:
            try:
                return int(default_storage.size(name))
            except FileNotFoundError:
                return None

        def read_all() -> list[int | None]:
            with ThreadPoolExecutor(SIZES_AT_ONCE) as threads:
                return list(threads.map(read_size, names))

        return await asyncio.to_thread(read_all)


def measure_folder(folder: Path) -> tuple[int, int]:
    """Return the bytes on disk of a folder and everything in it, and the number of files."""
    blocks = files = 0
    for directory, _, names in os.walk(folder):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                blocks += os.lstat(path).st_blocks
        files += len(names)
    return blocks * 512, files


def open_descriptor(file: "File[bytes]") -> int:
    """Return a descriptor of an open file. A file that has none, as from S3, is copied to a temporary file first."""
    try:
        return int(file.fileno())
    except (AttributeError, OSError):
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the file
        shutil.copyfileobj(file, copy)
        copy.flush()
        copy.seek(0)
        file.file = copy
        return copy.fileno()


def list_files(folder: str = "") -> Iterator[str]:
    """Yield the names of all files below a folder of the storage."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:  # nothing was stored yet
        return
    yield from (f"{folder}{file}" for file in files if file != FOLDER_ID_FILE)
    for each in folders:
        yield from list_files(f"{folder}{each}/")
