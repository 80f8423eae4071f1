"""The catalogue of benchmarks has the form that `scripts/benchmarks` checks."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from mmconvert.benchmarks.catalogue import Benchmark, HubFiles, JoinedTables, Source, Url, UrlParts, find_benchmark
from support.catalogue import check_catalogue, read_facts

pytestmark = pytest.mark.static

ONE = Benchmark(name="Mine", framework="vlmevalkit", source=Url("https://example.org/Mine.tsv", "0" * 32))


def test_the_script_finds_nothing() -> None:
    script = Path(__file__).parents[1] / "scripts/benchmarks"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_a_sound_entry_passes() -> None:
    assert check_catalogue([ONE, replace(ONE, name="Other", aliases=("Yours",), recipe="vlmevalkit_mcq")]) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"recipe": "vlmevalkit_nothing"}, "no recipe is called vlmevalkit_nothing"),
        ({"format": "nothing"}, "no format is called nothing"),
        ({"prompt": "vlmevalkit:dataset_class=Nothing"}, "has no class"),
        ({"framework": "other"}, "no framework is called other"),
        ({"name": " x"}, "is no name"),
        ({"questions": 0}, "0 questions"),
        ({"source": Url("http://example.org/a.tsv")}, "is not https"),
        ({"source": Url("https://huggingface.co/datasets/a/b/blob/main/c.tsv")}, "is not https"),
        ({"source": Url("https://example.org/a.tsv", "A" * 32)}, "is no MD5"),
        ({"source": UrlParts(("https://a.org/1", "https://a.org/2"), md5s=("0" * 32,))}, "each part needs one MD5"),
        ({"source": HubFiles("name alone")}, "is no OWNER/NAME"),
        ({"source": JoinedTables(("Gone",))}, "holds Gone, which is missing"),
    ],
)
def test_what_is_wrong_is_found(wrong: dict[str, Source | str], said: str) -> None:
    (problem,) = check_catalogue([replace(ONE, **wrong)])
    assert said in problem


def test_a_name_stands_for_one_benchmark() -> None:
    (problem,) = check_catalogue([ONE, replace(ONE, name="Other", aliases=("Mine",))])
    assert problem == "vlmevalkit:Other: Mine is a name of vlmevalkit:Mine too."
    assert check_catalogue([ONE, replace(ONE, framework="lmms_eval")]) == []


def test_an_entry_is_made_of_facts() -> None:
    facts = {
        "name": "Physics", "kit": "VLMEvalKit", "kind": "tsv", "url": "http://example.org/Physics.tsv",
        "md5": "A" * 32, "modality": "image", "scoring": "x.py:Y.evaluate (z)", "needs_judge": True, "recipe": None,
        "prompt": None, "questions": 3,
    }  # fmt: skip
    entry = read_facts(facts)
    assert entry.source == Url("https://example.org/Physics.tsv", "a" * 32)
    assert (entry.rule, entry.judge, entry.format) == ("x.py:Y.evaluate", "required", "lmudata")
    assert "plain http" in (entry.note or "")


def test_a_rule_without_public_references_is_named_all_the_same() -> None:
    one = find_benchmark("MMBench_TEST_EN")
    assert (one.recipe, one.answers) == ("mmbench_circular", False)


def test_pages_of_the_hub_are_taken_as_files() -> None:
    source = find_benchmark("WorldVQA").source
    assert isinstance(source, Url)
    assert source.url == "https://huggingface.co/datasets/moonshotai/WorldVQA/resolve/main/WorldVQA.tsv"
