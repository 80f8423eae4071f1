"""What batches took tells how many tokens go together."""

from dataclasses import dataclass

from hypothesis import assume, given
from hypothesis import strategies as st

from mmscore.infer.memory import TokenBudget


@dataclass
class Simulated:
    """A GPU on which a batch takes a fixed number of bytes and some for each token."""

    size: int
    a_token: int
    fixed: int = 0
    peak: int = 0

    def measure_room(self):
        return self.size

    def reset_peak(self):
        self.peak = 0

    def measure_peak(self):
        return self.peak

    def work(self, tokens):
        self.peak = self.fixed + tokens * self.a_token
        return self.peak <= self.size


def test_before_anything_was_measured_a_fixed_number_goes_together():
    assert TokenBudget([], 100).count_tokens() == 100
    assert TokenBudget([Simulated(10**9, 10)], 100).count_tokens() == 100


@given(st.integers(10**6, 10**9), st.integers(1, 10**4), st.integers(0, 10**5), st.integers(1, 50))
def test_what_was_measured_fits_and_uses_most_of_the_memory(size, a_token, fixed, first):
    device = Simulated(size, a_token, fixed)
    budget = TokenBudget([device], first)
    assume(device.work(first))
    for tokens in (first, None, None):
        budget.begin_batch()
        worked_on = tokens or max(1, budget.count_tokens())
        assert device.work(worked_on) or worked_on == 1
        budget.learn(worked_on)
    assert fixed or budget.count_tokens() == int(0.8 * size / a_token)


def test_the_fullest_of_several_devices_and_the_worst_batch_count():
    small, large = Simulated(10_000, 10), Simulated(100_000, 10)
    budget = TokenBudget([large, small], 8)
    for tokens, a_token in ((10, 10), (10, 40), (10, 10)):
        small.a_token = a_token
        budget.begin_batch()
        large.work(tokens), small.work(tokens)
        budget.learn(tokens)
    assert budget.count_tokens() == 0.8 * 10_000 / 40


def test_a_batch_that_did_not_fit_makes_the_next_ones_smaller():
    device = Simulated(10_000, 10)
    budget = TokenBudget([device], 4_000)
    budget.lower_limit(4_000)
    first = budget.count_tokens()
    budget.lower_limit(first)
    assert 4_000 > 1.4 * first > 1.9 * budget.count_tokens() > 0
