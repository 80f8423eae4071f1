"""Connect to the Ray cluster that RAY_ADDRESS names, or to one of this machine for the run alone."""

import logging
import os
from typing import Any

from mmconvert.core.errors import UsageError, take_first_line

_ADDRESS = "RAY_ADDRESS"


def connect() -> None:
    """Be connected to the cluster; one of this machine alone ends with the process.

    Raises:
        ModuleNotFoundError: ray is not installed.
        UsageError: The cluster that RAY_ADDRESS names cannot be reached.
    """
    import ray  # an extra of its own
    from ray.exceptions import RayError

    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if not os.environ.get(_ADDRESS):
        options["include_dashboard"] = False
    try:
        ray.init(**options)
    except (ConnectionError, RayError, ValueError, RuntimeError) as error:
        raise UsageError(f"{_ADDRESS}: no Ray cluster can be reached ({take_first_line(error)}).") from None
