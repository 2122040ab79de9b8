"""Post ids fit in a double, are ordered, and do not repeat."""

from hypothesis import given
from hypothesis import strategies as st

from socialsite.clock import FixedClock
from socialsite.ids import EPOCH_MS, MAX_ID, PostIdGenerator, id_at, ms_from_id

YEAR_2069_MS = EPOCH_MS + (1 << 41) - 1


@given(st.integers(EPOCH_MS, YEAR_2069_MS), st.integers(0, 4095))
def test_an_id_contains_its_time_and_stays_below_2_to_the_53(at_ms: int, low: int) -> None:
    made = id_at(at_ms, low)
    assert ms_from_id(made) == at_ms
    assert 0 <= made <= MAX_ID
    assert int(float(made)) == made


@given(st.lists(st.integers(-2000, 5), min_size=1, max_size=60))
def test_ids_rise_without_repetition_even_if_the_clock_goes_back(steps: list[int]) -> None:
    clock = FixedClock(EPOCH_MS + 10_000_000)
    ids = PostIdGenerator(clock)
    made = []
    for step in steps:
        clock.advance(step)
        made += [ids.next_id() for _ in range(5)]
    assert made == sorted(set(made))


def test_one_millisecond_has_room_for_thousands_of_ordered_ids() -> None:
    ids = PostIdGenerator(FixedClock(EPOCH_MS + 1))
    made = [ids.next_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert ms_from_id(made[-1]) - ms_from_id(made[0]) <= 10


def test_two_generators_rarely_collide_in_one_millisecond() -> None:
    clock = FixedClock(EPOCH_MS + 1)
    firsts = [PostIdGenerator(clock).next_id() for _ in range(50)]
    assert len(set(firsts)) > 40
