"""The libraries that go into every report are whole, named, and no script of ours is broken."""

import shutil
import subprocess
from importlib.resources import files

import pytest

from mmscore.reporting.html.page import _SCRIPTS

HTML = files("mmscore.reporting.html")


@pytest.mark.parametrize(("library", "file"), [("d3", "d3.min.js"), ("plot", "plot.umd.min.js")])
def test_a_library_is_the_release_that_the_script_fetches_with_its_licence(repository, library, file):
    banner = (HTML / "vendor" / file).read_text("utf-8").splitlines()[0]
    version = banner.split(" v")[1].split()[0]
    assert f"{version} " in (repository / "scripts/vendor").read_text()
    assert f"{version} ({file})" in (repository / "NOTICE").read_text()
    assert "Permission to use, copy, modify" in (HTML / "vendor" / f"LICENSE.{library}").read_text()


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.parametrize("name", _SCRIPTS)
def test_a_script_can_be_read(name):
    subprocess.run(["node", "--check", str(HTML / name)], check=True)
