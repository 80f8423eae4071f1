import warnings

import pytest

from mmconvert.core.deprecation import MmconvertDeprecationWarning, warn_deprecated


def old_name() -> None:
    warn_deprecated("old_name", "new_name", "0.3")


def test_the_warning_names_what_to_use_and_points_at_the_line_of_the_user() -> None:
    message = r"old_name is deprecated and goes with mmconvert 0\.3\. Use new_name\."
    with pytest.warns(FutureWarning, match=message) as found:
        old_name()
    assert [(one.category, one.filename) for one in found] == [(MmconvertDeprecationWarning, __file__)]


def test_it_can_be_filtered_apart_from_others() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MmconvertDeprecationWarning)
        old_name()
