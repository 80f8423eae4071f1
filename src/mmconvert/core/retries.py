"""When a request is sent again, the same for API servers, the Hub, hosts of images and score services.

Source of the statuses and of `Retry-After`: RFC 9110, sections 15 and 10.2.3; RFC 8470, section 5.2 (425).
"""

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

LONGEST_WAIT = 8.0
"""Seconds that a wait grows to."""

_PASSING = frozenset((408, 409, 425, 429))
_SERVER_ERROR = 500
_NOT_IMPLEMENTED = 501

_RANDOM = random.SystemRandom()


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a request is sent, and how long is waited between.

    Attributes:
        tries: Most times that a request is sent, from 1.
        first_wait: Seconds before it is sent a second time; doubles with each further time, up to `LONGEST_WAIT`.
        longest_pause: Most seconds that a server may ask for by `Retry-After`.
    """

    tries: int
    first_wait: float
    longest_pause: float = 300.0

    def compute_wait(self, sent: int) -> float:
        """Give the seconds to wait before a request is sent again where the server asks for none.

        It is less up to a quarter at random, so that clients that failed together do not return together.

        Args:
            sent: How often it was sent, from 1.
        """
        return min(LONGEST_WAIT, self.first_wait * 2.0 ** (sent - 1)) * (1 - _RANDOM.random() / 4)


def may_pass(status: int) -> bool:
    """Tell whether a status is of a failure that may pass by itself.

    Example:
        >>> [status for status in (400, 404, 408, 409, 425, 429, 500, 501, 503) if may_pass(status)]
        [408, 409, 425, 429, 500, 503]
    """
    return status in _PASSING or (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED)


def parse_retry_after(said: str) -> float | None:
    """Read the seconds of a `Retry-After`, which has them or a date; None where it says nothing that makes sense.

    Example:
        >>> parse_retry_after("2"), parse_retry_after("soon"), parse_retry_after("Fri, 01 Jan 1999 00:00:00 GMT")
        (2.0, None, None)
    """
    text = said.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            seconds = (until - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError):
            return None
    return seconds if seconds >= 0 and math.isfinite(seconds) else None
