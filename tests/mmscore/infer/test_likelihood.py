"""Options scored over a shared prefix: exact against one full pass an option, for each kind of model."""

import math
from types import SimpleNamespace

import pytest
import torch
from msgspec.structs import replace
from transformers.generation import GenerationConfig

from mmconvert.core.errors import UsageError
from mmscore.infer import likelihood
from mmscore.infer.backend import Generation, ModelOptions
from mmscore.infer.backends.transformers import BACKEND
from support.questions import COLOURS, colour_records, make_image, record
from support.tiny_models import QWEN_TOKENS, build_byte_tokenizer, build_qwen2_5_vl

pytestmark = pytest.mark.slow

EXACT = 4e-6

ROWS = [
    record(0, make_image("red"), "What?", options=("red", "a yellow one", "B", "red ")),
    record(
        1, make_image("blue", (50, 30)), "A longer question than the others are", options=("A", None, "green, 你好 😀")
    ),
    record(2, make_image("red"), "Which?", options=tuple("abcdefghijklmnopqrstuvwxyz")),
]


def opened(folder, reduction=None, **options):
    settings = {"method": "likelihood", "likelihood_reduction": reduction, "quiet": True, **options}
    return BACKEND(ModelOptions(str(folder), **settings))


def separately(backend, row):
    """Score each option with a full pass of its own, nothing padded and nothing kept."""
    model, tokenizer = backend._model, backend._tokenizer
    inputs = backend._prompts.encoded([backend._prompts.asked(row)])
    sums = []
    for text in filter(None, row.options):
        tokens = torch.tensor([tokenizer.encode(text)])
        with torch.inference_mode():
            if model.config.is_encoder_decoder:
                start = torch.tensor([[model.config.text_config.decoder_start_token_id]])
                logits = model(**inputs, decoder_input_ids=torch.cat([start, tokens], 1)).logits[:, :-1]
            else:
                full = dict(inputs)
                for name, more in (
                    ("input_ids", tokens),
                    ("attention_mask", torch.ones_like(tokens)),
                    ("mm_token_type_ids", torch.zeros_like(tokens)),
                ):
                    if name in full:
                        full[name] = torch.cat([full[name], more], 1)
                logits = model(**full).logits[:, -tokens.shape[1] - 1 : -1]
        values = logits.log_softmax(-1).gather(-1, tokens[..., None])
        sums.append(math.fsum(values.flatten().tolist()))
    return sums


@pytest.mark.parametrize(
    ("model", "template"),
    [
        ("random_llava", "chat"),
        ("idefics3", "chat"),
        pytest.param("blip2_opt", "raw", marks=pytest.mark.release),
        ("blip2_t5", "raw"),
        ("qwen2_5_vl", "chat"),
    ],
)
def test_sums_are_those_of_one_full_pass_an_option(request, model, template):
    backend = opened(request.getfixturevalue(model), template=template)
    answers = backend.answer(ROWS)
    for row, answer in zip(ROWS, answers, strict=True):
        expected = separately(backend, row)
        assert answer.option_logprobs == pytest.approx(expected, abs=EXACT)
        assert answer.option_tokens == tuple(len(text.encode()) for text in row.options if text is not None)
        letters = [letter for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", row.options, strict=False) if text]
        assert answer.text == letters[expected.index(max(expected))]


def test_options_of_several_rows_have_positions_that_their_images_shift():
    # Without the processor, which needs torchvision: 16 patches that the model takes for 4 tokens, and 4 for one.
    tokenizer = build_byte_tokenizer(**QWEN_TOKENS)
    model = build_qwen2_5_vl(tokenizer).eval()
    start, image = model.config.vision_start_token_id, model.config.image_token_id
    rows = [[start, *[image] * 4, *tokenizer.encode("What?")], [start, image, *tokenizer.encode("Which one")[:8]]]
    patches = torch.rand(20, 1176, generator=torch.Generator().manual_seed(0))
    grids = torch.tensor([[1, 4, 4], [1, 2, 2]])
    options = [[(40, 50, 60), (70,)], [(80, 90), (100, 110, 120, 130)]]

    def build_inputs(tokens, patches, grids):
        ids = torch.tensor(tokens)
        kinds = (ids == image).int()
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": kinds}
        return {**given, "pixel_values": patches, "image_grid_thw": grids}

    prompts = likelihood.read_prompts(model, model.generation_config, build_inputs(rows, patches, grids))
    for row, own in enumerate(likelihood.score_options(prompts, options)):
        for tokens, values in zip(options[row], own, strict=True):
            whole = build_inputs([rows[row] + [*tokens]], (patches[:16], patches[16:])[row], grids[row : row + 1])
            with torch.inference_mode():
                logits = model(**whole).logits[0, -len(tokens) - 1 : -1].log_softmax(-1)
            expected = [logits[place, token].item() for place, token in enumerate(tokens)]
            assert values == pytest.approx(expected, abs=EXACT)


def test_a_search_that_the_model_asks_for_changes_no_score():
    model = build_qwen2_5_vl(build_byte_tokenizer(**QWEN_TOKENS)).eval()
    ids = torch.tensor([[40, 50, 60], [70, 80, 90]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def score(**own):
        config = GenerationConfig(**model.generation_config.to_dict() | own)
        return likelihood.score_options(likelihood.read_prompts(model, config, inputs), [[(5, 6)], [(7, 8, 9)]])

    assert score(num_beams=3) == score()


def test_a_trained_model_finds_the_right_option_likeliest(trained_llava):
    rows = [
        replace(row, options=COLOURS, answer="ABCD"[COLOURS.index(row.answer)])
        for row in colour_records()
        if row.answer in COLOURS
    ]
    answers = opened(trained_llava).answer(rows)
    assert [answer.text for answer in answers] == [row.answer for row in rows]


def test_mean_divides_by_the_tokens_and_token_keeps_each(random_llava):
    row = record(0, make_image("red"), "What?", options=("a", "a long option"))
    (summed,) = opened(random_llava).answer([row])
    (mean,) = opened(random_llava, "mean").answer([row])
    (token,) = opened(random_llava, "token").answer([row])
    assert (summed.text, summed.option_tokens, summed.token_logprobs) == ("A", (1, 13), None)
    assert mean.option_logprobs == token.option_logprobs == summed.option_logprobs
    means = [total / count for total, count in zip(summed.option_logprobs, (1, 13), strict=True)]
    assert mean.text == "AB"[means.index(max(means))] == "B"
    assert (token.text, len(token.token_logprobs)) == ("A", 14)
    assert math.fsum(token.token_logprobs[1:]) == pytest.approx(token.option_logprobs[1])
    assert token.token_logprobs[0] == token.option_logprobs[0]


def test_equal_options_tie_and_the_first_is_taken(random_llava):
    options = ("long and unlikely", "zz", "zz", "zz")
    rows = [record(i, make_image("red"), "?" * (i + 1), options=options) for i in range(5)]
    for answer in opened(random_llava).answer(rows):
        assert len(set(answer.option_logprobs[1:])) == 1
        assert answer.text == "B"


def test_pieces_for_little_memory_give_the_same(random_llava, monkeypatch):
    backend = opened(random_llava)
    expected, sizes = backend.answer(ROWS), []
    whole = likelihood.ReadPrompts.score_rest
    monkeypatch.setattr(likelihood, "ROOM_ON_CPU", 40_000)
    monkeypatch.setattr(likelihood.ReadPrompts, "score_rest", lambda self, o: sizes.append(len(o)) or whole(self, o))
    for answer, one in zip(backend.answer(ROWS), expected, strict=True):
        assert answer.option_logprobs == pytest.approx(one.option_logprobs, abs=EXACT)
    assert len(sizes) > 1


def test_control_tokens_in_an_option_are_plain_text(random_llava):
    (answer,) = opened(random_llava).answer([record(0, make_image("red"), "?", options=("</s>", "<image>"))])
    assert answer.option_tokens == (4, 7)


def test_rows_that_cannot_be_scored_fail_by_name_and_alone(random_llava):
    rows = [
        record(0, make_image("red"), "no options"),
        record(1, make_image("red"), "?", options=("a", "")),
        record(2, make_image("red"), "long " * 805, options=("a", "b")),
        record(3, make_image("red"), "?", options=("a", "b")),
        record(4, make_image("red"), "long " * 805, options=("a", "b" * 100)),
    ]
    answers = opened(random_llava).answer(rows)
    assert [answer.status for answer in answers] == ["failed", "failed", "ok", "ok", "failed"]
    assert answers[0].error.startswith("options: 0 of them. Likelihood takes the best of 1 to 26.")
    assert answers[1].error.startswith("options: B is empty")
    assert "the model takes 4096" in answers[4].error


def test_a_number_that_is_none_fails_the_row():
    answer = likelihood.choose_option(record(0, "?", options=("a", "b")), [(-1.0,), (math.nan,)], "sum", 3)
    assert (answer.status, answer.text) == ("failed", None)
    assert "no number for B" in answer.error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "likelihood", "generation": Generation(max_new_tokens=5)}, "generates nothing"),
        ({"method": "likelihood", "n": 2}, "generates nothing"),
        ({"likelihood_reduction": "mean"}, "only with --method likelihood"),
    ],
)
def test_options_without_a_meaning_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        ModelOptions("m", **options)


def test_tensors_of_a_cache_are_found_whatever_holds_them():
    first, second, third = (torch.zeros(number) for number in (1, 2, 3))
    held = SimpleNamespace(layers=[SimpleNamespace(keys=first, seen=7)], parts=(second,), by_name={"a": third})
    assert [tensor.numel() for tensor in likelihood._find_tensors(held)] == [1, 2, 3]
