"""A pytest plugin that lets no test pass in which the product kept an event loop waiting.

`pytest -p tests.quality.loop_watch` runs tests with asyncio's debug mode on and fails those during which the
product blocked the loop's thread (blocking.py), computed longer than SLOW_STEP_S in one step (slow_steps.py),
left a coroutine unawaited, a task's exception unread, or a file or socket unclosed.
"""

import gc
import logging
import os

import pytest
from django.utils.timezone import get_default_timezone

from tests.quality import blocking, slow_steps
from tests.quality.blocking import OFFENCES, Offence

STRICT = ("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")


class UnreadErrors(logging.Handler):
    """asyncio says by its logger what nobody awaited or read."""

    def emit(self, record: logging.LogRecord) -> None:
        OFFENCES.append(Offence("asyncio's logger", self.format(record)))


def pytest_configure(config: pytest.Config) -> None:
    os.environ["PYTHONASYNCIODEBUG"] = "1"
    config.option.asyncio_debug = True  # pytest-asyncio decides for the loops that it makes
    for line in STRICT:
        config.addinivalue_line("filterwarnings", line)
    blocking.install()
    slow_steps.install()
    logging.getLogger("asyncio").addHandler(UnreadErrors(logging.ERROR))


def pytest_unconfigure() -> None:
    slow_steps.stop()


def pytest_collection_finish() -> None:
    """What stands by now is never garbage: collecting after each test then costs little."""
    get_default_timezone()  # read at the start, as socialsite/asgi.py does
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    gc.disable()  # debug mode's own garbage is no step of the product's; it is collected after each test
    OFFENCES.clear()
    blocking.watch(True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """After the fixtures' end: what is not reachable by now was dropped without being closed or read."""
    gc.collect()
    blocking.watch(False)
    if found := list(dict.fromkeys(map(str, OFFENCES))):
        OFFENCES.clear()
        pytest.fail(f"{len(found)} offences in {item.name}:\n" + "\n".join(found), pytrace=False)
