"""The service layer against a plain dict model, in every order that hypothesis finds.

Sign up, post, answer, delete, follow, ask, accept, unfollow, block, mute, quiet, like, boost, bookmark,
lists, suspend and reinstate, private accounts; a web process that dies amid a post, a worker amid a job,
jobs done twice, and the loss of every cache. After a step that takes a right away nobody may see what it
hid; after each calm every page of every reader is the model's, read by cursors both ways.

`STATE_STEPS=10000` makes the run as long as the figure in docs/reference/reliability.md.
"""

import os
import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from socialsite.service_config import ServiceConfig
from tests.support.key_document import DOCUMENT, KeyRow
from tests.support.site_machine import SMALL_CONFIG
from tests.support.site_machine_faults import SHARED_CACHE_PATTERNS, FaultActions, own_caches
from tests.support.site_machine_reactions import ReactionActions
from tests.support.topologies import Deployment

PULLING = replace(SMALL_CONFIG, pull_threshold=1, pull_grace_ms=3_000)
STEPS_EACH, STEPS_REACHED = 60, 40
"""Of one history at most, and on average at least."""
STEPS = int(os.environ.get("STATE_STEPS", "900"))
ENOUGH = 6_000
"""A run of so many steps has met everything, or shows nothing."""


@pytest.mark.parametrize("config", [SMALL_CONFIG, PULLING], ids=["pushed", "pulled"])
def test_every_order_of_everything_leaves_what_the_model_says(deployment: Deployment, config: ServiceConfig) -> None:
    tally = Counter[str]()
    whole = (ReactionActions, FaultActions)
    machine = type("Machine", whole, {"deployment": deployment, "config": config, "tally": tally})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max(1, STEPS // STEPS_REACHED // 2),
            stateful_step_count=STEPS_EACH,
            deadline=None,
            derandomize="CI" in os.environ,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
    print(", ".join(f"{count:,} {what}" for what, count in tally.items()))
    assert tally["passes"]  # fan-outs were under way while all the rest happened
    if STEPS >= ENOUGH:
        assert tally["steps"] >= STEPS / 2
        assert tally["jobs adopted"] >= STEPS / 500


def test_every_cache_of_the_site_is_among_those_that_are_lost() -> None:
    """As docs/reference/keys.md has it: a key that is told to be a cache may be lost at any time."""
    own = own_caches(1, [1])
    caches = [KeyRow(pattern) for pattern in re.findall(r"^\| `([^`]+)` \|[^|]*\| cache: ", DOCUMENT.read_text(), re.M)]
    assert len(caches) > 6
    for line in caches:
        example = re.sub("<[a-z]+>", "0", line.pattern)
        is_own = any(line.matches(key) for key in own)
        assert is_own or any(fnmatchcase(example, each) for each in SHARED_CACHE_PATTERNS), line.pattern
