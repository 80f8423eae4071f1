"""The transformers backend on tiny models: batches, images, literal placeholders, bad rows, sampling."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace
from transformers import LlavaForConditionalGeneration

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Image, Part, Turn
from mmscore.infer.backend import Generation, ModelOptions, _list_flags
from mmscore.infer.backends import transformers as transformers_backend
from mmscore.infer.backends.transformers import _OPTIONS, BACKEND
from mmscore.infer.sampling import RowDraws
from support.questions import COLOURS, LETTER_PROMPT, colour_records, make_image, record

pytestmark = pytest.mark.slow

SHORT = Generation(max_new_tokens=12)


def opened(folder: Path, generation: Generation = SHORT, **options: object):
    return BACKEND(ModelOptions(str(folder), generation, quiet=True, **options))


def texts(answers):
    return [answer.text for answer in answers]


@pytest.fixture(params=["random_llava", "idefics3"])
def random_model(request):
    return request.getfixturevalue(request.param)


MIXED = [
    record(0, make_image("red"), "What?"),
    record(1, "Text alone, and longer than the others are."),
    record(2, make_image("blue"), "and", make_image("green", (50, 90)), "differ?"),
    record(3, make_image("red", mode="L"), "grey"),
    record(4, make_image("red", (1, 1)), "one pixel"),
    record(5, make_image("red", mode="RGBA"), "see-through, 你好 😀"),
    record(6, make_image("red", mode="P"), "palette"),
]


def test_the_trained_model_answers_all_it_was_taught(trained_llava):
    answers = opened(trained_llava).answer(colour_records())
    assert texts(answers) == [r.answer for r in colour_records()]
    assert {answer.finish_reason for answer in answers} == {"stop"}
    assert [answer.completion_tokens for answer in answers] == [len(r.answer) + 1 for r in colour_records()]


def test_the_trained_model_looks_at_the_image(trained_llava):
    shades = {"red": (235, 20, 10), "green": (10, 115, 15), "blue": (15, 10, 240), "yellow": (240, 245, 10)}
    records = [record(i, make_image(shades[colour], (31, 40)), LETTER_PROMPT) for i, colour in enumerate(COLOURS)]
    assert texts(opened(trained_llava).answer(records)) == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    "generation",
    [SHORT, Generation(max_new_tokens=12, temperature=1.0, seed=3), Generation(max_new_tokens=6, num_beams=3)],
    ids=["greedy", "sampled", "beams"],
)
def test_a_batch_answers_as_its_rows_alone(random_model, generation):
    backend = opened(random_model, generation)
    together = backend.answer(MIXED)
    assert together == [backend.answer([r])[0] for r in MIXED]
    assert all(answer.status == "ok" for answer in together)
    assert len(set(texts(together))) > 2


def test_prompt_tokens_count_images_and_no_padding(random_llava):
    answers = opened(random_llava).answer([record(0, make_image("red"), "ab"), record(1, "ab"), record(2, "x" * 300)])
    assert answers[0].prompt_tokens - answers[1].prompt_tokens == 16
    assert answers[2].prompt_tokens == answers[1].prompt_tokens + 298


# Texts that look like an image


def test_a_literal_placeholder_is_read_as_text_where_the_processor_can(random_llava):
    backend = opened(random_llava)
    rows = [*MIXED, record(7, make_image("blue"), "What does <image> mean, and </s>?")]
    together = backend.answer(rows)
    assert together[7].status == "ok"
    assert together == [backend.answer([r])[0] for r in rows]
    assert together[7].prompt_tokens == len("user: " + "What does <image> mean, and </s>?" + "\nassistant: ") + 16


def test_a_literal_placeholder_fails_its_row_alone_where_it_cannot(idefics3):
    backend = opened(idefics3)
    answers = backend.answer([MIXED[0], record(7, make_image("blue"), "What does <image> mean?"), MIXED[1]])
    assert [answer.status for answer in answers] == ["ok", "failed", "ok"]
    assert "the text holds '<image>'" in answers[1].error
    assert backend.answer([record(8, make_image("blue"), "strike <s>this</s>")])[0].status == "ok"


# Rows that cannot be answered


def test_a_bad_row_fails_by_name_and_alone(random_llava):
    cut = make_image("red", (200, 200))[:100]
    bad = {
        2: (record(2, b"no picture at all", "x"), "image 1 has no known format"),
        4: (record(4, make_image("red"), cut, "x"), "image 2 cannot be decoded"),
        5: (replace(record(5, make_image("red"), "x"), images=(Image(None, 1, url="http://x/"),)), "only a URL"),
        6: (record(6, make_image("red"), "long " * 900), "the prompt has 4534 tokens, the model takes 4096"),
    }
    rows = [bad[i][0] if i in bad else record(i, make_image("green"), f"good {i}") for i in range(9)]
    backend = opened(random_llava)
    answers = backend.answer(rows)
    assert [i for i, answer in enumerate(answers) if answer.status != "ok"] == list(bad)
    for i, (_, message) in bad.items():
        assert message in answers[i].error
        assert answers[i].text is None
    good = [i for i in range(9) if i not in bad]
    assert [answers[i] for i in good] == [backend.answer([rows[i]])[0] for i in good]


def test_memory_that_runs_out_halves_the_batch_and_loses_nothing(random_llava, monkeypatch):
    backend = opened(random_llava, batch_size=8)
    expected = backend.answer(MIXED)
    generate, sizes = backend._model.generate, []

    def small_memory(**inputs):
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return generate(**inputs)

    monkeypatch.setattr(backend._model, "generate", small_memory)
    assert backend.answer(MIXED) == expected
    assert backend.batch_size <= 2
    assert sizes == [7, 3, 1, 2, 4, 2, 2]


def test_a_row_too_large_for_the_memory_fails(random_llava, monkeypatch):
    backend = opened(random_llava)

    def no_memory(**_inputs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB\nsecond line")

    monkeypatch.setattr(backend._model, "generate", no_memory)
    answers = backend.answer(MIXED[:3])
    assert {answer.error for answer in answers} == {"OutOfMemoryError: CUDA out of memory. Tried to allocate 3 GiB"}
    assert backend.batch_size == 1


def test_a_broken_gpu_ends_the_run(random_llava, monkeypatch):
    backend = opened(random_llava)

    def broken(**_inputs):
        raise torch.AcceleratorError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(backend._model, "generate", broken)
    with pytest.raises(Error, match="the GPU failed"):
        backend.answer(MIXED)


# How replies end


def test_a_reply_that_is_cut_says_so(trained_llava):
    (answer,) = opened(trained_llava, Generation(max_new_tokens=3)).answer([colour_records()[10]])
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == ("yel", "length", 3)


def test_stop_texts_end_a_reply_and_are_cut_from_it(trained_llava):
    records = [colour_records()[i] for i in (1, 4, 7, 10)]
    answers = opened(trained_llava, Generation(max_new_tokens=12, stop=("ee", "lo"))).answer(records)
    assert texts(answers) == ["red", "gr", "blue", "yel"]
    assert {answer.finish_reason for answer in answers} == {"stop"}


def test_a_reasoning_block_is_cut_from_the_reply(trained_llava, monkeypatch):
    backend = opened(trained_llava)
    said = {"red": "<think>warm?</think>\n\nred", "blue": "cold</think> blue", "green": "<think>gree"}
    decode = backend._tokenizer.decode

    def thinking(ids, **options):
        text = decode(ids, **options)
        return said.get(text, text)

    monkeypatch.setattr(backend._tokenizer, "decode", thinking)
    answers = backend.answer([colour_records()[i] for i in (1, 7, 4)])
    assert [(a.thinking, a.text) for a in answers] == [("warm?", "red"), (None, "cold</think> blue"), ("gree", "")]


def test_a_reasoning_block_that_the_prompt_opens_is_cut_too(trained_llava, monkeypatch):
    backend = opened(trained_llava)
    template = backend._processor.chat_template.replace("assistant: ", "assistant: <think>\n")
    monkeypatch.setattr(backend._processor, "chat_template", template)
    (answer,) = backend.answer([colour_records()[0]])
    assert answer.text == ""
    assert answer.thinking is not None


# Drawing


@pytest.mark.release
def test_draws_follow_the_seed(random_llava):
    def drawn(seed):
        return texts(opened(random_llava, Generation(max_new_tokens=12, do_sample=True, seed=seed)).answer(MIXED))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(None) == drawn(0)


def test_copies_of_a_row_draw_on_their_own(random_llava):
    copies = [replace(MIXED[0], id=f"0#{i}", variant=i) for i in range(5)]
    backend = opened(random_llava, Generation(max_new_tokens=12, temperature=1.0))
    assert len(set(texts(backend.answer(copies)))) == 5


def test_draws_have_the_model_s_probabilities():
    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    generators = [torch.Generator().manual_seed(i) for i in range(len(scores))]
    drawn = RowDraws(generators)(None, scores).argmax(dim=1)
    shares = torch.bincount(drawn, minlength=4) / len(scores)
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.03)


def test_top_k_of_one_draws_the_likeliest(random_llava):
    greedy = opened(random_llava).answer(MIXED)
    drawn = opened(random_llava, Generation(max_new_tokens=12, temperature=2.0, top_k=1)).answer(MIXED)
    assert texts(drawn) == texts(greedy)


def test_the_caller_s_random_state_is_left_alone(random_llava):
    before = torch.get_rng_state()
    opened(random_llava, Generation(max_new_tokens=3, temperature=1.0)).answer(MIXED)
    assert torch.equal(torch.get_rng_state(), before)


# Conversations


def test_every_turn_reaches_the_model(trained_llava):
    row = colour_records()[0]
    system = Turn("system", (Part("text", "Be brief."),))
    backend = opened(trained_llava)
    plain, longer = backend.answer([row, replace(row, messages=(system, *row.messages))])
    assert longer.prompt_tokens == plain.prompt_tokens + len("system: Be brief.\n")


def test_a_turn_of_the_model_is_gone_on_with(trained_llava):
    rows = [colour_records()[i] for i in (1, 4, 7, 10)]
    begun = [replace(row, messages=(*row.messages, Turn("assistant", (Part("text", row.answer[:2]),)))) for row in rows]
    backend = opened(trained_llava, continue_final_message=True)
    assert texts(backend.answer([*begun, rows[0]])) == ["d", "een", "ue", "llow", "red"]


# Loading


def test_identity_changes_with_weights_and_settings_and_not_with_the_place(random_llava, trained_llava, tmp_path):
    copied = shutil.copytree(random_llava, tmp_path / "elsewhere")
    first = opened(random_llava).identity
    assert opened(copied).identity == first
    assert opened(copied).name == "elsewhere"
    assert opened(trained_llava).identity != first
    assert opened(random_llava, dtype="bfloat16").identity != first
    assert opened(random_llava, Generation(max_new_tokens=13)).identity != first
    (copied / "chat_template.jinja").write_text("{{ messages }}")
    assert opened(copied).identity != first


def test_weights_count_by_their_bytes_up_to_a_size_and_by_their_time_beyond(tmp_path, monkeypatch):
    monkeypatch.setattr(transformers_backend, "_HASHED_BYTES", 4)
    weights = tmp_path / "model.safetensors"

    def digest(data: bytes, time: int) -> str:
        weights.write_bytes(data)
        os.utime(weights, (time, time))
        return transformers_backend._digest(tmp_path)

    assert digest(b"abcd", 1) == digest(b"abcd", 2) != digest(b"dcba", 1)
    assert digest(b"abcde", 1) == digest(b"edcba", 1) != digest(b"abcde", 2)


def test_half_precision_answers(trained_llava):
    backend = opened(trained_llava, dtype="bfloat16")
    assert backend._model.dtype == torch.bfloat16
    assert texts(backend.answer(colour_records()[:2])) == ["A", "red"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("./nowhere", "no such folder. Give a folder, or a Hub id"),
        ("/no/such/folder", "no such folder"),
        ("nowhere", "no such folder"),
        (__file__, "is a file. Give the folder"),
    ],
)
def test_a_model_that_is_not_there_is_wrong_usage(model, message):
    with pytest.raises(UsageError, match=message):
        opened(Path(model) if model.startswith("/") else model)


def test_an_unknown_dtype_suggests_the_nearest(random_llava):
    with pytest.raises(UsageError, match=r"--dtype: expected one of .* Did you mean bfloat16"):
        opened(random_llava, dtype="bfloat")


def test_a_broken_folder_is_one_message(random_llava, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match=r"empty: cannot be loaded"):
        opened(tmp_path / "empty")
    broken = shutil.copytree(random_llava, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(Error, match=r"broken: cannot be loaded \(\w+: "):
        opened(broken)


def test_a_model_without_chat_template_is_refused(random_llava, tmp_path):
    bare = shutil.copytree(random_llava, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(Error, match="has no chat template"):
        opened(bare)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_the_model_runs_there_in_bfloat16(trained_llava):
    backend = opened(trained_llava)
    assert (backend._model.device.type, backend._model.dtype) == ("cuda", torch.bfloat16)
    assert texts(backend.answer(colour_records())) == [r.answer for r in colour_records()]


# Several replies, smaller images, finished texts


def test_a_reply_does_not_hang_on_how_many_there_are(random_llava):
    drawn = Generation(max_new_tokens=8, temperature=1.0, seed=4)
    replies = [MIXED[0], *(replace(MIXED[0], variant=number) for number in (1, 2))]
    one, three = opened(random_llava, drawn), opened(random_llava, drawn, n=3)
    assert three.identity == one.identity
    assert texts(three.answer(replies)) == [one.answer([reply])[0].text for reply in replies]
    assert len(set(texts(three.answer(replies)))) == 3


def test_greedy_replies_are_not_asked_for_several_times(random_llava):
    with pytest.raises(UsageError, match="--n: greedy responses are all the same"):
        opened(random_llava, n=2)


def test_a_large_image_is_shrunk_for_the_model_and_its_answer(idefics3):
    large, small = record(0, make_image("red", (64, 64)), "?"), record(1, make_image("red", (16, 16)), "?")
    plain, shrinking = opened(idefics3), opened(idefics3, max_image_side=16)
    row = shrinking._prompts.asked(large)
    assert row.conversation[0]["content"][0]["image"].size == (16, 16)
    assert shrinking.answer([large])[0].text == plain.answer([small])[0].text
    assert shrinking.identity != plain.identity


def test_a_finished_text_is_sent_as_it_is(trained_llava):
    row = colour_records()[1]
    (asked,) = (part.text for part in row.messages[0].content if part.type == "text")
    finished = record(0, "user: ", make_image("red"), f"{asked}\nassistant: ")
    chat, raw = opened(trained_llava), opened(trained_llava, template="raw")
    assert raw.answer([finished]) == chat.answer([row])
    assert chat.identity != raw.identity


def test_a_finished_text_is_one_turn_and_shows_images_as_parts_only(trained_llava):
    row = record(0, make_image("red"), "hello")
    two = replace(row, messages=(Turn("system", (Part("text", "x"),)), *row.messages))
    answers = opened(trained_llava, template="raw").answer([two, record(1, "a <image> b"), record(2, "</s> stays one")])
    assert [answer.status for answer in answers] == ["failed", "failed", "ok"]
    assert "--template raw sends one finished text, the row has 2 turns" in answers[0].error
    assert "the text holds '<image>'" in answers[1].error
    assert answers[2].prompt_tokens == 1 + len(" stays one")


@pytest.mark.parametrize("model", ["blip2_opt", "blip2_t5"])
def test_a_model_without_turns_answers_finished_texts(request, model):
    backend = opened(request.getfixturevalue(model), template="raw")
    rows = [record(i, make_image(colour), "Question: what? " * (i + 1) + "Answer:") for i, colour in enumerate(COLOURS)]
    together = backend.answer(rows)
    assert together == [backend.answer([row])[0] for row in rows]
    assert {answer.status for answer in together} == {"ok"}
    bad = [
        record(8, "none"),
        record(9, make_image("red"), make_image("blue"), "two"),
        record(10, make_image("red"), "<image>"),
    ]
    answers = backend.answer([*bad, rows[0]])
    assert [answer.status for answer in answers] == ["failed", "failed", "failed", "ok"]
    assert answers[1].error == (
        "images: this model takes one image per row, the row has 2. --no-interleave shows the first."
    )
    assert answers[3] == together[0]
    assert [answer.prompt_tokens for answer in together] == [
        4 + len("Question: what? ") * (i + 1) + 7 for i in range(4)
    ]


@pytest.mark.parametrize("model", ["random_llava", "idefics3", "qwen2_5_vl"])
def test_images_stand_in_a_finished_text_as_the_model_s_template_writes_them(request, model):
    folder = request.getfixturevalue(model)
    finished = record(0, "user: ", make_image("red", (40, 60)), "What?\nassistant: ")
    chat, raw = opened(folder), opened(folder, template="raw")
    assert raw.answer([finished]) == chat.answer([record(0, make_image("red", (40, 60)), "What?")])


def test_scores_are_those_of_the_model_for_each_token_of_the_reply(trained_llava):
    row = colour_records()[10]
    plain, scored = opened(trained_llava), opened(trained_llava, output_scores=True)
    (answer,) = scored.answer([row])
    likelihood = opened(trained_llava, Generation(), method="likelihood", likelihood_reduction="token")
    (again,) = likelihood.answer([replace(row, options=("yellow",))])
    assert len(answer.token_logprobs) == len("yellow") + 1
    assert answer.token_logprobs[:-1] == pytest.approx(again.token_logprobs, abs=1e-5)
    assert replace(answer, token_logprobs=None) == plain.answer([row])[0]
    assert scored.identity != plain.identity


def test_scores_of_a_batch_are_those_of_its_rows_up_to_their_ends(trained_llava):
    drawn = Generation(max_new_tokens=12, temperature=0.9, seed=2)
    backend = opened(trained_llava, drawn, output_scores=True)
    together = backend.answer(colour_records())
    assert [len(answer.token_logprobs) for answer in together] == [answer.completion_tokens for answer in together]
    for row, answer in zip(colour_records(), together, strict=True):
        (alone,) = backend.answer([row])
        assert alone.token_logprobs == pytest.approx(answer.token_logprobs, abs=1e-5)


def test_scores_follow_one_path(random_llava):
    with pytest.raises(UsageError, match="--output-scores follows one path"):
        opened(random_llava, Generation(num_beams=2), output_scores=True)


# How rows are put together


def test_rows_that_were_made_ready_in_a_thread_are_answered_as_alone(random_llava):
    backend = opened(random_llava)
    with ThreadPoolExecutor(max_workers=1) as thread:
        ready = [thread.submit(backend.prepare, MIXED) for _ in range(6)]
        found = [backend.answer_prepared(one.result()) for one in ready]
    assert found == [[backend.answer([row])[0] for row in MIXED]] * 6


def test_long_prompts_go_in_smaller_groups_unless_the_user_says_how_many(random_llava):
    backend = opened(random_llava)
    short, long = (record(0, make_image("red"), "x" * length) for length in (10, 200_000))
    assert backend.together([short] * 99) == backend.batch_size
    assert 1 <= backend.together([long] * 99) < backend.batch_size
    assert opened(random_llava, batch_size=7).together([long] * 99) == 7


def test_the_guess_of_a_prompt_s_tokens_is_put_right_by_what_was_seen(random_llava):
    backend = opened(random_llava)
    rows = [record(i, make_image("red"), "word " * 300) for i in range(2)]
    long = record(0, make_image("red"), "word " * 18_000)
    before = backend.together([long] * 99)
    (answer, _) = backend.answer(rows)
    guessed = backend.size(rows[0]) * backend._tokens_a_size
    assert guessed == pytest.approx(answer.prompt_tokens, rel=0.01)
    assert backend.together([long] * 99) <= before


def test_a_compiled_model_says_the_same(trained_llava):
    assert opened(trained_llava, compile=True).answer(MIXED) == opened(trained_llava).answer(MIXED)
    assert opened(trained_llava, compile=True).identity != opened(trained_llava).identity


def test_what_cannot_be_compiled_says_so(trained_llava, monkeypatch):
    monkeypatch.setattr(LlavaForConditionalGeneration, "_can_compile_fullgraph", False)
    with pytest.raises(UsageError, match="--compile: transformers cannot compile a LlavaForConditionalGeneration"):
        opened(trained_llava, compile=True)
    with pytest.raises(UsageError, match="--compile is for the steps of a response"):
        opened(trained_llava, compile=True, method="likelihood")


def test_the_options_that_it_honours_are_options_that_there_are():
    assert {*_OPTIONS} <= {*_list_flags(ModelOptions("m"))}
