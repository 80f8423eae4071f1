"""What GitHub reads fits its schemas, runs scripts that exist, and gives nothing away."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from mmconvert._version import __version__

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"),
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE/config.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schema(schema: str) -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    done = run(program, "--builtin-schema", f"vendor.{schema}", *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout


def test_zizmor_finds_nothing() -> None:
    done = run(Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", GITHUB)
    assert done.returncode == 0, done.stdout


def test_workflows_run_scripts_that_exist() -> None:
    jobs = [job for path in WORKFLOWS for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()]
    commands = [step.get("run", "") for job in jobs for step in job["steps"]]
    named = {name for command in commands for name in re.findall(r"scripts/[\w-]+(?=\s|$)", command)}
    assert {"scripts/check", "scripts/test", "scripts/site", "scripts/release"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_version_is_one() -> None:
    small = tomllib.loads((ROOT / "packaging/mmscore/pyproject.toml").read_text("utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"]
    assert (small["version"], small["dependencies"], cited) == (__version__, [f"mmconvert=={__version__}"], __version__)
