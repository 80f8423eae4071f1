"""Packages of the lock `release`, which few tests need and `scripts/setup` leaves out for their size.

A test that needs one is skipped where it is not installed. `scripts/test --release` installs all of them and fails if
one is missing (`tests/test_release_packages.py`), so that no test is skipped there.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

HOW = "scripts/setup --release installs it"


def require_package(module: str) -> ModuleType:
    """Import a module of a package of the release, or skip the test."""
    package = module.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: {HOW}")
    return import_module(module)


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skip a test where a package is missing; none is imported here."""
    absent = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(absent), reason=f"{', '.join(absent)} is not installed: {HOW}")
