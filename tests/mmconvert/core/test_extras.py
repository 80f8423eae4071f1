import pytest

from mmconvert.core.errors import UsageError
from mmconvert.core.extras import require_extra


def test_the_extra_of_a_missing_package_is_named() -> None:
    message = r'^ROUGE needs the package no_such\. Install it: pip install "mmconvert\[score\]"$'
    with pytest.raises(UsageError, match=message), require_extra("score", "ROUGE"):
        import no_such.part  # type: ignore[import-not-found]  # noqa: F401


def test_another_failure_is_left_alone() -> None:
    with pytest.raises(ImportError, match="broken"), require_extra("score", "ROUGE"):
        raise ImportError("broken")
