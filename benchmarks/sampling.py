"""A sampler of this process's main thread by its processor time.

The system's profiling timer (SIGPROF) counts user and system time, so waiting costs nothing here, and each
sample represents the same time. Python handles signals between two bytecode instructions: time inside
a C function is counted to the frame that called it. `python -m benchmarks.sampling FILE MODULE ARGUMENTS…`
runs a module as `python -m` does; SIGUSR1 starts the sampler, and the folded stacks are written at the exit.
"""

import runpy
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SAMPLING_INTERVAL_S = 0.001
"""Requested interval; a kernel with a slower clock gives fewer samples, without a bias."""

Stack = tuple[str, ...]
"""Frames as `module:function`, outermost first."""


class Sampler:
    """Counts stacks between `start` and `stop`."""

    def __init__(self) -> None:
        self.stacks: Counter[Stack] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._tick)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, SAMPLING_INTERVAL_S, SAMPLING_INTERVAL_S)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self.stacks[stack_of(frame)] += 1


@contextmanager
def sample_stacks() -> Iterator[Counter[Stack]]:
    """Sample the stacks of the block on the main thread."""
    sampler = Sampler()
    sampler.start()
    try:
        yield sampler.stacks
    finally:
        sampler.stop()


def stack_of(frame: FrameType | None) -> Stack:
    frames: list[str] = []
    while frame is not None:
        code = frame.f_code
        frames.append(f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(frames))


def format_stacks(stacks: Counter[Stack]) -> str:
    """Return folded stacks in the format of flame graph programs: `a;b;c 7`."""
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))


def parse_stacks(text: str) -> Counter[Stack]:
    parts = (line.rpartition(" ") for line in text.splitlines())
    return Counter({tuple(stack.split(";")): int(count) for stack, _, count in parts})


def main() -> None:
    file, module, *arguments = sys.argv[1:]
    sampler = Sampler()
    signal.signal(signal.SIGUSR1, lambda *_: sampler.start())
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sampler.stop()
        Path(file).write_text(format_stacks(sampler.stacks))


if __name__ == "__main__":
    main()
