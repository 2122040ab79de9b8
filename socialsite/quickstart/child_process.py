"""Entry point of a child process: `python -m socialsite.quickstart.child_process FD ROLE ARGUMENT...`.

ROLE is web, worker or preparation; the last two take the arguments of a command of manage.py.
FD is the reading end of a pipe. Only the supervisor has the writing end, so the pipe closes when the supervisor
ends for any reason. The child then ends, too.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

TERMINATION_GRACE_S = 3.0
"""Time that the process has after SIGTERM before it exits without cleanup."""


def exit_with_supervisor(fd: int) -> None:
    """Start a thread that ends this process when the pipe closes."""

    def wait() -> None:
        os.read(fd, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(TERMINATION_GRACE_S)
        os._exit(1)

    threading.Thread(target=wait, name="supervisor-watch", daemon=True).start()


def run(words: Sequence[str]) -> None:
    """Run a role until it ends. `words` are the arguments of this module."""
    fd, role, *arguments = words
    exit_with_supervisor(int(fd))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    sys.argv = [role, *arguments]
    if role == "web":
        from daphne.cli import CommandLineInterface

        CommandLineInterface.entrypoint()  # type: ignore[no-untyped-call]
    else:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    run(sys.argv[1:])
