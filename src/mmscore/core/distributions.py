"""Probabilities and quantiles of the distributions that intervals and tests need; plain numbers in, plain numbers out.

SciPy has them all, at 140 MB and a third of a second to load; a report asks for a handful of values.
"""

import math
import sys
from statistics import NormalDist

TAIL = 0.025
"""Chance on either side of a 95 % interval, which all intervals of reports are."""

Z95 = 1.959963984540054
"""Standard errors between a normal value and either end of its interval: the normal quantile of 1 - `TAIL`."""

_EXACT = 10_000
"""Trials up to which a binomial coefficient is computed to its last digit."""
_LARGE = 100.0
"""From here on the series of the gamma function's ratio is as exact as a float."""
_STEPS = 100_000
_EPSILON = sys.float_info.epsilon


def compute_normal_cdf(z: float) -> float:
    """Give the chance that a standard normal value is at most `z`.

    Example:
        >>> compute_normal_cdf(0.0), round(compute_normal_cdf(-1.96), 4)
        (0.5, 0.025)
    """
    return 0.5 * math.erfc(-z / math.sqrt(2))


def find_normal_quantile(p: float) -> float:
    """Give the value that a standard normal one stays below with chance `p`, 0 < p < 1.

    Example:
        >>> round(find_normal_quantile(0.975), 6)
        1.959964
    """
    return NormalDist().inv_cdf(p)


def compute_t_cdf(freedom: float, t: float) -> float:
    """Give the chance that a value of Student's t is at most `t`.

    Args:
        freedom: Degrees of freedom, at least 1, whole or not.
        t: The value.

    Reference: DLMF 8.17.22 (the incomplete beta function as a continued fraction).

    Example:
        >>> round(compute_t_cdf(1, 1.0), 12), round(compute_t_cdf(10, -2.228139), 6)
        (0.75, 0.025)
    """
    beyond = _compute_beta_part(freedom / 2, 0.5, freedom, t * t) / 2
    return beyond if t < 0 else 1 - beyond


def find_t_quantile(freedom: float, p: float) -> float:
    """Give the value that Student's t stays below with chance `p`.

    Args:
        freedom: Degrees of freedom, at least 1, whole or not.
        p: The chance, 0 < p < 1.

    Example:
        >>> round(find_t_quantile(1, 0.975), 4), round(find_t_quantile(10, 0.975), 6)
        (12.7062, 2.228139)
    """
    if p <= 0.5:
        return -find_t_quantile(freedom, 1 - p) if p < 0.5 else 0.0
    low, high = 0.0, max(1.0, find_normal_quantile(p))
    while compute_t_cdf(freedom, high) < p:
        low, high = high, 2 * high
    while high - low > 4 * _EPSILON * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if compute_t_cdf(freedom, middle) < p else (low, middle)
    return (low + high) / 2


def compute_coin_tail(heads: int, tosses: int) -> float:
    """Give the chance that a fair coin shows at most so many heads.

    Args:
        heads: At most half of `tosses`.
        tosses: At least 1.

    Returns:
        The chance; 0.0 where it is too small for a float.

    Example:
        >>> compute_coin_tail(0, 6), compute_coin_tail(1, 2)
        (0.015625, 0.75)
    """
    if tosses <= _EXACT:
        term = math.comb(tosses, heads) / (1 << tosses)
    else:
        ways = math.lgamma(tosses + 1) - math.lgamma(heads + 1) - math.lgamma(tosses - heads + 1)
        term = math.exp(ways - tosses * math.log(2))
    total = term
    for number in range(heads, 0, -1):
        term *= number / (tosses - number + 1)
        total += term
        if term <= total * _EPSILON / tosses:
            break
    return total


def compute_chi2_tail(freedom: int, value: float) -> float:
    """Give the chance that a value of the chi-squared distribution exceeds `value`.

    Args:
        freedom: Degrees of freedom, at least 1.
        value: At least 0.

    Reference: DLMF 8.8.2 (the recurrence of the incomplete gamma function).

    Example:
        >>> round(compute_chi2_tail(1, 3.841459), 6), round(compute_chi2_tail(4, 9.487729), 6)
        (0.05, 0.05)
    """
    half = value / 2
    tail, shape = (math.exp(-half), 1.0) if freedom % 2 == 0 else (math.erfc(math.sqrt(half)), 0.5)
    if half <= 0:
        return 1.0
    while shape < freedom / 2:
        tail += math.exp(shape * math.log(half) - half - math.lgamma(shape + 1))
        shape += 1
    return min(1.0, tail)


def _compute_beta_part(a: float, b: float, first: float, second: float) -> float:
    """Give the regularised incomplete beta function of `a`, `b` at first / (first + second)."""
    x, y = first / (first + second), second / (first + second)
    if min(x, y) <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1.0 - _compute_beta_part(b, a, second, first)
    log_x, log_y = (math.log(x), math.log1p(-x)) if x < y else (math.log1p(-y), math.log(y))
    return math.exp(a * log_x + b * log_y - _compute_log_beta(a, b)) / a * _evaluate_fraction(a, b, x)


def _compute_log_beta(a: float, b: float) -> float:
    """Give the logarithm of the beta function, where one of both is 1/2."""
    other = a if b == 0.5 else b
    if other < _LARGE:
        ratio = math.lgamma(other + 0.5) - math.lgamma(other)
    else:  # two large logarithms would cancel
        ratio = 0.5 * math.log(other) - 1 / (8 * other) + 1 / (192 * other**3) - 1 / (640 * other**5)
    return 0.5 * math.log(math.pi) - ratio


def _evaluate_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by the method of Lentz."""
    # Written out, and functions called for nothing: intervals come here tens of thousands of times.
    tiny = sys.float_info.min
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    value = d = 1.0 / (d if d > tiny or d < -tiny else tiny)
    for step in range(1, _STEPS):
        last = a + 2 * step
        factor = step * (b - step) * x / ((last - 1) * last)
        d, c = 1.0 + factor * d, 1.0 + factor / c
        d = 1.0 / (d if d > tiny or d < -tiny else tiny)
        c = c if c > tiny or c < -tiny else tiny
        value *= c * d
        factor = -(a + step) * (a + b + step) * x / (last * (last + 1))
        d, c = 1.0 + factor * d, 1.0 + factor / c
        d = 1.0 / (d if d > tiny or d < -tiny else tiny)
        c = c if c > tiny or c < -tiny else tiny
        product = c * d
        value *= product
        if abs(product - 1.0) < _EPSILON:
            break
    return value
