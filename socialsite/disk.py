"""Failures of disks: full, read-only, broken, or with wrong permissions. They are no fault of a request or a file."""

import errno

STORAGE_ERRNOS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE,
})  # fmt: skip


def is_storage_failure(error: BaseException) -> bool:
    """Return whether the machine cannot store or read files now.

    If every temporary folder is full, `tempfile` raises FileNotFoundError without a file name.
    """
    if isinstance(error, FileNotFoundError):
        return error.filename is None and "temporary directory" in str(error)
    return isinstance(error, OSError) and error.errno in STORAGE_ERRNOS
