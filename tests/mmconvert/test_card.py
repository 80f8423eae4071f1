import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from mmconvert.card import MEANINGS, SplitInfo, card, front_matter, yaml_features
from mmconvert.record import PREDICTION_SCHEMA, SCHEMA, Image, Part, Record, Source, Turn, to_arrow


def record(id_: str) -> Record:
    turn = Turn("user", (Part("image"), Part("text", "What?")))
    return Record(id_, id_, (turn,), "vqa", Source("vmcq", "a.jsonl", 0), images=(Image(b"picture", 1),))


@pytest.mark.parametrize("schema", [SCHEMA, PREDICTION_SCHEMA], ids=["record", "prediction"])
def test_features_are_spelled_as_datasets_spells_them(schema):
    datasets = pytest.importorskip("datasets")
    assert yaml_features(schema) == datasets.Features.from_arrow_schema(schema)._to_yaml_list()


@pytest.mark.parametrize("column", PREDICTION_SCHEMA.names)
def test_every_column_is_explained(column):
    assert MEANINGS[column] in card({}, schema=PREDICTION_SCHEMA, title="t", source_format=None)


def test_front_matter_counts_rows_and_bytes_of_every_configuration():
    configs = {"default": [SplitInfo("train", 3, 30), SplitInfo("test", 1, 10)], "zh": [SplitInfo("dev", 2, 5)]}
    values = front_matter(card(configs, schema=SCHEMA, title="T", source_format="mmmu"))
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
    values = front_matter(card({"b": [], "a": []}, schema=SCHEMA, title="T", source_format=None))
    assert [config.get("default") for config in values["configs"]] == [True, None]


def test_a_title_cannot_break_out_of_yaml_or_markdown():
    title = 'x\n---\nconfigs: []\n# "a: b" <script>|'
    text = card({"default": []}, schema=SCHEMA, title=title, source_format=None)
    assert front_matter(text)["pretty_name"] == 'x --- configs: [] # "a: b" <script>|'
    assert "<script>" not in text.partition("\n---\n")[2].replace("\\<script\\>", "")


def test_yaml_has_no_references():
    text = card({"a": [], "b": []}, schema=SCHEMA, title="T", source_format=None)
    assert not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text.split("---\n")[1]))


@pytest.mark.parametrize("text", ["", "# no block", "---\n[1, 2]\n---\n", "---\na: [\n---\n"])
def test_a_card_without_usable_yaml_has_no_values(text):
    assert front_matter(text) == {}


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
    (folder / "README.md").write_text(card(infos, schema=SCHEMA, title="T", source_format="vmcq"))

    def load(*name):
        return datasets.load_dataset(str(folder), *name, cache_dir=str(tmp_path / "cache"))

    assert {name: split.num_rows for name, split in load().items()} == {"train": 3, "test": 1}
    zh = load("zh")["test"]
    assert zh.num_rows == 2
    assert zh.features == datasets.Features.from_arrow_schema(SCHEMA)
    assert zh.cast_column("images", datasets.List(datasets.Image(decode=False)))[0]["images"][0]["bytes"] == b"picture"
