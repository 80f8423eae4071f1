"""Interfaces of ReForm-Eval answer as backends: classes, objects, pairs and loaders."""

import ast

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Part, Turn
from mmscore.infer.adapter import adapt
from mmscore.infer.backend import LIKELIHOOD, Batching, Generation, ModelOptions
from support.questions import make_image, record

RED = make_image("red")
OPTIONS = {"question": "Red?", "options": ("yes", "no"), "instruction": "Look."}


def written(sample):
    return repr(sample)


class Batches:
    """Answers whole batches, and keeps what it is asked."""

    def __init__(self, model_config=None, device=None, half=False, inference_method="generation"):
        self.loaded = (model_config, device, half, inference_method)
        self.asked = []

    def raw_batch_generate(self, images, prompts, temperature=1, max_new_tokens=30):
        self.asked.append((images, prompts, temperature, max_new_tokens))
        if any("break" in prompt for prompt in prompts):
            raise ValueError("a row broke\nbadly")
        return [f"said {prompt}" for prompt in prompts]

    def raw_batch_predict(self, images, prompts, candidates):
        return [len(one) - 1 for one in candidates]


class Singles:
    def raw_generate(self, image, prompt, max_new_tokens=30):
        return f"{image.size} {prompt} {max_new_tokens}"

    def raw_predict(self, image, prompt, candidates, likelihood_reduction="sum"):
        return {"sum": 0, "mean": 1}[likelihood_reduction]


def get_batches(model_config=None):
    return Batches(*(model_config[name] for name in ("model_name", "device", "half", "inference_method"))), written


def options(**more):
    return ModelOptions("folder/lynx.yaml", **more)


def said(given, *records, **more):
    return [answer.text for answer in adapt("mine", given, options(**more)).answer(records)]


@pytest.mark.parametrize("given", [Batches, Batches(), (Batches(), None)])
def test_without_a_preprocessor_the_rows_text_is_the_prompt(given):
    assert said(given, record(0, RED, "Red?"), record(1, RED, "Blue?")) == ["said Red?", "said Blue?"]
    several = record(2, RED, "Red?", messages=(Turn("user", (Part("image"),)),) * 3)
    (answer,) = adapt("mine", given, options()).answer([several])
    assert answer.error == "messages: without a preprocessor a row is one text, this one has 3 turns."


def test_the_reasoning_of_a_reply_is_cut_off_and_kept():
    class Thinks:
        def raw_generate(self, image, prompt):
            return f"<think>{prompt}</think>(A)"

    (answer,) = adapt("mine", Thinks(), options()).answer([record(0, RED, "Red?")])
    assert (answer.text, answer.thinking) == ("(A)", "Red?")


def test_a_preprocessor_words_the_sample():
    said_before = (Turn("user", (Part("image"), Part("text", "Ready?"))), Turn("assistant", (Part("text", "Yes"),)))
    row = record(0, RED, "worded", hint="A hint", **OPTIONS)
    row = record(0, RED, messages=(*said_before, *row.messages), hint="A hint", **OPTIONS)
    (text,) = said((Batches(), written), row)
    assert ast.literal_eval(text.removeprefix("said ")) == {
        "question": "A hint\nRed?",
        "answer_options": ["yes", "no"],
        "instruct": "Look.",
        "history": [{"from": "human", "value": "Ready?"}, {"from": "assistant", "value": "Yes"}],
    }


def test_a_loader_gets_the_kits_configuration_and_only_settings_that_were_made():
    backend = adapt("mine", get_batches, options(dtype="float16", batch_size=3))
    assert (backend.batch_size, backend.name) == (3, "folder/lynx.yaml")
    pair = get_batches({"model_name": "m", "device": "cpu", "half": True, "inference_method": "generation"})
    assert pair[0].loaded == ("m", "cpu", True, "generation")
    adapt("mine", pair, options()).answer([record(0, RED, **OPTIONS)])
    drawn = Generation(temperature=0.2, max_new_tokens=5)
    adapt("mine", pair, options(generation=drawn)).answer([record(0, RED, **OPTIONS)])
    assert [call[2:] for call in pair[0].asked] == [(1, 30), (0.2, 5)]
    assert pair[0].asked[0][0][0].size == (24, 16)
    with pytest.raises(Error, match=r"mine: expected a pair \(interface, preprocessor\)"):
        adapt("mine", lambda model_config: "nothing", options())


def test_single_prompts_are_asked_one_by_one():
    rows = [record(n, RED, "Red?", **OPTIONS) for n in range(2)]
    assert said(Singles(), *rows) == ["(24, 16) Red? 30"] * 2
    assert said(Singles(), rows[0], method=LIKELIHOOD) == ["A"]
    assert said(Singles(), rows[0], method=LIKELIHOOD, likelihood_reduction="mean") == ["B"]
    assert said(Batches(), *rows, method=LIKELIHOOD) == ["B", "B"]


def test_a_row_that_breaks_its_batch_fails_alone():
    backend = adapt("mine", Batches, options())
    answers = backend.answer([record(0, RED, "Red?"), record(1, RED, "break"), record(2, "no image")])
    assert [answer.text for answer in answers] == ["said Red?", None, None]
    assert answers[1].error == "ValueError: a row broke"
    assert answers[2].error == "images: an interface takes one image per row, the row has 0."
    (unwritten,) = adapt("mine", (Batches(), lambda sample: sample["no"]), options()).answer(
        [record(0, RED, **OPTIONS)]
    )
    assert unwritten.error == "the preprocessor raises KeyError: 'no'"
    gap = record(0, RED, "Red?", question="Red?", options=("yes", None, "no"))
    (unmarked,) = adapt("mine", (Batches(), written), options()).answer([gap])
    assert unmarked.error == "options: ReForm-Eval marks options without a gap. Leave the row out."
    (unfit,) = adapt("mine", Batches, options(method=LIKELIHOOD)).answer([record(0, RED, "Red?")])
    assert unfit.error == "options: there are none to choose from. Use --method generate."


def test_outputs_of_a_batch_of_one_may_stand_bare_and_others_are_refused():
    class Bare(Batches):
        gives = "(B) orange"

        def raw_batch_generate(self, images, prompts):
            return self.gives

        raw_batch_predict = lambda self, images, prompts, candidates: self.gives  # noqa: E731

    row = record(0, RED, "Red?", **OPTIONS)
    assert said(Bare(), row) == ["(B) orange"]
    Bare.gives = 1
    assert said(Bare(), row, method=LIKELIHOOD) == ["B"]
    with pytest.raises(Error, match="raw_batch_generate must give texts"):
        said(Bare(), row)
    Bare.gives = 7
    (answer,) = adapt("mine", Bare(), options(method=LIKELIHOOD)).answer([row])
    assert answer.error == "options: there are 2, the model chose number 7, counted from 0."
    Bare.gives = [0, 1]
    with pytest.raises(Error, match="gave 2 answers for 1 prompts"):
        said(Bare(), row, method=LIKELIHOOD)


def test_options_that_an_interface_does_not_have_are_refused():
    class Generates:
        def raw_generate(self, image, prompt):
            return "no"

    with pytest.raises(UsageError, match="its raw_generate takes no max_new_tokens"):
        adapt("mine", Generates, options(generation=Generation(max_new_tokens=3)))
    with pytest.raises(UsageError, match="neither raw_batch_predict nor raw_predict"):
        adapt("mine", Generates, options(method=LIKELIHOOD))
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        adapt("mine", Singles, options(method=LIKELIHOOD, likelihood_reduction="token"))
    with pytest.raises(UsageError, match="float32 and float16"):
        adapt("mine", Singles, options(dtype="bfloat16"))
    with pytest.raises(UsageError, match="has no --seed"):
        adapt("mine", Singles, options(generation=Generation(temperature=1, seed=3)))


def test_rows_are_made_ready_while_others_are_answered():
    backend = adapt("mine", (Batches(), written), options(batch_size=3))
    assert isinstance(backend, Batching)
    assert backend.together([record(0, RED)] * 5) == 3


def test_another_mark_shares_no_answers():
    class Marked:
        def __init__(self, mark, query):
            self.mark, self.query = mark, query

        def __call__(self, sample):
            return self.mark

    def identity(mark):
        return adapt("mine", (Singles(), Marked(mark, lambda text: text)), options()).identity

    assert identity("upper") == identity("upper") != identity("lower")


def test_where_an_object_lies_in_memory_is_no_part_of_what_answers_hang_on():
    class Lies:
        def __init__(self, place):
            self.place = place

        def __repr__(self):
            return f"<Words at {self.place}>"

    class Marked:
        def __init__(self, words):
            self.words = words

        def __call__(self, sample):
            return "marked"

    # Python writes addresses in small letters on Linux and in capitals on Windows.
    places = ("0x7f0123456789", "0x7f01abcdef89", "0x00007F01ABCDEF89")
    assert len({adapt("mine", (Singles(), Marked(Lies(place))), options()).identity for place in places}) == 1
