import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import PREDICTION_SCHEMA, SCHEMA, Image, Part, Record, Source, Turn, to_arrow
from mmconvert.dataset.card import Origin, SplitInfo, describe_features, merge, set_repo_name, write_card
from mmconvert.dataset.card_sections import MEANINGS
from mmconvert.dataset.front_matter import read_front_matter


def record(id_: str) -> Record:
    turn = Turn("user", (Part("image"), Part("text", "What?")))
    return Record(id_, id_, (turn,), "vqa", Source("vmcq", "a.jsonl", 0), images=(Image(b"picture", 1),))


@pytest.mark.parametrize("schema", [SCHEMA, PREDICTION_SCHEMA], ids=["record", "prediction"])
def test_features_are_spelled_as_datasets_spells_them(schema):
    datasets = pytest.importorskip("datasets")
    assert describe_features(schema) == datasets.Features.from_arrow_schema(schema)._to_yaml_list()


@pytest.mark.parametrize("column", PREDICTION_SCHEMA.names)
def test_every_column_is_explained(column):
    assert MEANINGS[column] in write_card({}, schema=PREDICTION_SCHEMA, title="t", source_format=None)


def test_front_matter_counts_rows_and_bytes_of_every_configuration():
    configs = {"default": [SplitInfo("train", 3, 30), SplitInfo("test", 1, 10)], "zh": [SplitInfo("dev", 2, 5)]}
    values = read_front_matter(write_card(configs, schema=SCHEMA, title="T", source_format="mmmu"))
    default, zh = values["dataset_info"]
    assert default["splits"] == [
        {"name": "train", "num_bytes": 30, "num_examples": 3},
        {"name": "test", "num_bytes": 10, "num_examples": 1},
    ]
    assert (default["download_size"], default["dataset_size"], zh["dataset_size"]) == (40, 40, 5)
    assert values["configs"][1] == {
        "config_name": "zh",
        "data_files": [{"split": "dev", "path": "zh/dev-*.parquet"}],
    }


def test_the_first_configuration_is_the_default_when_none_has_that_name():
    values = read_front_matter(write_card({"b": [], "a": []}, schema=SCHEMA, title="T", source_format=None))
    assert [config.get("default") for config in values["configs"]] == [True, None]


def test_a_title_cannot_break_out_of_yaml_or_markdown():
    title = 'x\n---\nconfigs: []\n# "a: b" <script>|'
    text = write_card({"default": []}, schema=SCHEMA, title=title, source_format=None)
    assert read_front_matter(text)["pretty_name"] == 'x --- configs: [] # "a: b" <script>|'
    assert "<script>" not in text.partition("\n---\n")[2].replace("\\<script\\>", "")


def test_yaml_has_no_references():
    text = write_card({"a": [], "b": []}, schema=SCHEMA, title="T", source_format=None)
    assert not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text.split("---\n")[1]))


@pytest.mark.parametrize("text", ["", "# no block", "---\n[1, 2]\n---\n", "---\na: [\n---\n"])
def test_a_card_without_usable_yaml_has_no_values(text):
    assert read_front_matter(text) == {}


def test_a_folder_with_this_card_loads_by_configuration_and_split(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "set"
    configs = {"default": {"train": 3, "test": 1}, "zh": {"test": 2}}
    infos = {}
    for config, splits in configs.items():
        place = folder / ("data" if config == "default" else config)
        place.mkdir(parents=True)
        infos[config] = []
        for split, rows in splits.items():
            file = place / f"{split}-00000-of-00001.parquet"
            pq.write_table(pa.Table.from_batches([to_arrow([record(f"{split}{i}") for i in range(rows)])]), file)
            infos[config].append(SplitInfo(split, rows, file.stat().st_size))
    (folder / "README.md").write_text(write_card(infos, schema=SCHEMA, title="T", source_format="vmcq"))

    def load(*name):
        return datasets.load_dataset(str(folder), *name, cache_dir=str(tmp_path / "cache"))

    assert {name: split.num_rows for name, split in load().items()} == {"train": 3, "test": 1}
    zh = load("zh")["test"]
    assert zh.num_rows == 2
    assert zh.features == datasets.Features.from_arrow_schema(SCHEMA)
    assert zh.cast_column("images", datasets.List(datasets.Image(decode=False)))[0]["images"][0]["bytes"] == b"picture"


def one(config: str, split: str, rows: int) -> str:
    return write_card({config: [SplitInfo(split, rows, rows * 10)]}, schema=SCHEMA, title="T", source_format="vmcq")


def splits_of(text: str) -> dict[str, dict[str, int]]:
    return {
        info["config_name"]: {split["name"]: split["num_examples"] for split in info["splits"]}
        for info in read_front_matter(text)["dataset_info"]
    }


def test_merging_keeps_splits_and_configurations_that_only_the_old_card_has():
    merged = merge(one("default", "test", 5), merge(one("default", "train", 2), one("zh", "dev", 3)))
    assert splits_of(merged) == {"zh": {"dev": 3}, "default": {"train": 2, "test": 5}}
    configs = read_front_matter(merged)["configs"]
    assert [file["path"] for config in configs for file in config["data_files"]] == [
        "zh/dev-*.parquet",
        "data/train-*.parquet",
        "data/test-*.parquet",
    ]
    assert [config["config_name"] for config in configs if config.get("default")] == ["default"]
    assert "| zh | dev | 3 | 30 |" in merged


def test_merging_replaces_a_split_that_both_cards_have():
    merged = merge(one("default", "test", 5), one("default", "test", 9))
    assert splits_of(merged) == {"default": {"test": 5}}
    assert merged == one("default", "test", 5)


def test_merging_reads_the_cards_that_datasets_writes():
    old = "---\nlicense: mit\ndataset_info:\n  splits:\n  - name: dev\n    num_examples: 4\n---\nMy words.\n"
    merged = merge(one("default", "test", 5), old)
    assert splits_of(merged) == {"default": {"dev": 4, "test": 5}}
    assert read_front_matter(merged)["license"] == "mit"
    assert merged.endswith("<!-- /mmconvert -->\nMy words.\n")


def test_text_around_the_marked_part_survives_a_merge():
    begin, end = "<!-- mmconvert:", "<!-- /mmconvert -->\n"
    old = one("default", "test", 9).replace(begin, f"Before.\n{begin}").replace(end, f"{end}After.\n")
    merged = merge(one("default", "test", 5), old)
    assert "---\nBefore.\n<!-- mmconvert:" in merged
    assert merged.endswith("<!-- /mmconvert -->\nAfter.\n")
    mine = merge(one("default", "test", 5).replace(end, f"{end}Mine.\n"), old)
    assert mine.endswith("Mine.\n")
    assert "Before." not in mine


@pytest.mark.parametrize(
    "old",
    [
        "",
        "---\nconfigs: [2, {data_files: x}]\ndataset_info: [1, {splits: [x, {name: 3, num_bytes: many}]}]\n---\n",
    ],
)
def test_merging_survives_a_card_of_another_shape(old):
    assert splits_of(merge(one("default", "test", 5), old))["default"]["test"] == 5


def counted(config: str, split: str, **categories: int) -> str:
    info = SplitInfo(split, sum(categories.values()), 9, {"task": {"vqa": 1}, "category": categories})
    return write_card({config: [info]}, schema=SCHEMA, title="T", source_format=None)


def test_rows_are_counted_by_category_and_long_lists_are_cut():
    text = counted("default", "test", **{f"c{number:02}": number for number in range(1, 41)})
    assert "## Categories\n\n### `default`, `test`\n" in text
    rows = [line for line in text.splitlines() if line.startswith("| category |")]
    assert rows[0] == "| category | c40 | 40 |"
    assert rows[-1] == "| category | ... 10 more values | 55 |"
    assert len(rows) == 31


def test_a_category_cannot_break_out_of_its_table_or_fill_the_page():
    text = counted("default", "test", **{"a | b\n# c": 2, "x" * 500: 1})
    assert "| category | a \\| b \\# c | 2 |" in text
    assert f"| category | {'x' * 60}... | 1 |" in text


def test_counts_of_other_splits_survive_a_merge_and_those_of_a_gone_split_do_not():
    old = merge(counted("zh", "dev", bird=3), counted("default", "train", cat=2))
    merged = merge(counted("default", "test", dog=1), old)
    headings = [line for line in merged.splitlines() if line.startswith("### ")]
    assert headings == ["### `default`, `train`", "### `default`, `test`", "### `zh`, `dev`"]
    assert all(f"| category | {name} |" in merged for name in ("cat", "dog", "bird"))
    again = merge(counted("default", "test", owl=1), merged)
    assert ("| category | owl | 1 |" in again, "dog" in again) == (True, False)


def test_licence_and_source_are_stated_where_somebody_stated_them():
    bare = one("default", "test", 5)
    assert "- Licence: not stated; the license of the source data applies.\n- Source: not stated." in bare
    assert "license" not in read_front_matter(bare)
    said = set_repo_name(bare, "user/demo", Origin("cc-by-4.0", "https://example.org/data"))
    values = read_front_matter(said)
    assert (values["license"], values["source_url"]) == ("cc-by-4.0", "https://example.org/data")
    assert "- Licence: `cc-by-4.0`\n- Source: https://example.org/data" in said
    kept = merge(bare, said)
    assert "- Licence: `cc-by-4.0`\n- Source: https://example.org/data" in kept
    assert read_front_matter(set_repo_name(bare, "user/demo", Origin(source="HuggingFaceM4/VQAv2")))[
        "source_datasets"
    ] == ["HuggingFaceM4/VQAv2"]


@pytest.mark.parametrize("wrong", [{"license": "MIT License"}, {"source": "my disk"}, {"source": "https://a b"}])
def test_a_licence_or_source_that_no_card_can_hold_is_a_wrong_usage(wrong):
    with pytest.raises(UsageError, match=f"--{next(iter(wrong))}: expected"):
        Origin(**wrong)


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (5 * 10**6, "1M<n<10M"),
        (10**12, "n>1T"),
        (10**12 - 1, "100B<n<1T"),
    ],
)
def test_the_hubs_class_of_size_follows_from_the_rows(rows, size):
    assert read_front_matter(one("default", "test", rows))["size_categories"] == [size]


def test_the_hubs_names_of_tasks_follow_from_the_rows():
    counts = {"task": {"ocr": 1, "vqa": 2, "yes_no": 3}}
    text = write_card({"default": [SplitInfo("test", 6, 1, counts)]}, schema=SCHEMA, title="T", source_format=None)
    assert read_front_matter(text)["task_categories"] == ["visual-question-answering", "image-to-text"]


def test_use_names_the_repository_and_every_configuration():
    merged = set_repo_name(merge(one("default", "test", 5), one("zh", "dev", 3)), "user/demo")
    assert 'rows = load_dataset("user/demo", split="test")' in merged
    assert 'rows = load_dataset("user/demo", "zh", split="dev")' in merged
    assert "mmscore predict hf://datasets/user/demo/zh -o predictions.parquet" in merged
    alone = set_repo_name(one("default", "test", 5), "user/demo")
    assert "mmscore predict user/demo -o predictions.parquet" in alone
    assert "USER/REPO" not in alone


def test_use_trains_where_rows_are_laid_out_for_it():
    infos = {"default": [SplitInfo("train", 5, 1)]}
    text = write_card(infos, schema=SCHEMA, title="T", source_format=None, training=True)
    code = text.partition("```python\n")[2].partition("```")[0]
    compile(code, "card", "exec")
    assert 'SFTTrainer(model="MODEL", train_dataset=rows, args=args).train()' in code
    assert "mmscore predict" not in text


def test_norwegian_stays_a_language():
    old = "---\nlanguage:\n- no\n- en\nviewer: false\nname: trueish\n---\n"
    merged = merge(one("default", "test", 5), old)
    assert read_front_matter(merged)["language"] == ["no", "en"]
    assert (read_front_matter(merged)["viewer"], read_front_matter(merged)["name"]) == (False, "trueish")
    assert yaml.safe_load(merged.split("---\n")[1])["language"] == ["no", "en"]


def test_a_card_whose_yaml_is_broken_is_not_written_over():
    with pytest.raises(Error, match="of the repository: its YAML cannot be read"):
        merge(one("default", "test", 5), "---\nlicense: [mit\n---\nMine.\n")
