import json
import shutil

import pyarrow.parquet as pq
import pytest

from mmscore.core.predictions.run_metadata import RUN_METADATA
from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message


@pytest.fixture
def files(tmp_path):
    """Two models on two datasets of one dimension and one of another; the second model lacks one."""
    made = []
    for model, dataset, right in (
        ("m1", "GQA", 3),
        ("m1", "CLEVR", 1),
        ("m2", "GQA", 1),
        ("m2", "CLEVR", 4),
        ("m1", "Whoops", 2),
    ):
        rows = choices(*[("A", "A")] * right, *[("B", "A")] * (4 - right), model=model, dataset=dataset)
        made.append(write_predictions(tmp_path / f"{model}_{dataset}.parquet", rows))
    return made


def test_dimensions_are_the_default(files, tmp_path):
    outputs = ["-o", tmp_path / "r.json", "--csv", tmp_path / "r.csv", "--markdown", tmp_path / "r.md"]
    shown = mmscore("rank", *files, *outputs)
    assert shown.code == 3
    assert "Visually Grounded Reasoning (2/12)" in shown.out
    assert "* m2 by generation lacks Whoops" in shown.out
    (table,) = json.loads((tmp_path / "r.json").read_text())["tables"]
    assert [(s["model"], s["average_score"], s["average_rank"]) for s in table["standings"]] == [
        ("m2", 62.5, 1.5),
        ("m1", 43.75, 1.5),
    ]
    assert (tmp_path / "r.csv").read_text().startswith("model,method,average_rank")
    assert "| m2 | 1.5* | 62.50 |" in (tmp_path / "r.md").read_text()
    assert mmscore("rank", *files, "--allow-rejects").code == 0
    assert mmscore("rank", *files[:4]).code == 0


def test_any_datasets_can_be_ranked_by_themselves(files):
    shown = mmscore("rank", *files[:3], f"mine={files[4]}", "--by", "dataset", "--json")
    (table,) = json.loads(shown.out)["tables"]
    assert [column["name"] for column in table["columns"]] == ["GQA", "CLEVR", "mine"]
    assert {s["model"]: s["average_rank"] for s in table["standings"]} == {"m1": 1.0, "m2": 2.0}


@pytest.mark.release
def test_the_kits_own_lists_are_ranked(shared, tmp_path):
    folder = shared / "real" / "reform_eval"
    choice = next(folder.glob("TDIUC*"))
    shown = mmscore(
        "rank", next(folder.glob("MSCOCO*")), next(folder.glob("FUNSD*")), f"TDIUC-Color={choice}", "--json"
    )
    assert shown.code == 3
    cells = {cell["dataset"]: cell for cell in json.loads(shown.out)["cells"]}
    expected = json.loads((folder / "expected.json").read_text())
    assert cells["TDIUC-Color"]["score"] == pytest.approx(100 * expected[choice.name]["accuracy"], rel=1e-12)
    assert (cells["TDIUC-Color"]["method"], cells["TDIUC-Color"]["column"]) == ("likelihood", "Fine-Grained")
    assert cells["MSCOCO"]["score"] == pytest.approx(80.041, abs=1e-4)
    assert cells["FUNSD"]["score"] == pytest.approx(0.6802721088435374, rel=1e-12)


def test_a_file_whose_name_holds_an_equals_sign_is_a_file(files, tmp_path):
    odd = tmp_path / "a=b.parquet"
    shutil.copy(files[0], odd)
    assert mmscore("rank", odd).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Missing argument '[NAME=]PATH...'"),
        (["none.parquet"], 2, "none.parquet: no such file or folder."),
        (["GQU={gqa}"], 2, "ReForm-Eval has no dataset 'GQU'. Did you mean GQA"),
        (["{tdiuc}"], 2, "'TDIUC' is several datasets of ReForm-Eval (TDIUC-Sport, "),
        (["{bare}"], 2, "does not state its dataset. Give it as NAME=PATH."),
        (["{bare}", "--by", "dataset"], 2, "does not state its dataset. Give it as NAME=PATH."),
        (["{gqa}", "{gqa}"], 2, "are both m1 on GQA by generation. Drop one"),
        (["{gqa}", "--metric", "acuracy"], 2, "Did you mean accuracy"),
        (["{gqa}", "--by", "size"], 2, "Invalid value for '--by'"),
        (["{gqa}", "--csv", "no/such/r.csv"], 2, "no/such/r.csv: cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(files, tmp_path, arguments, code, message):
    places = {
        "gqa": files[0],
        "tdiuc": write_predictions(tmp_path / "t.parquet", choices(("A", "A"), dataset="TDIUC")),
        "bare": write_predictions(tmp_path / "bare.parquet", choices(("A", "A"))),
    }
    ended = mmscore("rank", *(text.format(**places) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code


def test_a_run_that_stopped_early_is_named_and_gives_exit_code_3(files, tmp_path):
    table = pq.read_table(files[0])
    part = tmp_path / "part.parquet"
    pq.write_table(table.replace_schema_metadata({RUN_METADATA: b'{"partial": true}'}), part)
    for path in (part, tmp_path / "r.json"):
        ended = mmscore("rank", path, "--method", "generation")
        assert ended.code == 3
        assert f"{part}: covers a part of GQA only" in ended.out
        mmscore(part, "-o", tmp_path / "r.json")
    assert mmscore("rank", part, "--allow-rejects").code == 0


def test_every_column_is_printed_where_the_output_is_no_terminal(tmp_path):
    names = [f"Dataset_{n}" for n in range(24)]
    files = [write_predictions(tmp_path / f"{n}.parquet", choices(("A", "A"), dataset=n, model="m")) for n in names]
    (line,) = (line for line in mmscore("rank", *files, "--by", "dataset").out.splitlines() if "Dataset_0" in line)
    assert line.split() == ["Model", *names]


def test_one_of_several_recipes_of_a_report_can_be_chosen(files, tmp_path):
    report = tmp_path / "r.json"
    mmscore(*files[:2], "--recipe", "own_choice", "--recipe", "vlmevalkit_mcq", "-o", report)
    arguments = ("rank", report, "--by", "dataset", "--method", "generation")
    assert "which cannot be ranked together. Choose one for all with --recipe" in one_message(
        mmscore(*arguments), "mmscore"
    )
    for name in ("vlmevalkit_mcq", "vlmevalkit_mcq@v3"):
        cells = json.loads(mmscore(*arguments, "--recipe", name, "--json").out)["cells"]
        assert {cell["recipe"] for cell in cells} == {"vlmevalkit_mcq@v3"}
    said = one_message(mmscore(*arguments, "--recipe", "own_chice"), "mmscore")
    assert "scored already, by own_choice@1, vlmevalkit_mcq@v3. Name one" in said
