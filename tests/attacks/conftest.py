"""Fixtures for attack tests: the whole site in this process or in a daphne, as in tests/web.

Two variables lengthen the tests. ATTACK_INPUTS=5000 sets how many inputs each fuzzing test tries, ATTACK_ROUNDS=1000
how many pairs the timing tests compare.
"""

from tests.contract.conftest import here
from tests.web.conftest import alice, bob, daphne, limited_site, open_browser, site, visitor, world

__all__ = ["alice", "bob", "daphne", "here", "limited_site", "open_browser", "site", "visitor", "world"]
