"""The complete list of calls that may block a loop's thread, each with its reason.

An entry allows a kind of call (by its prefix) below a function. `file` is the end of a file's name or a folder;
`function` is the function's name ("": any function of that file).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType


@dataclass(frozen=True)
class Allowed:
    what: str
    file: str
    function: str
    reason: str

    def covers(self, what: str, place: CodeType) -> bool:
        name = place.co_filename
        there = self.file in name if self.file.endswith("/") else name.endswith(self.file)
        return there and what.startswith(self.what) and self.function in ("", place.co_name)


ALLOWED = (
    # Python
    Allowed("", "threading.py", "start", "an executor's first use: the handshake with a thread that begins"),
    Allowed("Thread.join", "asyncio/base_events.py", "shutdown_default_executor",
            "the loop is closing, and the thread has said that it ends"),
    Allowed("", "<frozen importlib._bootstrap>", "_find_and_load", "an import at first use, once a process"),
    Allowed("a step", "traceback.py", "extract_stack", "debug mode notes where each future was made"),
    Allowed("open", "linecache.py", "updatecache", "sources for tracebacks: debug mode asks for each future"),
    # cached after the first call
    Allowed("open", "django/template/loaders/filesystem.py", "get_contents", "a template, compiled and kept"),
    Allowed("", "django/template/backends/django.py", "get_package_libraries",
            "an engine made anew, where a test changes settings; the site makes its own at the start"),
    Allowed("open", "django/contrib/auth/password_validation.py", "__init__",
            "a list of words, kept; the site reads it at the start"),
    Allowed("open", "accounts/accounts/validation.py", "_load_reserved_handles",
            "a list of words beside the code, then kept"),
    # in fact the file is in memory
    Allowed("open", "socialsite/web/static_files.py", "__call__", "some kB of our own, held by the system"),
    # the loop serves no other task
    Allowed("", "socialsite/maintenance/backup_file.py", "", "commands with a loop of their own"),
    Allowed("", "timelines/importing/lines.py", "", "a command with a loop of its own"),
    Allowed("open", "socialsite/management/commands/repartition.py", "", "a command with a loop of its own"),
    Allowed("a step", "timelines/importing/posts.py", "", "a command with a loop of its own"),
    Allowed("a step", "timelines/importing/graph.py", "", "a command with a loop of its own"),
    Allowed("Thread.join", "rich/progress.py", "", "the bar of a command with a loop of its own"),
)  # fmt: skip


def is_allowed(what: str, stack: Iterable[CodeType]) -> bool:
    return any(each.covers(what, place) for place in stack for each in ALLOWED)
