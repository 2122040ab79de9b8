"""`python -m socialsite.quickstart.process_factory FD ROLE PADDING`: load the site once, and fork its processes.

The web process, the worker and the preparation of a start are forks of this process, so they share the memory of all
modules. Each line from the socket FD is a JSON list, the arguments of child_process.py; the answer is the process id of
the fork. The fork becomes a child of the supervisor, which is a "subreaper" (prctl(2)), so it outlives this process.
This process ends when the supervisor closes the socket. It never has a thread, an event loop or a connection to Redis,
because a fork would share them.

ROLE is quickstart, or web for web processes alone. PADDING is overwritten with the arguments that `ps` shows for this
process and its forks.
"""

import contextlib
import ctypes
import gc
import json
import os
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PADDING = "-" * 400
MAX_ANSWER_BYTES = 20
NO_FORK = b"0\n"
"""The answer if the kernel allows no further process."""
MODULE = "socialsite.quickstart.process_factory"
CHILD_TITLE = ("-m", "socialsite.quickstart.child_process")
ARGUMENTS_FIELD = 45
"""The place of `arg_start` and `arg_end` in /proc/PID/stat, counted after the name of the program (proc(5))."""
MODULES = (
    "daphne.http_protocol",
    "daphne.ws_protocol",
    "twisted.internet.asyncioreactor",
    "twisted.internet.endpoints",
    "socialsite.management.commands.syndicate",
    "socialsite.urls",
    "socialsite.web.handler",
    "socialsite.web.static_files",
    "timelines.live.routing",
)


def adopt_orphans() -> bool:
    """Make this process the parent of the forks of its child processes. Return whether the kernel can do so."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def show_arguments(*arguments: str) -> None:
    """Overwrite the arguments of this process that `ps` shows, as far as there is room."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = map(int, fields[ARGUMENTS_FIELD : ARGUMENTS_FIELD + 2])
        shown = "\0".join((sys.executable, *arguments)).encode()[: end - start - 1]
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def load_site(role: str) -> None:
    """Import what the web process and the worker import, except Twisted's reactor, which has an event loop."""
    sys.argv[1:] = [role]  # settings.STATIC_COLLECTED
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.utils.module_loading import import_string

    try:
        django.setup(set_prefix=False)
    except ImproperlyConfigured as error:
        sys.exit(f"The settings cannot be used: {error}")
    for module in (*MODULES, *(path.rpartition(".")[0] for path in settings.MIDDLEWARE)):
        import_module(module)
    import_string("socialsite.web.startup.prepare_first_request")()


def wait_for_fork(connection: socket.socket) -> list[str]:
    """Fork for every request. Return only in a fork, with its arguments. The factory exits when the socket closes."""
    requests = connection.makefile("rb")
    for line in requests:
        reading, writing = os.pipe()
        if child := os.fork():
            os.close(writing)
            os.waitpid(child, 0)  # the supervisor is the parent of its fork only now
            connection.sendall(os.read(reading, MAX_ANSWER_BYTES) or NO_FORK)
            os.close(reading)
        elif fork := os.fork():
            os.write(writing, b"%d\n" % fork)
            os._exit(0)
        else:
            os.setsid()
            os.close(reading)
            os.close(writing)
            requests.close()
            connection.close()
            return list(json.loads(line))
    sys.exit()


def main(arguments: Sequence[str]) -> None:
    from socialsite.analytics import multiprocess
    from socialsite.quickstart import child_process

    connection = socket.socket(fileno=int(arguments[0]))
    show_arguments("-m", MODULE)
    gc.disable()  # a collection would write to the pages that the forks share
    load_site(arguments[1])
    gc.freeze()
    words = wait_for_fork(connection)
    gc.enable()
    show_arguments(*CHILD_TITLE, *words)
    multiprocess.setup_after_fork()
    child_process.run(words)


if __name__ == "__main__":
    main(sys.argv[1:])
