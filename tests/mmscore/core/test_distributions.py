import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from mmscore.core import distributions

FREEDOM = st.floats(1, 1e6)


@given(p=st.floats(1e-6, 1 - 1e-6))
def test_normal_quantiles_are_those_of_scipy(p: float) -> None:
    assert distributions.find_normal_quantile(p) == pytest.approx(special.ndtri(p), rel=1e-12, abs=1e-15)


def test_the_constant_of_intervals_is_the_quantile_of_their_tail() -> None:
    assert special.ndtri(1 - distributions.TAIL) == distributions.Z95


@given(z=st.floats(-30, 30))
def test_normal_chances_are_those_of_scipy(z: float) -> None:
    assert distributions.compute_normal_cdf(z) == pytest.approx(special.ndtr(z), rel=1e-12)


@given(freedom=FREEDOM, t=st.floats(-50, 50))
def test_chances_of_students_t_are_those_of_scipy(freedom: float, t: float) -> None:
    assert distributions.compute_t_cdf(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-9)


@given(freedom=FREEDOM, p=st.floats(1e-4, 1 - 1e-4))
def test_quantiles_of_students_t_are_those_of_scipy(freedom: float, p: float) -> None:
    found = distributions.find_t_quantile(freedom, p)
    assert found == pytest.approx(special.stdtrit(freedom, p), rel=1e-9, abs=1e-9)


@given(tosses=st.integers(1, 2_000_000), share=st.floats(0, 0.5))
def test_tails_of_fair_coins_are_those_of_scipy(tosses: int, share: float) -> None:
    heads = int(tosses * share)
    expected = special.bdtr(heads, tosses, 0.5)
    assert distributions.compute_coin_tail(heads, tosses) == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_few_tosses_are_exact() -> None:
    ways = [1, 6, 15, 20]
    assert [distributions.compute_coin_tail(heads, 6) for heads in range(4)] == [
        sum(ways[: heads + 1]) / 64 for heads in range(4)
    ]


@given(freedom=st.integers(1, 60), value=st.floats(0, 300))
def test_tails_of_chi_squared_are_those_of_scipy(freedom: int, value: float) -> None:
    expected = special.chdtrc(freedom, value)
    assert distributions.compute_chi2_tail(freedom, value) == pytest.approx(expected, rel=1e-11)
