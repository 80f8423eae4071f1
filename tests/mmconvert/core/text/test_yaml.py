"""YAML of strangers: its aliases cost no more than its text."""

from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.text import yaml
from mmconvert.core.text.yaml import AliasError, load_yaml, read_mapping_file
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.formats.mmtrust_config import FORMAT
from mmscore.core.recipe_options import read_options

LAUGHS = "a0: &a0 [lol]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
MERGED = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
CIRCLE = "dataset_id: &a [*a]\n"


@pytest.mark.parametrize("text", [LAUGHS, MERGED, CIRCLE])
def test_refuses_aliases_that_stand_for_billions_of_values(tmp_path: Path, text: str) -> None:
    with pytest.raises(AliasError):
        load_yaml(text)
    file = tmp_path / "task.yaml"
    file.write_text(text)
    for read in (read_options, read_mapping_file):
        with pytest.raises(Error, match="alias"):
            read(str(file))
    with pytest.raises(Error, match="alias"):
        list(FORMAT.rows(file, None))
    assert read_front_matter(f"---\n{text}---\n") == {}


def test_reads_what_people_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "_MOST_REPEATED", 1_000)
    text = "base: &b {max: 8}\nruns:\n  - <<: *b\n    n: 1\n  - <<: *b\n    n: 2\nlong: [" + "1, " * 1_200 + "1]\n"
    values = load_yaml(text)
    assert values["runs"] == [{"max": 8, "n": 1}, {"max": 8, "n": 2}]
    assert load_yaml("") is None


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['touch made']", "!!python/name:os.system", "!a 1"])
def test_a_tag_that_makes_an_object_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "task.yaml"
    file.write_text(f"datasets: {tag}\n")
    for read in (read_options, read_mapping_file):
        with pytest.raises(Error, match=r"task\.yaml"):
            read(str(file))
    assert read_front_matter(f"---\ndatasets: {tag}\n---\n") == {}
    assert not (tmp_path / "made").exists()
