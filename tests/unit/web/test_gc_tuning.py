"""Memory of a process after its start, measured in a process of its own."""

import subprocess
import sys

from tests.support.daphnes import ROOT

PROGRAM = """
import gc, sys
from argon2.low_level import Type, hash_secret
from socialsite.web import gc_tuning
from tests.support.processes import resident_kb
import os

def hash_password():
    hash_secret(b"a password", b"salt" * 4, 2, 19 * 1024, 1, 32, Type.ID)

if sys.argv[1] == "tuned":
    gc_tuning.freeze_startup_objects()
before_kb = resident_kb(os.getpid())
for _ in range(3):
    hash_password()
print(resident_kb(os.getpid()) - before_kb)
"""


def kept_kb(how: str) -> int:
    return int(subprocess.check_output([sys.executable, "-c", PROGRAM, how], cwd=ROOT, text=True))


def test_a_process_returns_the_memory_of_a_password_hash() -> None:
    assert kept_kb("tuned") < 8_000
    assert kept_kb("untuned") > 16_000, "the C library returns it without our settings"
