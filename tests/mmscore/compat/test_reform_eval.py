"""ReForm-Eval's door where its guide is silent: images, prompts, failures, what is refused."""

import inspect
import json
import os
from base64 import b64encode
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image
import pyarrow.parquet as pq
import pytest
import yaml
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.kits.reform_eval.conversation_text import FIRST_QUERIES
from mmscore.compat.reform_eval import (
    Arguments,
    BaseProcessor,
    ConvSingleChoiceProcessor,
    MMGPTSingleChoiceProcessor,
    SingleChoiceProcessor,
    load_reform_dataset,
    run_eval,
)
from mmscore.compat.reform_eval.__main__ import program
from mmscore.compat.reform_eval.run import open_data
from mmscore.kits.reform_eval.benchmarks import BENCHMARKS, find_benchmark
from support.questions import make_image
from support.reform_files import written

CONFIG: dict[str, Any] = {"data_config": {}}
LOCAL = {"load_from_hf": False, "offline_from_hf": True, "data_duplication": 1}
RED, GREEN, BACK = (255, 0, 0), (0, 128, 0), (255, 255, 255)


def loaded(folder: Path, name: str, box: Any = None, **more: Any) -> Any:
    """Load a benchmark whose one image is white and has this box."""
    benchmark = find_benchmark(name)
    config = written(folder, benchmark, count=1)
    if box is not None:
        file = Path(yaml.safe_load(config.read_text())["data_config"]["offline_huggingface_data"])
        data = json.loads(file.read_text())
        field, image = ("region", "img") if "RefCOCO" in name else ("bbox", "image")
        data["data"][0] |= {field: box, image: b64encode(make_image(BACK, (40, 30))).decode()}
        file.write_text(json.dumps(data))
    return load_reform_dataset(benchmark.dataset_name, benchmark.formulation, config, **LOCAL, **more)


@pytest.mark.parametrize(
    ("name", "box", "corner", "opposite", "reach"),
    [
        ("MSCOCO-GOI", [10, 8, 12, 9], (10, 8), (22, 17), 2),
        ("RefCOCO", [[10, 8, 22, 17]], (10, 8), (22, 17), 1),
        ("Grounded COCO-Text", [10, 8, 12, 9], (10, 8), (22, 17), 3),
        ("Grounded IC15", [10, 8, 22, 17], (10, 8), (22, 17), 1),
        ("Grounded TextOCR", [10, 8, 12, 9], (10, 8), (22, 17), 1),
    ],
)
def test_boxes_are_drawn_as_wide_as_the_kit_draws_them(tmp_path, name, box, corner, opposite, reach):
    image = loaded(tmp_path, name, box)[0]["image"]
    middle = (corner[1] + opposite[1]) // 2
    for x in (corner[0], opposite[0]):
        line = [x + step for step in range(-4, 5) if image.getpixel((x + step, middle)) == RED]
        assert line == [*range(x - reach, x + reach + 1)]
    assert image.getpixel((opposite[0] - 4, middle)) == BACK


def test_several_boxes_have_colours_of_their_own_and_text_is_cut_out(tmp_path):
    image = loaded(tmp_path, "MSCOCO-MOS", [[4, 4, 6, 6], [20, 15, 6, 6]])[0]["image"]
    assert (image.getpixel((4, 7)), image.getpixel((20, 18))) == (RED, GREEN)
    with pytest.raises(RowError, match="5 boxes, but 4 colours"):
        loaded(tmp_path, "MSCOCO-MOS", [[4, 4, 6, 6]] * 5)[0]
    assert loaded(tmp_path, "TextOCR", [4, 5, 12, 9])[0]["image"].size == (12, 9)


def test_tdiuc_pairs_its_lists_and_takes_one_type(tmp_path):
    dataset = loaded(tmp_path, "TDIUC-Color", option_mark="upper")
    sample = dataset[0]
    assert sample["answer_options"][sample["answer"]] == "red"
    config = yaml.safe_load((tmp_path / "TDIUC_color.yaml").read_text())
    assert len(load_reform_dataset("TDIUC", "SingleChoice", {**config, "task": "counting"}, **LOCAL)) == 0
    dataset = loaded(tmp_path, "TDIUC-Color")
    (tmp_path / "choice_list/color.json").unlink()
    with pytest.raises(UsageError, match=r"color\.json: no such file"):
        dataset[0]


COMMON = {"sample_id", "image", "question"}
CHOICE = COMMON | {"answer", "answer_options", "instruct", "question_with_option"}
OPEN = COMMON | {"answer", "instruct"}
CAPTION = COMMON | {"references", "text"}
FIELDS = {
    **dict.fromkeys(("MSCOCO-GOI", "MSCOCO-MOS"), CHOICE | {"bbox"}),
    **dict.fromkeys(("Grounded IC15", "Grounded COCO-Text", "Grounded TextOCR", "TextOCR"), OPEN | {"bbox"}),
    **dict.fromkeys(("VizWiz-yesno", "VizWiz-singleChoice"), CHOICE | {"text"}),
    **dict.fromkeys(("MSCOCO-ITS", "MEDIC"), CHOICE - {"instruct"}),
    **dict.fromkeys(("VisDial", "VQA-MT"), CHOICE | {"history", "round_id"}),
    "MSCOCO-OC": CHOICE - {"question_with_option"},
    "RefCOCO": CHOICE - {"instruct"} | {"bbox"},
    "MSCOCO-ITM": CHOICE - {"instruct"} | {"anno"},
    "SNLI-VE": CHOICE - {"instruct"} | {"text"},
    "WikiHow": CHOICE - {"instruct"} | {"task", "title"},
    "K-ViQuAE": CHOICE | {"context"},
    "A-OKVQRA": CHOICE | {"rationale"},
    "A-OKVQAR": CHOICE | {"rationale", "rationale_options"},
}
BY_FORMULATION = {"SingleChoice": CHOICE, "OCROpenEnded": OPEN, "KIEOpenEnded": OPEN, "Generation": CAPTION}


def test_samples_have_the_fields_of_the_frameworks_loader_alone(tmp_path):
    """All 61 benchmarks through the framework's own configurations; every file has boxes."""
    for benchmark in BENCHMARKS:
        proc = Own() if benchmark.formulation == "Generation" else None
        sample = loaded(tmp_path, benchmark.name, in_context_sample=False, preprocessor=proc)[0]
        expected = FIELDS.get(benchmark.name, BY_FORMULATION[benchmark.formulation])
        assert {benchmark.name: sample.keys()} == {benchmark.name: expected}


@pytest.mark.parametrize(("name", "kind"), [("VizWiz-yesno", "yesNo"), ("VizWiz-singleChoice", "singleChoice")])
def test_vizwiz_has_a_file_for_each_kind_of_question(tmp_path, monkeypatch, name, kind):
    places = yaml.safe_load(written(tmp_path, find_benchmark(name)).read_text())["data_config"]
    asked = []

    def download(repo, file, **_):
        asked.append(file)
        return places[f"offline_huggingface_{kind}_anns"]

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    hub = {"load_from_hf": True, "data_duplication": 1, "shuffle_options": False}
    dataset = load_reform_dataset("VizWiz", "SingleChoice", tmp_path / f"ImageQuality_vizwiz_{kind}_val.yaml", **hub)
    assert (dataset[0]["answer"], dataset[0]["answer_options"]) == (1, ["cat", "dog", "cow"])
    assert asked == [places[f"hf_{kind}_anns_path"]]
    with pytest.raises(UsageError, match="has no offline_huggingface_data for task_kind Both"):
        load_reform_dataset("VizWiz", "SingleChoice", {"task_kind": "Both", "data_config": places}, **LOCAL)


def test_counted_objects_are_asked_with_their_options(tmp_path):
    result = run_eval(flags(tmp_path, "MSCOCO-OC", model="echo", model_name="prompt", option_mark="lower"))
    row = json.loads(result.list_file.read_text())[0]
    options = "; ".join(f"({mark}) {text}" for mark, text in zip("abcd", row["answer_options"], strict=True))
    assert row["prediction"].endswith(f"How many? Options: {options}.")


def test_samples_are_counted_from_the_end_too_and_cut_to_lists(tmp_path):
    config = written(tmp_path, find_benchmark("VQA v2"))
    dataset = load_reform_dataset("VQA", "SingleChoice", config, **LOCAL)
    named = [sample["sample_id"] for sample in dataset]
    assert [dataset[-1]["sample_id"], dataset[-2]["sample_id"]] == [named[1], named[0]]
    assert [sample["sample_id"] for sample in dataset[1:]] == named[1:]
    for place in (2, -3):
        with pytest.raises(IndexError):
            dataset[place]


def test_pools_of_the_users_take_the_place_of_ours(tmp_path):
    pools = [{"classes": ["build/VQA/vqa_dataset.py:VQA_SingleChoice"], "pools": [["instruction_list", "", ["Say."]]]}]
    (tmp_path / "pools.json").write_text(json.dumps(pools))
    assert loaded(tmp_path, "VQA v2", pools=tmp_path / "pools.json")[0]["instruct"] == "Say."
    with pytest.raises(UsageError, match=r"missing\.json: no such file"):
        loaded(tmp_path, "VQA v2", pools="missing.json")


def test_a_checkouts_own_instructions_are_asked_with_and_ours_are_named_in_the_log(tmp_path):
    module = tmp_path / "kit/build/VQA/vqa_dataset.py"
    module.parent.mkdir(parents=True)
    module.write_text("class VQA_SingleChoice:\n  def __init__(self):\n    self.instruction_list = ['Say.']\n")
    assert loaded(tmp_path, "VQA v2", pools=tmp_path / "kit")[0]["instruct"] == "Say."
    named = "instructions: built in, not ReForm-Eval's"
    log = tmp_path / "out/log.txt"
    run_eval(flags(tmp_path, model="echo", model_name="answer"))
    assert named in log.read_text()
    log.unlink()
    run_eval(flags(tmp_path, model="echo", model_name="answer", pools=str(tmp_path / "kit")))
    assert named not in log.read_text()


class Own:
    """A preprocessor that is none of the kit's classes."""

    response_prefix = "So:"

    def __call__(self, sample):
        return f"{sample['question']}|{len(sample.get('history', ()))}"

    def process_qa(self, question, options, answer):
        return f"<{question}>", f"<{options[answer]}>"


def test_a_preprocessor_of_the_users_writes_texts_and_rounds(tmp_path):
    dataset = loaded(tmp_path, "VisDial", preprocessor=Own(), online_multi_round=False)
    assert [turn["value"] for turn in dataset[1]["history"]][-2:] == ["<Is it 0?>", "<Yes>"]
    assert dataset[1]["text"] == f"Is it 1?|{len(dataset[1]['history'])}"
    proc = Own()
    assert loaded(tmp_path, "NoCaps", preprocessor=proc)[0]["text"]
    assert proc.response_prefix is None


def test_online_a_round_waits_until_it_is_told(tmp_path):
    dataset = loaded(tmp_path, "VisDial", option_mark="upper", in_context_sample=False)
    with pytest.raises(Error, match="no answer yet"):
        dataset[1]
    dataset.update_history([[(dataset[0]["sample_id"], "No")]])
    assert dataset[1]["history"][1]["value"].endswith("No")
    with pytest.raises(UsageError, match="only conversations have a history"):
        loaded(tmp_path, "VQA v2").update_history([])


CLASSES = {
    "ConvSingleChoiceProcessor": ConvSingleChoiceProcessor,
    "MMGPTSingleChoiceProcessor": MMGPTSingleChoiceProcessor,
    "SingleChoiceProcessor": SingleChoiceProcessor,
    "BaseProcessor": BaseProcessor,
}


def worded(case: dict) -> dict:
    """Build a golden case's preprocessor with the kit's own arguments, and run it."""
    given = case["input"]
    settings = dict(given["processor"])
    kind = CLASSES[settings.pop("class")]
    if "first_query_fn" in settings:
        settings["first_query_fn"] = FIRST_QUERIES[settings["first_query_fn"]]
    known = inspect.signature(kind).parameters
    proc = kind(**{name: value for name, value in settings.items() if name in known})
    if given["set_mark"] != "__unset__":
        proc.set_mark(given["set_mark"])
    proc.rng = Random(given["seed"])
    if case["rule"] == "dialogue":
        return {"text": proc(given["sample"])}
    question, answer = proc.process_qa(given["question"], given["options"], given["answer"])
    return {"full_question": question, "full_answer": answer}


def test_preprocessors_give_the_kits_texts(shared):
    """The golden cases of the kit's own classes, built by name with its arguments."""
    cases = map(json.loads, (shared / "golden/reform_prompt.visible.jsonl").read_text().splitlines())
    counts = Counter()
    for case in cases:
        if "error" in case["expected"]:
            with pytest.raises((Error, TypeError)):
                worded(case)
        else:
            assert worded(case) == case["expected"]
        counts[case["rule"], "error" in case["expected"]] += 1
    assert counts.total() == 270
    assert counts["dialogue", False] > 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConvSingleChoiceProcessor("\n", alphabet_choice="uper"), "no option mark is called 'uper'"),
        (lambda: ConvSingleChoiceProcessor("\n", roles=["User"]), "expected two texts"),
        (lambda: ConvSingleChoiceProcessor("\n", system_msg="a", system_message="b"), "Give it once"),
        (lambda: Arguments("m", dataset_name="VQA"), "--formulation: missing"),
        (lambda: load_reform_dataset("VQA", "SingleChoice", CONFIG, option_mark="uper"), "no option mark is called"),
        (lambda: load_reform_dataset("VQA", "SingleChoice", CONFIG, data_duplication=0), "expected a number from 1"),
    ],
)
def test_arguments_that_contradict_are_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def flags(folder: Path, name: str = "VQA v2", **more: Any) -> Arguments:
    benchmark = find_benchmark(name)
    values = {"dataset_name": benchmark.dataset_name, "formulation": benchmark.formulation, "offline_hf": True}
    config = str(written(folder, benchmark))
    return Arguments(**{**values, "dataset_config": config, "output_dir": str(folder / "out"), **more})


INTERFACE = """
class Lynx:
    def __init__(self, model_config):
        self.model_config = model_config

    def raw_generate(self, image, prompt):
        return f"{self.model_config} {prompt[-7:]}"

def get_lynx(model_config):
    return Lynx("loaded"), lambda sample: sample["question"]
"""


def test_a_class_without_a_preprocessor_reads_the_rows_text(tmp_path):
    (tmp_path / "lynx.py").write_text(INTERFACE)
    given = flags(tmp_path, model=f"{tmp_path}/lynx.py@Lynx", model_name="models/LYNX.yaml", option_mark="upper")
    result = run_eval(given)
    assert result.list_file.name == "VQA_SingleChoice_generation_Lynx_LYNX.json"
    (row, _) = json.loads(result.list_file.read_text())
    assert row["prediction"] == f"models/LYNX.yaml {row['question_with_option'][-7:]}"


def test_marks_need_a_preprocessor_that_takes_them(tmp_path):
    (tmp_path / "lynx.py").write_text(INTERFACE)
    model = {"model": f"{tmp_path}/lynx.py@get_lynx"}
    with pytest.raises(UsageError, match="has no set_mark"):
        run_eval(flags(tmp_path, **model, option_mark="upper"))
    result = run_eval(flags(tmp_path, **model))
    assert {row["prediction"] for row in json.loads(result.list_file.read_text())} == {"loaded  image?"}


def test_a_backend_of_ours_is_asked_in_turns(tmp_path):
    given = flags(tmp_path, model="echo", model_name="prompt", option_mark="upper", in_context_sample=True)
    result = run_eval(given)
    (row, _) = json.loads(result.list_file.read_text())
    assert result.list_file.name == "VQA_SingleChoice_generation_echo_prompt.json"
    assert row["prediction"].endswith(f"{row['instruct']} {row['question_with_option']}")
    messages = pq.read_table(result.summary.output)["messages"].to_pylist()[0]
    assert [turn["role"] for turn in messages] == ["user", "assistant", "user"]
    assert [part["type"] for part in messages[0]["content"]] == ["image", "text"]
    assert "text" not in row


def test_a_local_model_chooses_by_likelihood(tmp_path):
    from support.tiny_models import save_llava

    model = save_llava(tmp_path / "tiny")
    given = flags(tmp_path, model="transformers", model_name=str(model), infer_method="likelihood", do_eval=True)
    # The framework's scripts share their flags of generation with likelihood, which passes them over.
    result = run_eval(replace(given, temperature=0.2, max_new_tokens=30))
    assert result.list_file.name == "VQA_SingleChoice_likelihood_transformers_tiny.json"
    rows = json.loads(result.list_file.read_text())
    assert {row["prediction"] for row in rows} <= {0, 1, 2}
    assert result.evaluation.numbers["format_hit_rate"] == 1.0


def test_likelihood_without_options_ends_before_the_first_question(tmp_path):
    given = flags(tmp_path, "TextVQA", model="no_such_file.py@get_lynx", infer_method="likelihood")
    with pytest.raises(UsageError, match=r"OCROpenEnded has none\. Fix: --infer_method generation"):
        run_eval(given)
    assert run_eval(flags(tmp_path, model="echo", model_name="answer", likelihood_reduction="mean")).summary.asked == 2


def test_arguments_take_every_flag_of_the_script():
    flags_of_script = {one.name for one in program.commands["run_eval"].params}
    assert {*Arguments.__struct_fields__} == flags_of_script
    unused = {"yesno_instruct": True, "options_in_history": True, "core_eval": True, "num_workers": 0}
    assert Arguments("echo", dataset_name="VQA", formulation="SingleChoice", **unused).num_workers == 0


def test_rows_without_a_prediction_leave_no_list_and_are_asked_again(tmp_path):
    given = flags(tmp_path, model="echo", model_name="answer:fail=2")
    result = run_eval(given)
    assert (result.list_file, result.summary.failed) == (None, 1)
    assert "1 of 2 rows have no prediction" in (tmp_path / "out/log.txt").read_text()
    again = run_eval(given)
    assert (again.summary.asked, again.summary.reused) == (1, 1)


@pytest.mark.parametrize(("given", "seen"), [("4,6", "6"), (None, "1")])
def test_a_process_of_torchrun_sees_one_device(tmp_path, monkeypatch, given, seen):
    for name, value in (("LOCAL_RANK", "1"), ("WORLD_SIZE", "2"), ("CUDA_VISIBLE_DEVICES", given or "")):
        monkeypatch.setenv(name, value)
    result = run_eval(flags(tmp_path, model="echo", model_name="answer"))
    assert (os.environ["CUDA_VISIBLE_DEVICES"], result.summary.failed) == (seen, 0)
    assert not result.list_file.exists()  # the first process writes it


def test_a_list_of_another_dataset_is_not_evaluated(tmp_path):
    run_eval(flags(tmp_path, "MSCOCO-MCI", model="echo", model_name="answer"))
    with pytest.raises(UsageError, match=r"was made with --dataset_config .*Multiclass.*own --output_dir"):
        run_eval(flags(tmp_path, "MSCOCO-GOI", model="echo", model_name="answer", do_eval=True))


def test_a_list_that_stands_says_with_which_other_flags_it_was_made(tmp_path):
    run_eval(flags(tmp_path, model="echo", model_name="answer", do_eval=True))
    log = tmp_path / "out/log.txt"
    log.unlink()
    again = run_eval(flags(tmp_path, model="echo", model_name="answer", do_eval=True))
    assert again.summary is None
    assert "was made with" not in log.read_text()
    run_eval(flags(tmp_path, model="echo", model_name="answer", do_eval=True, dataset_duplication=5, seed=3))
    assert ".json was made with --dataset_duplication 1, --seed 0; remove it to run again" in log.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": "echoo"}, "Did you mean echo"),
        ({"online_multi_round": True}, "is for conversations"),
        ({"offline_hf": False}, "Give --hf"),
        ({"dataset_config": None}, "dataset_config is missing"),
        ({"formulation": "OCROpenEnded"}, "no formulation"),
        ({"temperature": 0.5}, "has no --temperature"),
        ({"dataset_duplication": 3}, "must be a multiple"),
        ({"infer_method": "likelihood", "likelihood_reduction": "none"}, "none"),
        ({"infer_method": "guess"}, "inference_method is one of"),
    ],
)
def test_flags_without_a_meaning_are_refused(tmp_path, more, message):
    with pytest.raises(UsageError, match=message):
        run_eval(flags(tmp_path, **{"model": "echo", "model_name": "answer", **more}))


def test_a_wrong_sample_is_named(tmp_path):
    given = flags(tmp_path, model="echo", model_name="answer")
    file = tmp_path / "VQA_vqa_v2_val.json"
    data = json.loads(file.read_text())
    data["data"][1]["image_id"] = "not base64!"
    file.write_text(json.dumps(data))
    with pytest.raises(RowError, match=r"sample 1 .*this is not base64"):
        run_eval(given)
    assert not list((tmp_path / "out").glob(".*"))


def test_open_answers_have_a_stability_when_they_are_copied(tmp_path):
    result = run_eval(
        flags(tmp_path, "TextVQA", model="echo", model_name="answer", dataset_duplication=5, do_eval=True)
    )
    assert result.evaluation.numbers == {"accuracy": 0.0, "format_hit_rate": 1.0, "instability": 0.0}


def test_images_keep_their_bytes(tmp_path):
    image = loaded(tmp_path, "VQA v2").visit(0)[1]
    assert image.bytes == make_image("red")
    assert isinstance(loaded(tmp_path, "VQA v2")[0]["image"], PIL.Image.Image)


def test_samples_are_the_kits(shared, tmp_path):
    """The golden cases of the kit's own loader, through the call and the files that its users have."""
    image = b64encode(make_image("red", (4, 3))).decode()
    seen = Counter()
    for line in (shared / "golden/reform_loader.visible.jsonl").read_text().splitlines():
        case = json.loads(line)
        given, expected = case["input"], case["expected"]
        if case["rule"] != "load_reform_dataset":
            continue
        file = tmp_path / "data.json"
        file.write_text(json.dumps(given["data"]).replace("<IMG>", image))
        places = dict.fromkeys(("offline_huggingface_data", "offline_huggingface_anns"), str(file))
        (tmp_path / "config.yaml").write_text(yaml.safe_dump({**given["config"], "data_config": places}))
        settings, proc = given["processor"], None
        if settings is not None:
            method = given["args"].get("inference_method", "generation")
            names = ("sep", "sep2", "roles", "sep_style", "response_prefix")
            proc = ConvSingleChoiceProcessor(**{name: settings.get(name) for name in names}, infer_method=method)
            proc.set_mark(settings["set_mark"])
        call = (given["dataset_name"], given["formulation"], tmp_path / "config.yaml")
        options = {**given["args"], "load_from_hf": False, "offline_from_hf": True, "seed": given["seed"]}
        options["pools"] = shared / "data/reform_eval_pools.json"
        if "error" in expected:
            with pytest.raises(Error):
                [load_reform_dataset(*call, **options, preprocessor=proc)[index] for index in given["indices"]]
        else:
            dataset = load_reform_dataset(*call, **options, preprocessor=proc)
            samples = [dataset[index] for index in given["indices"]]
            assert {sample.pop("image").size for sample in samples} <= {(4, 3)}
            assert {"len": len(dataset), "samples": samples} == expected
        seen["error" in expected] += 1
    assert seen[False] > 80


def test_clevr_by_likelihood_loads_as_run_eval_loads_it(tmp_path):
    benchmark = find_benchmark("CLEVR")
    config = str(written(tmp_path, benchmark))
    plain = dict.fromkeys(("in_context_sample", "random_instruct", "shuffle_options"), False)
    for said in (False, True):
        loaded = load_reform_dataset(
            "CLEVR", benchmark.formulation, config, "likelihood", answer_space_instruct=said, **plain, **LOCAL
        )
        arguments = Arguments(
            model="echo", dataset_name="CLEVR", formulation=benchmark.formulation, dataset_config=config,
            infer_method="likelihood", offline_hf=True, answer_space_instruct=said,
        )  # fmt: skip
        fields = ("sample_id", "instruct", "question", "answer", "answer_options")
        found, expected = ([[row[name] for name in fields] for row in data] for data in (loaded, open_data(arguments)))
        assert found == expected
        assert found[0][1].endswith("not enough information.") == said
