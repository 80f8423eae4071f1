"""MMTrustEval's document on its modules, section by section: dataset, method, model, evaluator, metrics.

The classes of users are written against `mmte`, as theirs are; the door stands in for the package.
"""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import yaml
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmconvert.core.errors import UsageError
from mmconvert.dataset.dataset import open_dataset
from mmconvert.testing.demo import tiny_vlm
from mmscore import score
from mmscore.cli import program as mmscore
from mmscore.compat import kit_imports, mmtrusteval
from mmscore.compat.mmtrusteval import SequentialEvaluator, TxtSample, registry, supported_metrics
from mmscore.compat.mmtrusteval.__main__ import program
from mmscore.kits.mmtrusteval.score_services import MODERATED
from support.chat_server import chat_server, said
from support.questions import COLOURS, colour_records, make_image
from support.web_server import reply, web_server

pytestmark = pytest.mark.slow

CLASSES = """
import hashlib
import json
import os
from typing import Optional, Sequence

import yaml

from mmte import ImageTxtSample, TxtSample, _OutputType
from mmte.datasets.base import BaseDataset
from mmte.evaluators.base import BaseEvaluator
from mmte.methods.base import BaseMethod
from mmte.models.base import BaseChat, Response
from mmte.utils.registry import registry


@registry.register_dataset()
class Colours(BaseDataset):
    dataset_ids: Sequence[str] = ["colours-image", "colours-text"]
    dataset_config: Optional[str] = "configs/colours.yaml"

    def __init__(self, dataset_id: str, method_hook: Optional[BaseMethod] = None, **kwargs) -> None:
        super().__init__(dataset_id=dataset_id, method_hook=method_hook)
        with open(self.dataset_config) as f:
            self.config = yaml.safe_load(f)
        with open(self.config["annotation_file"]) as f:
            annotations = json.load(f)
        self.dataset = []
        for anno in annotations:
            fields = {"text": anno["query"], "target": anno["truth"], "extra": {"subset": anno["kind"]}}
            if dataset_id == "colours-image":
                fields["image_path"] = os.path.join(self.config["image_dir"], anno["image"])
                self.dataset.append(ImageTxtSample.from_dict(fields))
            else:
                self.dataset.append(TxtSample.from_dict(fields))

    def __getitem__(self, index: int) -> _OutputType:
        if self.method_hook:
            return self.method_hook.run(self.dataset[index])
        return self.dataset[index]

    def __len__(self) -> int:
        return len(self.dataset)


@registry.register_method()
class Painted(BaseMethod):
    method_ids = ["painted"]

    def run(self, data: _OutputType, **kwargs) -> _OutputType:
        path = os.path.join(self.img_dir, self.hash(data.text) + ".png")
        if not (self.lazy_mode and os.path.exists(path)):
            import PIL.Image
            os.makedirs(self.img_dir, exist_ok=True)
            PIL.Image.new("RGB", (4, 4), "red").save(path)
        return ImageTxtSample(image_path=path, text=data.text, target=data.target, extra=data.extra)

    def hash(self, to_hash_str: str, **kwargs) -> str:
        return hashlib.sha256(to_hash_str.encode()).hexdigest()


@registry.register_chatmodel()
class Scripted(BaseChat):
    model_family = ["scripted-7b", "judge-7b"]
    model_arch = "script"

    def chat(self, messages, **generation_kwargs) -> "Response":
        content = messages[-1]["content"]
        text = content if isinstance(content, str) else content["text"]
        assert generation_kwargs["max_new_tokens"] and "do_sample" in generation_kwargs
        if self.model_id == "judge-7b":
            return Response(self.model_id, "[Yes]" if "red" in text else "[No]", None, None)
        seen = "" if isinstance(content, str) else f" with {os.path.getsize(content['image_path'])} bytes"
        return Response(self.model_id, f"Yes, red{seen}.", None, "stop")


@registry.register_evaluator()
class Shorter(BaseEvaluator):
    evaluator_ids = ["first_word_eval"]

    def process(self, preds, labels=None, extras=None, **kwargs):
        return [pred.split(",")[0] for pred in preds], labels, extras
"""
SCRIPT = """
import json
import sys

from mmte.datasets.base import collate_fn
from mmte.evaluators.base import SequentialEvaluator
from mmte.models import load_chatmodel
from mmte.utils.registry import registry

import colours

dataset_id = sys.argv[1]
dataset = registry.get_dataset_class(dataset_id)(dataset_id)
model = load_chatmodel("scripted-7b", device="cpu")
preds, labels, extras = [], [], []
for data in collate_fn(dataset):
    preds.append(model.chat(messages=data["message"], max_new_tokens=50, do_sample=False).content)
    labels.append(data["target"])
    extras.append(data["extra"])
evaluator = SequentialEvaluator({"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy_score": {}}}})
print(json.dumps(evaluator(preds, labels, extras)))
"""

COMMAND = [sys.executable, "-m", "mmscore.compat.mmtrusteval"]
YES_NO = "rule_yes_or_no_eval"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder: classes, a dataset's configuration with its annotations and images, a task."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    kit_imports.install()
    for folder in ("configs", "data"):
        (tmp_path / folder).mkdir()
    rows = []
    for number, colour in enumerate(COLOURS):
        (tmp_path / f"data/{colour}.png").write_bytes(make_image(colour))
        kind = "warm" if colour in ("red", "yellow") else "cold"
        rows.append({"image": f"{colour}.png", "query": f"Is it {colour}?", "truth": number % 2, "kind": kind})
    (tmp_path / "data/colours.json").write_text(json.dumps(rows))
    config = {"image_dir": "data", "annotation_file": "data/colours.json"}
    (tmp_path / "configs/colours.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "colours.py").write_text(CLASSES)
    write_task(tmp_path)
    with registry.importing(["colours.py"]):
        yield tmp_path


def write_task(folder: Path, **values: Any) -> None:
    task = {
        "dataset_id": "colours-image",
        "model_id": "scripted-7b",
        "log_file": "./logs/privacy/colours.json",
        "generation_kwargs": {"max_new_tokens": 50, "do_sample": False},
        "evaluator_seq_cfgs": [{YES_NO: {"metrics_cfg": {"pred_no_op": {}, "accuracy_score": {}}}}],
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(task | values))


def run(command: Any, *arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(command, [*map(str, arguments)], standalone_mode=False, catch_exceptions=False)
    assert (result.return_value or 0) == code, result.output
    return result.stdout


def logged(folder: Path) -> Any:
    return json.loads((folder / "logs/privacy/colours.json").read_text())


def test_every_class_and_method_of_the_document_is_there_with_its_arguments(shared: Path) -> None:
    """The document's text lost lines on its way here; what is left of its classes has a counterpart each."""
    document = (shared / "seeds/mmtrusteval_modules.md").read_text(encoding="utf-8")
    blocks = re.split(r"^class (\w+)", document, flags=re.MULTILINE)[1:]
    found = 0
    for name, body in zip(blocks[::2], blocks[1::2], strict=True):
        ours = getattr(mmtrusteval, name)
        for method, arguments in re.findall(r"^    def (\w+)\((self.*?)\)\s*->", body, re.DOTALL | re.MULTILINE):
            taken = inspect.signature(getattr(ours, method)).parameters
            asked = re.findall(r"(?:^|,)\s*\*{0,2}(\w+)", re.sub(r"\[[^\]]*\]+", "", arguments))
            open_ended = {kind for kind in taken.values() if kind.kind is kind.VAR_KEYWORD}
            assert all(one in taken or open_ended for one in asked if one != "self"), (name, method, asked)
            found += 1
        for attribute in re.findall(r"^    (\w+): [\w\[\]\", ]+ ?[=#]", body, re.MULTILINE):
            assert hasattr(ours, attribute), (name, attribute)
    assert found == 17


def test_all_elements_are_in_the_registry(place: Path) -> None:
    """Introduction: a unique identifier each, `registry.get_**_class(id)`, and a list of them."""
    assert registry.get_dataset_class("colours-text").__name__ == "Colours"
    assert registry.get_method_class("painted").__name__ == "Painted"
    assert registry.get_chatmodel_class("judge-7b").__name__ == "Scripted"
    assert registry.get_evaluator_class("first_word_eval").__name__ == "Shorter"
    shown = json.loads(run(program, "list", "--json"))
    assert shown["datasets"] == ["colours-image", "colours-text"]
    assert shown["metrics"] == list(supported_metrics)


def test_dataset_1_a_data_loader_takes_it_with_the_default_collate_fn(place: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    dataset = registry.get_dataset_class("colours-image")("colours-image")
    batches = list(data.DataLoader(dataset, batch_size=3, collate_fn=mmtrusteval.collate_fn))
    assert [len(batch) for batch in batches] == [3, 1]
    assert len(data.ConcatDataset([dataset, dataset])) == 8
    assert batches[0][0] == {
        "message": [{"role": "user", "content": {"image_path": "data/red.png", "text": "Is it red?"}}],
        "target": 0,
        "extra": {"subset": "warm"},
    }


def test_dataset_2_a_method_hook_changes_what_is_given_out(place: Path) -> None:
    method = registry.get_method_class("painted")("painted", img_dir="made")
    dataset = registry.get_dataset_class("colours-text")("colours-text", method_hook=method)
    assert dataset.dataset[0] == TxtSample("Is it red?", 0, {"subset": "warm"})
    assert Path(dataset[0].image_path).is_file()
    assert list(dataset)[3].text == "Is it yellow?"


def test_dataset_3_a_yaml_file_says_where_its_data_is(place: Path) -> None:
    assert registry.get_dataset_class("colours-text")("colours-text").config["image_dir"] == "data"


def test_dataset_3_the_yaml_file_is_an_input_of_convert_and_of_a_task(place: Path) -> None:
    run(mmconvert, "convert", "configs/colours.yaml", "-o", "d", "--image-root", ".", "--quiet")
    table = open_dataset("d").batches(["question", "label"])
    assert [row["question"] for batch in table for row in batch.to_pylist()] == [f"Is it {name}?" for name in COLOURS]
    for source in ("configs/colours.yaml", "d"):
        arguments = ("--input", source, "--image-root", ".", "--restart")
        run(program, "run", "task.yaml", "--cfg-options", "dataset_id=any", *arguments)
        assert logged(place)["total_results"] == {f"{YES_NO}:accuracy_score": 0.5}


def test_dataset_4_only_its_ids_are_served(place: Path) -> None:
    with pytest.raises(UsageError, match=r"no dataset 'colours-txt'\. Did you mean colours-text\?"):
        registry.get_dataset_class("colours-text")("colours-txt")


def test_method_lazy_mode_reuses_and_hash_names_the_file(place: Path) -> None:
    sample, made = TxtSample("Draw it."), registry.get_method_class("painted")
    path = Path(made("painted", img_dir="made")(sample).image_path)
    path.write_bytes(make_image("blue"))
    assert made("painted", "made", lazy_mode=True).run(sample).image_path == str(path)
    assert path.read_bytes() == make_image("blue")
    made("painted", "made", lazy_mode=False).run(sample)
    assert path.read_bytes() != make_image("blue")
    assert path.stem == made("painted", "made").hash("Draw it.")


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("related-image-txtembed", {"font_size": 20, "max_width": 200}),
        ("unrelated-image-color", {"img_size": [8, 8]}),
        ("unrelated-image-noise", {"img_size": [8, 8]}),
        ("unrelated-image-nature", {"img_size": [8, 8], "nature_src_dir": "data"}),
    ],
)
def test_the_kits_own_methods_give_texts_images(place: Path, method: str, settings: dict[str, Any]) -> None:
    (place / "data/colours.txt").write_text("no image")
    write_task(place, dataset_id="colours-text", method_cfg={method: {"img_dir": "made", **settings}})
    run(program, "run", "task.yaml")
    paths = [Path(sample["content"]["image_path"]) for sample in logged(place)["per_sample_results"]]
    assert len(set(paths)) == 4
    for path in paths:
        with PIL.Image.open(path) as image:
            image.load()


def test_model_1_chat_takes_messages_and_a_generation(place: Path) -> None:
    model = registry.get_chatmodel_class("scripted-7b")("scripted-7b")
    messages = [{"role": "user", "content": {"text": "Is it?", "image_path": "data/red.png"}}]
    answer = model.chat(messages, max_new_tokens=5, do_sample=False)
    assert (answer.content, answer["finish_reason"]) == (f"Yes, red with {len(make_image('red'))} bytes.", "stop")


def test_model_2_model_family_lists_the_ids(place: Path) -> None:
    from mmte.utils.utils import get_abs_path

    assert get_abs_path("configs/models/x.yaml") == str(place / "mmte/configs/models/x.yaml")
    with pytest.raises(UsageError, match="no chatmodel 'scripted-8b'"):
        registry.get_chatmodel_class("scripted-7b")("scripted-8b")


def test_a_chat_model_is_a_backend_of_predict(place: Path) -> None:
    (place / "data.json").write_text(json.dumps([{"text": "Is it red?", "target": "red"}]))
    run(mmconvert, "convert", "data.json", "-o", "d", "--quiet")
    answered = ("-o", "p.parquet", "--backend", "colours.py@Scripted", "--model", "scripted-7b")
    run(mmscore, "predict", "d", *answered, "--max-new-tokens", 9, "--quiet")
    (entry,) = score("p.parquet", "own_short_answer").entries
    assert (entry.model, entry.counts.scored) == ("scripted-7b", 1)


def test_evaluator_process_then_metrics(place: Path) -> None:
    evaluator = registry.get_evaluator_class(YES_NO)(YES_NO, metrics_cfg={"pred_no_op": {}, "accuracy_score": {}})
    assert evaluator.process(["Yes.", "no"], [1, 1], None) == ([1, 0], [1, 1], None)
    assert evaluator(["Yes.", "no"], [1, 1]) == {"pred_no_op": [1, 0], "accuracy_score": 0.5}
    own = registry.get_evaluator_class("first_word_eval")("first_word_eval", {"pred_no_op": {}})
    assert own.eval(["Yes, red."]) == {"pred_no_op": ["Yes"]}


def test_evaluator_types_1_a_chat_model_reads_the_replies_first(place: Path) -> None:
    """ChatModel evaluator, a sequence with a rule behind it: a registered judge, then one behind a service."""
    judged = {"model_id": "judge-7b", "prompt_template": "{pred} {label}", "metrics_cfg": {}}
    judged["generation_kwargs"] = {"max_new_tokens": 5, "do_sample": False}
    chain = {"chatmodel_eval": judged, YES_NO: {"metrics_cfg": {"pred_mean": {}}}}
    write_task(place, evaluator_seq_cfgs=[chain])
    run(program, "run", "task.yaml")
    assert logged(place)["total_results"][f"chatmodel_eval->{YES_NO}:pred_mean"] == 1.0
    first = (place / "logs/privacy/colours.json").read_text()
    write_task(place, evaluator_seq_cfgs=[{**chain, "chatmodel_eval": {**judged, "model_id": "gpt-4-1106-preview"}}])
    with chat_server(lambda request: said("[Yes]")) as server:
        run(program, "run", "task.yaml", "--restart", "--judge-base-url", server.url)
        assert {request["model"] for request in server.asked} == {"gpt-4-1106-preview"}
    assert (place / "logs/privacy/colours.json").read_text() == first


def test_evaluator_types_2_a_classifier_scores_the_replies(place: Path) -> None:
    scores = {"hate": 0.25, "violence": 0.75}
    config = {"openai_moderation_api_eval": {"metrics_cfg": {"pred_mean": {}}}}
    found = json.dumps({"results": [{"category_scores": dict.fromkeys(MODERATED, 0.0) | scores}]}).encode()
    with web_server({"/m": reply(found)}) as server:
        places = {"openai_moderation_api_eval": {"url": f"http://127.0.0.1:{server.port}/m"}}
        write_task(place, evaluator_seq_cfgs=[config], classifiers=places)
        run(program, "run", "task.yaml")
    assert logged(place)["total_results"]["openai_moderation_api_eval:pred_mean"] == 0.75


def test_evaluator_types_3_rules_match_refusals_and_scores(place: Path) -> None:
    chain = SequentialEvaluator({"rule_reject_template_eval": {"metrics_cfg": {"pred_mean": {}}}})
    assert chain(["I'm sorry, I cannot", "red"]) == {"rule_reject_template_eval:pred_mean": 0.5}
    chain = SequentialEvaluator({"rule_score_eval": {"metrics_cfg": {"pred_sum": {}}}})
    assert chain(["score: 75", "25"], ["", ""]) == {"rule_score_eval:pred_sum": 100.0}


def test_sequential_evaluator_cascades_and_names_its_results(place: Path) -> None:
    chain = SequentialEvaluator({"first_word_eval": {"metrics_cfg": {}}, YES_NO: {"metrics_cfg": {"pred_mean": {}}}})
    assert chain.create_sequence_list(["a", "b", "c"]) == ["a", "a->b", "a->b->c"]
    assert chain(["Yes, red", "no, blue"]) == {
        "first_word_eval:pred_no_op": ["Yes", "no"],
        f"first_word_eval->{YES_NO}:pred_mean": 0.5,
    }


@pytest.mark.parametrize(
    ("metric", "true", "said", "value"),
    [
        ("pred_no_op", [1], [3, 4], [3, 4]),
        ("pred_sum", [1], [3, 4], 7.0),
        ("pred_mean", [1], [3, 4], 3.5),
        ("accuracy_score", [1, 0], [1, 1], 0.5),
        ("precision_score", [1, 0], [1, 1], 0.5),
        ("recall_score", [1, 0], [1, 1], 1.0),
        ("f1_score", [1, 0], [1, 1], pytest.approx(2 / 3)),
        ("pearson_corr", [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], pytest.approx(1.0)),
        ("failure", [0, 0], [float("nan"), 1.0], 0.5),
    ],
)
def test_metrics_take_two_arrays(metric: str, true: Any, said: Any, value: Any) -> None:
    assert supported_metrics[metric](true, said) == value


def test_the_task_flow_from_file_to_log(place: Path) -> None:
    """All of it, by the command of the kit and its overrides, with a dataset's subsets."""
    overrides = ("dataset_id=colours-text", "method_cfg.painted.img_dir=made")
    run(program, "run", "--config", "task.yaml", "--cfg-options", *overrides)
    log = logged(place)
    assert log["total_results"] == {
        f"{YES_NO}:accuracy_score": 0.5,
        f"{YES_NO}:accuracy_score_warm": 0.5,
        f"{YES_NO}:accuracy_score_cold": 0.5,
    }
    (entry,) = score(place / "logs/privacy/colours.json", "mmtrust_yes_no", recipe_options=None).entries
    assert entry.counts.scored == 4


def test_modules_are_used_on_their_own_in_a_script(place: Path) -> None:
    """A script of a user's: a dataset, a model and a sequence of evaluators, without a task."""
    (place / "script.py").write_text(SCRIPT)
    said = subprocess.check_output([*COMMAND, "script", "script.py", "colours-image"], text=True)
    assert json.loads(said) == {f"{YES_NO}:accuracy_score": 0.5}


@pytest.mark.release
def test_the_task_flow_with_a_trained_model(place: Path) -> None:
    """A model of weights in the place of a class: `model_id` is its folder."""
    rows = []
    for row in colour_records():
        path = place / f"data/{row.id}.png"
        path.write_bytes(row.images[0].bytes or b"")
        rows.append({"image_path": str(path), "text": row.messages[0].content[-1].text, "target": row.answer})
    (place / "rows.json").write_text(json.dumps(rows))
    assert tiny_vlm.train(place / "tiny-llava", colour_records()) == 1.0
    chain = {"rule_contain_eval": {"fuzzy_match": True, "metrics_cfg": {"pred_mean": {}}}}
    write_task(place, dataset_id="colours", model_id="tiny-llava", evaluator_seq_cfgs=[chain])
    run(program, "run", "task.yaml", "--input", "rows.json", "--cfg-options", "generation_kwargs.max_new_tokens=12")
    assert logged(place)["total_results"]["rule_contain_eval:pred_mean"] == 1.0
