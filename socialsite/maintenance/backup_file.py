"""The format of backup files: a header, compressed blocks of records, and a footer with a checksum of the rest.

    SOCIALSITE BACKUP\\n | block | block | ... | end
    block: length (4 bytes, big-endian) | CRC-32 (4 bytes) | zlib of a MessagePack list of records
    the first block is the BackupHeader, the last one (after a length of 0) the BackupFooter, with SHA-256 of the rest

An incomplete file is refused, because the whole file is verified before any record is used.
"""

import contextlib
import errno
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

import msgspec

from socialsite.maintenance.dump import KeyRecord, find_defect

MAGIC = b"SOCIALSITE BACKUP\n"
FORMAT_VERSION = 1
BLOCK_BYTES = 1 << 20  # before compression
MAX_BLOCK_BYTES = 1 << 28
"""Limit of a block before and after compression. A block exceeds BLOCK_BYTES only by its last record."""
SMALL_BLOCK_BYTES, MAX_RATIO = 8 << 20, 100
"""A block above this size is at most MAX_RATIO times larger than its compressed form, so that a small file takes little
memory. Values of the site have ratios below 20."""

T = TypeVar("T")


class InvalidBackup(Exception):
    """The file is not a backup, is incomplete or damaged, or has another version. The message has the reason."""


class BackupHeader(msgspec.Struct, frozen=True):
    """The first block. `partitions` has the site's FOLLOW_PARTITIONS and PROFILE_PARTITIONS, which keys depend on."""

    version: int
    at_ms: int
    partitions: dict[str, int]


class BackupFooter(msgspec.Struct, frozen=True):
    """The last block. `counts` is the number of keys by family."""

    counts: dict[str, int]
    sha256: str


_encoder = msgspec.msgpack.Encoder()
_records_decoder = msgspec.msgpack.Decoder(list[KeyRecord])
_header_decoder = msgspec.msgpack.Decoder(BackupHeader)
_footer_decoder = msgspec.msgpack.Decoder(BackupFooter)


class BackupWriter:
    """Writes a temporary file and renames it at the end, so that only a complete backup replaces an older one.

    Only the owner can read the file: it contains secrets of accounts.
    """

    def __init__(self, path: Path, header: BackupHeader) -> None:
        self._path = path
        self._temporary_path = path.with_name(path.name + ".part")
        self._temporary_path.unlink(missing_ok=True)
        handle = os.open(self._temporary_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self._hash = hashlib.sha256()
        self._pending_records: list[KeyRecord] = []
        self._pending_bytes = 0
        self.counts: Counter[str] = Counter()
        self._write(MAGIC)
        self._write_block(_encoder.encode(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            with contextlib.suppress(OSError):  # on a full disk, closing tries to write the rest
                self._file.close()
            with contextlib.suppress(OSError):  # the file was renamed if the backup is complete
                self._temporary_path.unlink()

    def add(self, family: str, records: Sequence[KeyRecord]) -> None:
        self.counts[family] += len(records)
        for record in records:
            self._pending_records.append(record)
            self._pending_bytes += sum(map(len, record.parts)) + len(record.key)
            if self._pending_bytes >= BLOCK_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._pending_records:
            self._write_block(_encoder.encode(self._pending_records))
        self._pending_records, self._pending_bytes = [], 0

    def _write_block(self, content: bytes) -> None:
        if len(content) > MAX_BLOCK_BYTES:
            raise OSError(errno.EFBIG, f"A key has more than {MAX_BLOCK_BYTES} bytes")
        packed = zlib.compress(content, 6)
        if len(content) > max_content_bytes(packed):
            packed = zlib.compress(content, 0)
        self._write(len(packed).to_bytes(4) + zlib.crc32(packed).to_bytes(4) + packed)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    def _finish(self) -> None:
        self._flush()
        self._write((0).to_bytes(4))
        self._write_block(_encoder.encode(BackupFooter(dict(self.counts), self._hash.hexdigest())))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._temporary_path.replace(self._path)


class BackupReader:
    """Reads a backup file. Call `verify`, which checks the whole file, before `iterate_blocks`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    def verify(self) -> tuple[BackupHeader, BackupFooter]:
        """Check all records. Raises OSError, or InvalidBackup if a record is missing, changed or not restorable."""
        record_count = 0
        with self._path.open("rb") as file:
            blocks = _BlockReader(file)
            header = blocks.read_header()
            while (block := blocks.read_block()) is not None:
                records = decode_records(block)
                record_count += len(records)
                for record in records:
                    if (defect := find_defect(record)) is not None:
                        raise InvalidBackup(f"{defect}: {record.key[:80]!r}")
            digest = blocks.digest
            footer = blocks.decode(_footer_decoder, blocks.read_block())
            if file.read(1):
                raise InvalidBackup("it has bytes after its end mark")
        if footer.sha256 != digest:
            raise InvalidBackup("its checksum is wrong")
        if record_count != sum(footer.counts.values()):
            raise InvalidBackup("records are missing")
        return header, footer

    def iterate_blocks(self) -> Iterator[tuple[int, list[KeyRecord]]]:
        """Yield (bytes of the file read so far, records)."""
        with self._path.open("rb") as file:
            blocks = _BlockReader(file)
            blocks.read_header()
            while (block := blocks.read_block()) is not None:
                yield file.tell(), decode_records(block)


class _BlockReader:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        if self._read_exactly(len(MAGIC)) != MAGIC:
            raise InvalidBackup("it is no backup of this site")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def read_header(self) -> BackupHeader:
        header = self.decode(_header_decoder, self.read_block())
        if header.version != FORMAT_VERSION:
            raise InvalidBackup(f"its version is {header.version}, this release reads {FORMAT_VERSION}")
        return header

    def read_block(self) -> bytes | None:
        """Return the next block, or None at the end mark."""
        length = int.from_bytes(self._read_exactly(4))
        if length == 0:
            return None
        if length > MAX_BLOCK_BYTES:
            raise InvalidBackup("a block has an impossible length")
        crc, packed = int.from_bytes(self._read_exactly(4)), self._read_exactly(length)
        if zlib.crc32(packed) != crc:
            raise InvalidBackup("the checksum of a block is wrong")
        decompressor = zlib.decompressobj()
        try:
            content = decompressor.decompress(packed, max_content_bytes(packed))
        except zlib.error as error:
            raise InvalidBackup(f"a block cannot be decompressed: {error}") from error
        if not decompressor.eof or decompressor.unused_data:
            raise InvalidBackup(f"a block is incomplete or larger than {max_content_bytes(packed)} bytes")
        return content

    def decode(self, decoder: "msgspec.msgpack.Decoder[T]", block: bytes | None) -> T:
        try:
            return decoder.decode(block or b"")
        except msgspec.MsgspecError as error:
            raise InvalidBackup(f"a block cannot be read: {error}") from error

    def _read_exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise InvalidBackup("it ends too early")
        self._hash.update(data)
        return data


def max_content_bytes(packed: bytes) -> int:
    """Return the number of bytes that a block with this compressed form may have."""
    return min(MAX_BLOCK_BYTES, max(SMALL_BLOCK_BYTES, MAX_RATIO * len(packed)))


def decode_records(block: bytes) -> list[KeyRecord]:
    try:
        return _records_decoder.decode(block)
    except msgspec.MsgspecError as error:
        raise InvalidBackup(f"a block cannot be read: {error}") from error
