"""How much of the machine a run may use."""

import os


def usable_cores() -> int:
    """Count the cores this process may run on; all of the machine's where the system does not say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
