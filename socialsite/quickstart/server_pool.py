"""`python -m socialsite.quickstart.server_pool --web-processes N --fd FD`: several web processes of one unit.

They are forks of a process factory and accept from one listening socket, which systemd holds (docs/guide/install.md). A
process that ends is replaced. At SIGTERM all of them finish their requests, then this process exits with status 0.
"""

import argparse
import os
import signal
import sys

from socialsite.quickstart.process_factory import adopt_orphans
from socialsite.quickstart.supervisor import ProcessFactory, Supervisor, make_web_process

DRAIN_TIMEOUT_S = 32.0
"""Longer than a web process needs (web/daphne/graceful_shutdown.py), and shorter than TimeoutStopSec of the unit."""
MAX_PROCESSES = 64


def parse_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_PROCESSES:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_PROCESSES}")
    return count


def print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="server_pool", description=__doc__)
    parser.add_argument("--web-processes", type=parse_count, default=2, metavar="N", help="default 2, one per core")
    parser.add_argument("--fd", type=int, default=3, help="the listening socket; default 3, as systemd passes it")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    supervisor = Supervisor(print_line)
    reading, _writing = os.pipe()  # the kernel closes the writing end when this process ends
    factory = ProcessFactory([reading, options.fd], "web") if adopt_orphans() else None
    processes = [make_web_process(reading, options.fd, factory, DRAIN_TIMEOUT_S) for _ in range(options.web_processes)]
    try:
        supervisor.start([factory] if factory else [])
        supervisor.start(processes)
        supervisor.run(lambda: None)
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for process in processes:
            process.terminate()
    finally:
        supervisor.stop()


if __name__ == "__main__":
    main()
