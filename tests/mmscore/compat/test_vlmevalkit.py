"""VLMEvalKit's names: tables, images, classes of benchmarks, and what a run of them gives."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import PIL.Image
import pybase64
import pytest

import mmscore
from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.dataset import open_dataset
from mmscore.compat import vlmevalkit as kit
from mmscore.compat.vlmevalkit.recipes import as_recipe, numbers_of, rows_of
from mmscore.compat.vlmevalkit.running import benchmark_of
from support.questions import make_image

pytestmark = pytest.mark.slow

RED, BLUE = make_image("red"), make_image("blue")
RED_TEXT, BLUE_TEXT = (pybase64.b64encode(data).decode() for data in (RED, BLUE))


@pytest.fixture(autouse=True)
def lmudata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    (tmp_path / "LMUData").mkdir()
    return tmp_path / "LMUData"


def table(path: Path, **columns: list) -> Path:
    kit.dump(pd.DataFrame(columns), path)
    return path


def questions(folder: Path, name: str, **more: list) -> Path:
    columns = {
        "index": [1, 2, 3],
        "image": [RED_TEXT, BLUE_TEXT, "1"],
        "question": ["Which colour?", "And this?", "Again?"],
        "answer": ["red", "blue", "red"],
        "category": ["warm", "cold", "warm"],
    }
    return table(folder / f"{name}.tsv", **{**columns, **more})


def says(*replies: str):
    return lambda records: [replies[int(record.id) - 1] for record in records]


class Colours(kit.ImageBaseDataset):
    """Names of colours."""

    TYPE = "VQA"
    DATASET_URL = {"Colours": "https://example.org/tables/Colours.tsv"}  # noqa: RUF012 - as the kit's users write it
    DATASET_MD5 = {}  # noqa: RUF012

    def build_prompt(self, line):
        message = kit.ImageBaseDataset.build_prompt(self, line)
        message[-1]["value"] += " One word."
        return message

    def evaluate(self, eval_file, **judge_kwargs):
        data = kit.load(eval_file)
        data["hit"] = data["answer"] == data["prediction"]
        hits = data.groupby("category")["hit"].mean()
        assert list(data["index"]) == sorted(data["index"])
        assert judge_kwargs.get("model", "rules") in ("rules", "judge")
        return {"split": ["all", *hits.index], "accuracy": [data["hit"].mean(), *hits]}


def test_a_table_is_prepared_as_the_kit_does_it(lmudata):
    questions(lmudata, "mine", image=[RED_TEXT, f"['{BLUE_TEXT}', '{RED_TEXT}']", "1"], A=["x", "y", None])
    mine = kit.CustomVQADataset("mine")
    assert (len(mine), mine.meta_only, mine.dataset_name) == (3, False, "mine")
    assert mine[0]["index"] == 1
    assert mine.data["image"].tolist() == [RED_TEXT, [BLUE_TEXT, RED_TEXT], RED_TEXT]
    first, second, asked = mine.build_prompt(1)
    assert [Path(piece["value"]).read_bytes() for piece in (first, second)] == [BLUE, RED]
    assert [Path(piece["value"]).name for piece in (first, second)] == ["2_0.png", "2_1.png"]
    assert asked == {"type": "text", "value": "And this?"}
    assert mine.build_prompt(mine.data.iloc[1])[-1] == asked


def test_paths_stand_where_there_are_no_images_and_names_stay_inside(lmudata):
    questions(lmudata, "paths", image_path=["a.png", "['b.png', 'c.png']", "d.png"], image=["", "", ""])
    frame = kit.load(lmudata / "paths.tsv").drop(columns="image")
    kit.dump(frame, lmudata / "paths.tsv")
    paths = kit.CustomVQADataset("paths")
    assert [piece["value"] for piece in paths.build_prompt(1)] == ["b.png", "c.png", "And this?"]
    questions(lmudata, "out", image_path=["../a.png", "b.png", "c/d.png"])
    out = kit.CustomVQADataset("out")
    with pytest.raises(Error, match="leaves the image root"):
        out.build_prompt(0)
    assert out.build_prompt(2)[0]["value"] == str(Path(out.img_root).resolve() / "c/d.png")


def test_images_are_named_by_number_where_names_are_of_another_number(lmudata):
    questions(lmudata, "odd", image_path=["['a.png', 'b.png']", "x.png", "y.png"], image=[RED_TEXT, None, BLUE_TEXT])
    odd = kit.CustomVQADataset("odd", skip_noimg=False)
    assert [Path(piece["value"]).name for piece in odd.build_prompt(0)[:-1]] == ["1.png"]
    assert [piece["type"] for piece in odd.build_prompt(1)] == ["text"]
    assert [Path(piece["value"]).name for piece in odd.build_prompt(2)[:-1]] == ["y.png"]


def test_images_are_encoded_anew_and_kept_where_the_class_says_so(lmudata):
    questions(lmudata, "anew", image_path=["a.jpg", "a.jpg", "b.png"], image=[RED_TEXT, BLUE_TEXT, BLUE_TEXT])
    anew = kit.CustomVQADataset("anew")
    anew.target_size = 10
    first, second, third = (Path(anew.build_prompt(row)[0]["value"]) for row in range(3))
    with PIL.Image.open(first) as red, PIL.Image.open(third) as blue:
        assert (red.format, blue.format, max(blue.size)) == ("JPEG", "PNG", 10)
        assert red.getpixel((0, 0))[0] > 200
    assert second == first


def test_rows_without_an_image_are_left_out_and_an_image_that_is_not_there_is_named(lmudata):
    questions(lmudata, "some", image=[RED_TEXT, None, "1"])
    assert len(kit.CustomVQADataset("some")) == 2
    questions(lmudata, "none", image=[RED_TEXT, "9", "1"])
    with pytest.raises(Error, match="'2' image: names no row"):
        kit.CustomVQADataset("none")


def test_a_class_is_found_by_its_name_then_by_the_columns(lmudata):
    questions(lmudata, "Colours")
    questions(lmudata, "MME")
    questions(lmudata, "mine")
    questions(lmudata, "choices", A=["a", "b", "c"], B=["d", "e", "f"])
    found = [type(kit.build_dataset(name)) for name in ("Colours", "MME", "mine", "choices")]
    assert found == [Colours, kit.ImageYORNDataset, kit.CustomVQADataset, kit.CustomMCQDataset]
    assert kit.build_dataset("nowhere") is None
    assert [kit.DATASET_TYPE(name) for name in ("Colours", "MME", "MMMU_DEV_VAL", "TextVQA_VAL", "mine")] == [
        "VQA",
        "Y/N",
        "MCQ",
        "VQA",
        "MCQ",
    ]


def test_tables_that_the_framework_publishes_are_fetched_where_that_is_allowed(lmudata, monkeypatch):
    asked = []

    def download(url, file_name=None, md5=None, open_url=None):
        asked.append((url.rpartition("/")[2], file_name, md5 is not None, [*open_url.keywords["hosts"]]))
        return questions(lmudata, file_name.removesuffix(".tsv"), A=["a", "b", "c"], B=["d", "e", "f"])

    monkeypatch.setattr("mmscore.compat.vlmevalkit.datasets.download_table", download)
    assert kit.build_dataset("HRBench4K") is None
    with pytest.raises(
        UsageError, match=r"MME\.tsv: the table is not there\. Put it there, or allow https.*MME\.tsv to"
    ):
        kit.build_dataset("MME")
    with pytest.raises(UsageError, match=r"HRBench4K\.tsv: is missing\. Put https.*--allow-remote"):
        benchmark_of("HRBench4K", allow_remote=False)
    assert type(kit.build_dataset("HRBench4K", allow_remote=True, allow_host=["a:1"])) is kit.CustomMCQDataset
    assert type(kit.build_dataset("MME", allow_remote=True)) is kit.ImageYORNDataset
    assert kit.build_dataset("nowhere", allow_remote=True) is None
    assert asked == [("hr_bench_4k.tsv", "HRBench4K.tsv", True, ["a:1"]), ("MME.tsv", "MME.tsv", True, [])]
    # A table that is there is used as it is.
    assert len(kit.build_dataset("MME")) == 3
    assert kit.build_dataset("MaCBench", allow_remote=True) is None


def test_nothing_is_fetched_unless_it_is_allowed(lmudata, monkeypatch):
    with pytest.raises(UsageError, match=r"Colours\.tsv: the table is not there\..*--allow-remote"):
        Colours("Colours")
    asked = []

    def download(url, file_name=None, md5=None, open_url=None):
        assert file_name == "Colours.tsv"
        asked.append((url, md5, open_url.keywords["hosts"]))
        return questions(lmudata, "fetched")

    monkeypatch.setattr("mmscore.compat.vlmevalkit.datasets.download_table", download)
    assert len(kit.build_dataset("Colours", allow_remote=True)) == 3
    monkeypatch.setattr(Colours, "allow_remote", True)
    assert len(Colours("Colours")) == 3
    monkeypatch.setattr(Colours, "allow_host", ("own:1",))
    assert len(Colours("Colours")) == 3
    assert len(kit.build_dataset("Colours", allow_remote=True, allow_host=["two:2"])) == 3
    url = "https://example.org/tables/Colours.tsv"
    assert asked == [(url, None, hosts) for hosts in [(), (), ("own:1",), ("own:1", "two:2")]]
    with pytest.raises(UsageError, match="--allow-host goes with --allow-remote"):
        kit.build_dataset("Colours", allow_host=["two:2"])
    monkeypatch.setattr(Colours, "allow_remote", False)
    questions(lmudata, "Colours")
    monkeypatch.setitem(Colours.DATASET_MD5, "Colours", "0" * 32)
    with pytest.raises(UsageError, match=f"MD5 .*, not {'0' * 32}"):
        Colours("Colours")


def test_a_class_of_the_users_is_a_dataset_and_a_recipe(tmp_path, lmudata):
    questions(lmudata, "Colours")
    done = kit.run("Colours", model="m", backend=says("red", "red", "red"), work_dir=tmp_path / "out")
    assert done.entry.metrics["all accuracy"].value == pytest.approx(2 / 3)
    assert done.entry.metrics["cold accuracy"].value == 0
    assert [row["split"] for row in done.result] == ["all", "cold", "warm"]
    assert {file.name for file in done.folder.iterdir()} >= {
        "m_Colours.xlsx",
        "m_Colours.parquet",
        "m_Colours_acc.csv",
        "m_Colours_report.json",
    }
    columns = list(kit.load(done.eval_file).columns)
    assert columns == ["index", "question", "answer", "category", "prediction"]
    asked = next(mmscore_records(tmp_path / "out/.datasets/Colours"))
    assert (asked.messages[0].content[-1].text, asked.images[0].bytes) == ("Which colour? One word.", RED)
    (entry,) = mmscore.score(done.folder / "m_Colours.parquet", as_recipe(Colours)).entries
    assert {name: e.value for name, e in entry.metrics.items()} == {
        name: e.value for name, e in done.entry.metrics.items()
    }


def mmscore_records(path: Path):
    from mmconvert.dataset.dataset import open_dataset

    return open_dataset(path).records()


@pytest.mark.release
def test_a_recipe_of_a_file_is_named_on_the_command_line_with_or_without_the_table(tmp_path, lmudata):
    questions(lmudata, "Colours")
    done = kit.run("Colours", model="m", backend=says("red", "blue", "red"), work_dir=tmp_path / "out", mode="infer")
    assert done.entry is None
    (lmudata / "Colours.tsv").unlink()
    (tmp_path / "mine.py").write_text(
        "import vlmeval.dataset\n"
        "class Mine(vlmeval.dataset.ImageBaseDataset):\n"
        "    def evaluate(self, eval_file, **judge_kwargs):\n"
        "        return {'rows': len(self.data), 'of': {'name': self.dataset_name == 'Colours'}}\n"
        "other = 3\n"
    )
    command = [sys.executable, "-m", "mmscore", str(done.folder / "m_Colours.parquet"), "--json", "--recipe"]
    ran = subprocess.run([*command, "mine.py@Mine"], capture_output=True, text=True, check=True)
    (entry,) = json.loads(ran.stdout)["entries"]
    assert {name: metric["value"] for name, metric in entry["metrics"].items()} == {"rows": 3, "of.name": 1}
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# edited\n")
    edited = subprocess.run([*command, "mine.py@Mine"], capture_output=True, text=True, check=True)
    assert json.loads(edited.stdout)["entries"][0]["signature"] != entry["signature"]
    wrong = subprocess.run([*command, "mine.py@other"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "is not a recipe (got 3)" in wrong.stderr) == (2, True)


def test_groups_are_evaluated_by_themselves_and_two_models_compared(tmp_path, lmudata):
    questions(lmudata, "Colours")
    one, other = (
        kit.run("Colours", model=name, backend=says(*replies), work_dir=tmp_path / "out")
        for name, replies in (("a", ("red", "red", "red")), ("b", ("red", "blue", "blue")))
    )
    for given in (None, one.eval_file):
        recipe = as_recipe(Colours, given)
        (entry,) = mmscore.score(one.folder / "a_Colours.parquet", recipe, by=["category"]).entries
        groups = {value: metrics["all accuracy"].value for value, metrics in entry.groups["category"].items()}
        assert (entry.metrics["all accuracy"].value, groups) == (pytest.approx(2 / 3), {"warm": 1, "cold": 0})
    (tmp_path / "c.py").write_text(
        "from vlmeval.dataset import ImageBaseDataset\n"
        "from vlmeval.smp import load\n"
        "class C(ImageBaseDataset):\n"
        "    def evaluate(self, eval_file, **judge_kwargs):\n"
        "        data = load(eval_file)\n"
        "        return {'hits': (data['answer'] == data['prediction']).sum()}\n"
    )
    files = [str(done.folder / f"{done.model}_Colours.parquet") for done in (one, other)]
    for command in (["compare", *files, "--json"], ["explain", files[0]]):
        command = [sys.executable, "-m", "mmscore", *command, "--recipe", "c.py@C"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_rows_without_a_reply_are_counted_and_not_evaluated(tmp_path, lmudata):
    questions(lmudata, "Colours")
    done = kit.run("Colours", model="m", backend=lambda records: ["red", None, "red"], work_dir=tmp_path)
    assert (done.entry.counts.scored, done.entry.counts.failed) == (2, 1)
    assert list(kit.load(done.eval_file)["index"]) == [1, 3]


def test_long_replies_make_a_tsv(tmp_path, lmudata):
    questions(lmudata, "Colours")
    done = kit.run("Colours", model="m", backend=says("red", "x" * 40_000, "red"), work_dir=tmp_path)
    assert done.eval_file.suffix == ".tsv"
    assert len(kit.load(done.eval_file)["prediction"][1]) == 40_000


def test_answers_that_stand_are_taken_or_asked_again(tmp_path, lmudata):
    questions(lmudata, "Colours")
    ask = lambda **how: kit.run("Colours", model="m", backend=says("a", "b", "c"), work_dir=tmp_path, **how)  # noqa: E731
    assert ask().summary.asked == 3
    assert ask().summary.asked == 3
    assert ask(reuse=True).summary.asked == 0
    scored = ask(mode="eval")
    assert (scored.summary, scored.entry.counts.total) == (None, 3)


def test_a_run_that_was_stopped_goes_on(tmp_path, lmudata):
    questions(lmudata, "Colours")
    asked = []

    class Stops:
        def generate_inner(self, message, dataset=None):
            asked.append(message[-1]["value"])
            if len(asked) == 3:
                raise KeyboardInterrupt
            return "red"

    with pytest.raises(KeyboardInterrupt):
        kit.run("Colours", model="m", backend=Stops(), work_dir=tmp_path)
    assert kit.run("Colours", model="m", backend=Stops(), work_dir=tmp_path).summary.reused == 2
    assert len(asked) == 4


def test_a_result_file_of_the_kits_own_is_scored_as_it_stands(tmp_path, lmudata):
    questions(lmudata, "Colours")
    (tmp_path / "out/m").mkdir(parents=True)
    table(
        tmp_path / "out/m/m_Colours.xlsx",
        index=[1, 2],
        question=["?", "!"],
        answer=["red", "blue"],
        category=["warm", "cold"],
        prediction=["red", "red"],
    )
    done = kit.run("Colours", model="m", work_dir=tmp_path / "out", mode="eval")
    assert done.entry.metrics["all accuracy"].value == 0.5
    with pytest.raises(UsageError, match=r"holds no n_Colours\.xlsx"):
        kit.run("Colours", model="n", work_dir=tmp_path / "out", mode="eval")


def test_the_kits_own_classes_give_the_kits_numbers_and_tables(tmp_path, lmudata):
    choices = {"A": ["red"] * 3, "B": ["blue"] * 3, "answer": ["A", "B", "A"]}
    questions(lmudata, "choices", **choices, split=["val"] * 3)
    done = kit.run("choices", model="m", backend=says("A", "The answer is A", "blue"), work_dir=tmp_path)
    assert done.entry.recipe == "vlmevalkit_mcq"
    (row,) = done.result
    assert (row["Overall"], row["cold"], row["warm"]) == (pytest.approx(1 / 3), 0, 0.5)
    frame = kit.CustomMCQDataset("choices").evaluate(str(done.eval_file), model="exact_matching", nproc=4)
    assert frame.to_dict("records") == [row]
    with pytest.raises(UsageError, match=r"no judge argument 'modle'\. Did you mean model"):
        kit.CustomMCQDataset("choices").evaluate(str(done.eval_file), modle="x")


@pytest.mark.parametrize(
    ("base", "recipe"),
    [
        (kit.ImageMCQDataset, "vlmevalkit_mcq"),
        (kit.ImageYORNDataset, "vlmevalkit_yorn"),
        (kit.ImageVQADataset, "vlmevalkit_vqa"),
        (kit.ImageCaptionDataset, "vlmevalkit_caption"),
    ],
)
def test_a_class_that_inherits_evaluate_is_scored_as_its_base_whatever_its_name(tmp_path, lmudata, base, recipe):
    more = {"A": ["a"] * 3, "B": ["b"] * 3, "answer": ["A"] * 3} if base is kit.ImageMCQDataset else {}
    captions = {"answer": ["['red', 'blue']"] * 3} if base is kit.ImageCaptionDataset else {}
    questions(lmudata, "Unheard", **more, **captions)
    inherits = type("Inherits", (base,), {"NAMES": ("Unheard",)})
    done = kit.run(inherits("Unheard"), model="m", backend=says("A", "A", "A"), work_dir=tmp_path)
    assert done.entry.recipe == recipe
    result = inherits("Unheard").evaluate(str(done.eval_file))
    assert rows_of(result) == rows_of(pd.DataFrame(list(done.result)) if isinstance(result, pd.DataFrame) else result)


def test_a_class_without_evaluate_says_so_before_anybody_is_asked(tmp_path, lmudata):
    questions(lmudata, "mine")
    with pytest.raises(NotImplementedError, match="CustomVQADataset has no evaluate"):
        kit.run("mine", model="m", backend=says("a", "b", "c"), work_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert kit.run("mine", model="m", backend=says("a", "b", "c"), work_dir=tmp_path / "out", mode="infer").eval_file


def test_a_dialog_is_asked_round_by_round(tmp_path, lmudata):
    table(
        lmudata / "MMDU.tsv",
        index=[1],
        image=[f"['{RED_TEXT}', '{BLUE_TEXT}']"],
        question=["['<ImageHere>First?', 'And <ImageHere>?']"],
        answer=["['one', 'two']"],
    )
    rounds = []
    backend = lambda records: [rounds.append(record) or "x" for record in records]  # noqa: E731
    kit.run("MMDU", model="m", backend=backend, work_dir=tmp_path, mode="infer")
    roles = sorted([turn.role for turn in record.messages] for record in rounds)
    assert roles == [["user"], ["user", "assistant", "user"]]
    assert sorted(len(record.images) for record in rounds) == [1, 2]


def test_an_image_that_build_prompt_names_must_be_one(tmp_path, lmudata):
    class Odd(Colours):
        NAMES = ("Odd",)

        def build_prompt(self, line):
            path = "missing.png" if line["index"] == 2 else str(self.dump_image(line)[0])
            return [{"type": "image", "value": path}, {"type": "text", "value": "?"}]

    questions(lmudata, "Odd")
    done = kit.run("Odd", model="m", backend=says("red", "-", "red"), work_dir=tmp_path)
    assert done.summary.rows == 2
    assert "row '2'" in done.refused[0]


def test_a_benchmark_may_say_its_question_in_build_prompt_alone(tmp_path, lmudata):
    class Silent(kit.ImageBaseDataset):
        def load_data(self, dataset):
            return pd.DataFrame({"index": [1], "image": [RED_TEXT], "answer": ["red"]})

        def build_prompt(self, line):
            return [{"type": "text", "value": "Which colour?"}]

        def evaluate(self, eval_file, **judge_kwargs):
            return kit.d2df({"questions": list(kit.load(eval_file)["question"]) == ["Which colour?"]})

    done = kit.run(Silent("Silent"), model="m", backend=says("red"), work_dir=tmp_path)
    assert done.entry.metrics["questions"].value == 1


@pytest.mark.parametrize(
    ("result", "numbers", "rows"),
    [
        ({"acc": 0.5, "note": "fine"}, {"acc": 0.5}, [{"acc": 0.5, "note": "fine"}]),
        (pd.DataFrame({"acc": ["0.5"]}), {"acc": 0.5}, [{"acc": "0.5"}]),
        (pd.DataFrame({"acc": [1.0]}, index=["dev"]), {"acc": 1.0}, [{"index": "dev", "acc": 1.0}]),
        (pd.DataFrame({"acc": [float("nan")]}), {}, [{"acc": None}]),
        ({"a": {"b": {"c": True}}}, {"a.b.c": 1.0}, [{"a": "{'b': {'c': True}}"}]),
        (0.25, {"score": 0.25}, []),
        (None, {}, []),
    ],
)
def test_whatever_evaluate_gives_has_its_numbers_in_the_report(result, numbers, rows):
    assert numbers_of(result) == numbers
    assert rows_of(result) == rows


def test_what_has_no_evaluate_is_no_recipe():
    with pytest.raises(UsageError, match="expected a class with evaluate"):
        as_recipe(object())


def test_imports_of_the_kit_are_answered_by_the_door_and_unknown_names_are_said():
    code = (
        "import mmscore.cli\n"
        "from vlmeval.dataset.image_vqa import CustomVQADataset\n"
        "from vlmeval.smp import *\n"
        "import vlmeval.vlm\n"
        "from mmscore.compat import vlmevalkit as framework\n"
        "assert CustomVQADataset is framework.CustomVQADataset and load is framework.load\n"
        "assert osp.join('a', 'b') and pd.DataFrame and np.mean and get_logger('x')\n"
        "assert not hasattr(framework, 'nothing')\n"
        "assert vlmeval.vlm.BaseModel is framework.BaseModel\n"
        "try:\n"
        "    from vlmeval.smp import lod\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "try:\n"
        "    import vlmeval.nothing\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = ran.stdout.splitlines()
    assert first.startswith("vlmeval.smp: has no 'lod' here. Did you mean load?")
    assert second == "No module named 'vlmeval.nothing'"


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("Which?", ["text"]),
        (["red.png", "Which?"], ["image", "text"]),
        ({"type": "text", "value": "Which?"}, ["text"]),
        ([{"role": "user", "content": ["red.png", "Which?"]}], ["image", "text"]),
    ],
)
def test_build_prompt_may_give_what_models_take(lmudata, tmp_path, monkeypatch, message, kinds):
    (tmp_path / "red.png").write_bytes(RED)
    questions(lmudata, "Colours")
    monkeypatch.setattr(Colours, "build_prompt", lambda self, line: message)
    kit.convert(Colours("Colours"), "asked")
    turn = next(iter(open_dataset("asked").records())).messages[0]
    assert [part.type for part in turn.content] == kinds


@pytest.mark.parametrize("message", [None, 5, [5], [{"type": "text"}]])
def test_what_is_no_message_is_refused_with_the_row(lmudata, monkeypatch, message):
    questions(lmudata, "Colours")
    good = Colours.build_prompt
    monkeypatch.setattr(Colours, "build_prompt", lambda self, line: message if line["index"] == 2 else good(self, line))
    (refusal,) = kit.convert(Colours("Colours"), "asked")
    assert refusal.startswith("row '2' build_prompt: expected a")


def test_a_model_that_answers_no_row_is_said_so(lmudata):
    class Breaks(kit.BaseModel):
        def generate_inner(self, msgs, dataset=None):
            raise RuntimeError("no memory left")

    questions(lmudata, "Colours")
    with pytest.raises(Error, match=r"none of 3 rows has a response\. The first failure: .*no memory left"):
        kit.run(Colours("Colours"), model="m", backend=Breaks())


def test_a_class_stores_images_by_its_own_method_and_words_rows_as_any_class_of_the_kit(lmudata):
    questions(lmudata, "own_names", image=[RED_TEXT, BLUE_TEXT, RED_TEXT])

    class Mine(kit.ImageBaseDataset):
        def dump_image(self, line):
            return ["mine.png"]

        def build_prompt(self, line):
            return self.build_prompt_as(line, "ImageVQADataset")

    image_piece, text_piece = Mine("own_names").build_prompt(0)
    assert image_piece["value"] == "mine.png"
    assert text_piece["value"].endswith("\nAnswer the question using a single word or phrase.")
    assert [piece["type"] for piece in Mine("own_names").build_prompt_as(0, "TextMCQDataset")] == ["text"]


def test_a_row_that_names_no_image_is_refused_when_the_table_is_opened(lmudata):
    for name, second in (("late", "3"), ("none", "nobody")):
        questions(lmudata, name, image=[RED_TEXT, second, "1"])
        with pytest.raises(Error, match="names no row with an image"):
            kit.ImageBaseDataset(name)
