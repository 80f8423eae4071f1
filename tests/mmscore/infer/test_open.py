"""A backend whose package is missing says what to install."""

import pytest

from mmconvert.core.errors import UsageError
from mmscore.infer import open as opening
from mmscore.infer.backend import ModelOptions


@pytest.mark.parametrize(
    ("module", "package", "install"),
    [
        ("torch.nn", "torch", r'"mmconvert\[infer\]"'),
        ("ray", "ray", r'"mmconvert\[ray\]"'),
        ("ruff", "ruff", "ruff"),
        ("no_such_package.parts", "no_such_package", "no_such_package"),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_brings_it(
    module: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def miss(group: str, name: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(opening, "load", miss)
    with pytest.raises(UsageError, match=rf"needs the package {package}\. Install it: pip install {install}$"):
        opening.open_backend("transformers", ModelOptions("m"))
