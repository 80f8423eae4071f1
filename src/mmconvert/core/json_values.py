"""Values that JSON does not know, as JSON: dates, decimals, durations and bytes become text.

Parquet, and code of users, hold them in columns that nobody asked for; a row is worth more than their type.
"""

import base64
import datetime
import math
from decimal import Decimal
from typing import Any
from uuid import UUID


def convert_to_json(value: Any) -> Any:
    """Give a value as JSON can say it.

    Args:
        value: A value of Python, lists and dicts of such among them.

    Returns:
        Dates and times as ISO 8601 writes them, durations, decimals and UUIDs as Python does, bytes as base64; NaN
        and the infinities as null; lists for tuples, texts as keys. Everything else as it is.

    Raises:
        TypeError: There is no such form.
        RecursionError: It is nested too deeply.

    Example:
        >>> convert_to_json({"at": datetime.date(2026, 1, 2), 7: [Decimal("1.50"), b"hi", float("nan")]})
        {'at': '2026-01-02', '7': ['1.50', 'aGk=', None]}
        >>> convert_to_json(datetime.timedelta(seconds=90))
        '0:01:30'
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): convert_to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [convert_to_json(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal | datetime.timedelta | UUID):
        return str(value)
    raise TypeError(f"no form in JSON for {type(value).__name__}")
