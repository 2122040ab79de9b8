"""A pytest plugin that fails each test in which the product blocks an event loop.

`pytest -p tests.quality.loop_watch` runs tests with asyncio's debug mode on. A test fails if the product blocked the
loop's thread (blocking.py), computed longer than SLOW_STEP_S in one step (slow_steps.py), left a coroutine unawaited or
a task's exception unread, or left a file or socket open.
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
    """Record asyncio's log messages about unawaited coroutines and unread exceptions."""

    def emit(self, record: logging.LogRecord) -> None:
        OFFENCES.append(Offence("asyncio's logger", self.format(record)))


def pytest_configure(config: pytest.Config) -> None:
    os.environ["PYTHONASYNCIODEBUG"] = "1"
    config.option.asyncio_debug = True  # read by pytest-asyncio when it creates loops
    for line in STRICT:
        config.addinivalue_line("filterwarnings", line)
    blocking.install()
    slow_steps.install()
    logging.getLogger("asyncio").addHandler(UnreadErrors(logging.ERROR))


def pytest_unconfigure() -> None:
    slow_steps.stop()


def pytest_collection_finish() -> None:
    """Freeze all current objects: the collection after each test is then cheap."""
    get_default_timezone()  # cached here, as socialsite/asgi.py does
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    gc.disable()  # debug mode creates garbage, which must not count for a step; collected after each test
    OFFENCES.clear()
    blocking.watch(True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail the test on offences. Objects unreachable after the fixtures' teardown were never closed or read."""
    gc.collect()
    blocking.watch(False)
    if offences := list(dict.fromkeys(map(str, OFFENCES))):
        OFFENCES.clear()
        pytest.fail(f"{len(offences)} offences in {item.name}:\n" + "\n".join(offences), pytrace=False)
