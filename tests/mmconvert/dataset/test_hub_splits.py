"""The files of a configuration and split: as the card says, else by their names."""

from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.dataset.hub_splits import find_split_files, match_files

CARD = """---
configs:
- config_name: Full
  data_files:
  - split: adversarial
    path: Full/adversarial-*
  - split: popular
    path: Full/popular-*
- config_name: default
  data_files:
  - split: test
    path: ["data/test-*", "more/*.parquet"]
- config_name: one
  data_files: one/*.jsonl
- config_name: object
  data_files: {train: one/a.jsonl, test: data/test-*}
- config_name: loose
  data_files: ["data/test-*", "data/train-*"]
- config_name: gone
  data_files: nowhere/*
---
# POPE
"""


def make(root: Path, *names: str, card: str | None = None) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    if card is not None:
        (root / "README.md").write_text(card)
    return root


def found(root: Path, config: str | None = None, split: str | None = None) -> list[str]:
    return [file.relative_to(root).as_posix() for file in find_split_files(root, config, split)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shards = [f"data/test-0000{n}-of-00002.parquet" for n in range(2)]
    full = [f"Full/{split}-00000-of-00001.parquet" for split in ("adversarial", "popular")]
    rest = ["data/train-00000-of-00001.parquet", "more/x.parquet", "more/notes.txt", "one/a.jsonl"]
    return make(tmp_path, *shards, *full, *rest, card=CARD)


@pytest.mark.parametrize(
    ("config", "split", "names"),
    [
        ("Full", "adversarial", ["Full/adversarial-00000-of-00001.parquet"]),
        ("Full", None, ["Full/adversarial-00000-of-00001.parquet", "Full/popular-00000-of-00001.parquet"]),
        (None, "test", ["data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet", "more/x.parquet"]),
        ("one", "train", ["one/a.jsonl"]),
        ("object", "train", ["one/a.jsonl"]),
        ("loose", "train", ["data/train-00000-of-00001.parquet"]),
    ],
)
def test_the_card_says_which_files_they_are(root: Path, config: str | None, split: str, names: list[str]) -> None:
    assert found(root, config, split) == names


@pytest.mark.parametrize(
    ("config", "split", "said"),
    [
        ("Fulll", None, "no configuration 'Fulll'. Did you mean Full?"),
        ("Full", "advers", "no split 'advers'. Did you mean adversarial? Known: adversarial, popular."),
        ("gone", None, "no table of config 'gone' was found. Name one of its tables, hf://datasets/USER/REPO/FILE"),
    ],
)
def test_what_the_card_does_not_have_is_named(root: Path, config: str, split: str | None, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        found(root, config, split)
    assert said in str(caught.value)


def test_without_a_default_a_configuration_must_be_named(tmp_path: Path) -> None:
    card = "---\nconfigs:\n- config_name: a\n  data_files: a.json\n- config_name: b\n  data_files: b.json\n---\n"
    root = make(tmp_path, "a.json", "b.json", card=card)
    with pytest.raises(UsageError, match=r"several configurations\. Known: a, b"):
        found(root)
    assert found(root, "b") == ["b.json"]


@pytest.mark.parametrize(
    ("names", "config", "split", "chosen"),
    [
        (["data/test-00000-of-00001.parquet", "data/train-00000-of-00001.parquet"], None, "test", ["data/test-"]),
        (["data/val-0.parquet", "data/test-0.parquet"], None, "validation", ["data/val-"]),
        (["data/validation-0.parquet", "validate.py"], None, "val", ["data/validation-"]),
        (["Full/test-0.parquet", "Half/test-0.parquet"], "Full", "test", ["Full/test-"]),
        (["Full/test/0.parquet", "Full/train/0.parquet"], "Full", "test", ["Full/test/0"]),
        (["full-test.jsonl", "half-test.jsonl"], "full", None, ["full-test.jsonl"]),
        (["questions.tsv"], None, "test", ["questions.tsv"]),
        (["test.jsonl", "test-0.parquet"], None, "test", ["test-0.parquet"]),
        (["testing_set.json", "tests.json"], None, "test", ["testing_set.json"]),
    ],
)
def test_without_a_card_names_say_it(
    names: list[str], config: str | None, split: str | None, chosen: list[str], tmp_path: Path
) -> None:
    files = found(make(tmp_path, *names), config, split)
    assert [any(file.startswith(one) for one in chosen) for file in files] == [True] * len(chosen)


@pytest.mark.parametrize(
    ("names", "split", "said"),
    [
        (["a.json", "b.json"], None, "several of its tables may be meant. Name one of its tables"),
        (["a/test.json", "b/test.json"], "test", "several of its tables may be meant"),
        (["a.json", "b.json"], "test", "no table of split 'test' was found"),
        (["a.zip"], "test", "It holds no table. Fetch it, and convert the files that are in it."),
    ],
)
def test_what_nobody_can_tell_is_left_to_the_user(
    names: list[str], split: str | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        found(make(tmp_path, *names), None, split)
    assert said in str(caught.value)


def test_a_broken_card_is_none(tmp_path: Path) -> None:
    for card in (
        "---\nconfigs: {a\n---\n",
        "---\nconfigs: x\n---\n",
        "no front matter",
        "---\nconfigs: [1, {}]\n---\n",
    ):
        assert found(make(tmp_path, "test.json", card=card), None, "test") == ["test.json"]


def test_patterns_match_paths_within_the_dataset(tmp_path: Path) -> None:
    root = make(tmp_path, "a/b/x_results.json", "a/y.json", "x_results.json")
    assert [file.name for file in match_files(root, "a/y.json")] == ["y.json"]
    assert match_files(root, "a/z.json") == []
    assert len(match_files(root, "**/*_results.json")) == 2
