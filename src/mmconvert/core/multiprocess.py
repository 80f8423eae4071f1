"""How much of the machine a run may use, and children that do not run the user's script again."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


def count_usable_cores() -> int:
    """Count the cores this process may run on; all of the machine's where the system does not say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_MAIN = "__main__"
_lock = threading.Lock()


@contextmanager
def hide_main_module() -> Iterator[None]:
    """Start children of `multiprocessing` inside: none of them loads the main module, which it would as a rule.

    A script that converts at its top level would convert again in every child, and one from standard input has
    no file to load. Our tasks are functions of modules and plug-ins that go by name.
    """
    with _lock:
        main = sys.modules[_MAIN]
        sys.modules[_MAIN] = ModuleType(_MAIN)
        try:
            yield
        finally:
            sys.modules[_MAIN] = main
