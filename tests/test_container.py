"""The image and the development container: clean for hadolint, of files that exist, with our programs."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from support.packages import HOW

HADOLINT = Path(sys.executable).with_name("hadolint")
ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEVELOPMENT = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))


@pytest.mark.skipif(not HADOLINT.exists(), reason=f"hadolint is not installed: {HOW}")
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_exists_and_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sent = [line.removeprefix("!") for line in lines if line.startswith("!")]
    copied = [*" ".join(re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)).split()]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [name for name in copied if name not in sent] == []
    assert [name for name in sent if name not in copied] == []


def test_the_image_runs_a_program_of_the_package_with_no_root_on_a_python_that_it_takes() -> None:
    assert json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)[1])[0] in PROJECT["scripts"]
    assert int(re.search(r"^USER (.*)$", DOCKERFILE, re.MULTILINE)[1]) > 0
    versions = re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, re.MULTILINE)
    assert len(versions) == DOCKERFILE.count("\nFROM ")
    assert all(version in SpecifierSet(PROJECT["requires-python"]) for version in versions)
    [extras] = re.findall(r"^ARG EXTRAS=(.*)$", DOCKERFILE, re.MULTILINE)
    assert {*extras.split(",")} <= PROJECT["optional-dependencies"].keys()


def test_the_development_container_sets_up_by_the_projects_scripts() -> None:
    assert (ROOT / DEVELOPMENT["postCreateCommand"]).is_file()
    version = re.fullmatch(r".*python:([\d.]+)-\w+", DEVELOPMENT["image"])[1]
    assert version in SpecifierSet(PROJECT["requires-python"])
