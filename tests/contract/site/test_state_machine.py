"""The service layer compared with a plain dict model in random sequences of steps by Hypothesis.

Sign up, post, reply, edit, delete, follow, request, accept, unfollow, block, mute, hide boosts, like, boost, bookmark,
lists, suspend and reinstate, private accounts; a web process that dies during a post or an edit, a worker during a job,
jobs performed twice, and the loss of every cache. After a step that removes a right, no account may see the hidden
posts; whenever no job is left, every page of every reader equals the model's, read by cursors in both directions.

`STATE_STEPS=10000` makes the run as long as the figure in docs/reference/reliability.md.
"""

import os
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from socialsite.service_config import ServiceConfig
from tests.support.site_machine import SMALL_CONFIG
from tests.support.site_machine_acts import FaultActions, ReactionActions
from tests.support.topologies import Deployment

PULLING = replace(SMALL_CONFIG, pull_threshold=1, pull_grace_ms=3_000)
STEPS_EACH, STEPS_REACHED = 60, 40
"""The maximum number of steps of one history, and the minimum of the average."""
STEPS = int(os.environ.get("STATE_STEPS", "450"))
ENOUGH = 6_000
"""A run of this many steps must contain every kind of event."""


@pytest.mark.parametrize("config", [SMALL_CONFIG, PULLING], ids=["pushed", "pulled"])
def test_random_sequences_of_steps_match_the_model(deployment: Deployment, config: ServiceConfig) -> None:
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
    if "CI" in os.environ:  # the steps are the same in each run; elsewhere few random steps may have no edit
        assert tally["edits"]
    if STEPS >= ENOUGH:
        assert tally["passes"]  # fan-outs ran during the other steps
        assert tally["steps"] >= STEPS / 2
        assert tally["jobs adopted"] >= STEPS / 500
