"""VLMEvalKit's own judge prompts out of a copy of it; `support.kit_checkouts` has its form and words of our own."""

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit import kit_prompts as own
from mmscore.kits.vlmevalkit.judge_prompts import build_mmvet_prompt, build_option_prompt
from support.kit_checkouts import VLMEVALKIT, write_checkout


@pytest.fixture
def checkout(tmp_path):
    return write_checkout(tmp_path, VLMEVALKIT)


def test_prompts_have_the_slots_of_the_judges(checkout):
    assert own.read_option_prompts(checkout) == {
        "build_prompt": "Match. Q: {question}?\nO: Choose from: \n{options}\n\nA: {prediction}\nOut: ",
        "build_prompt_cn": "匹配。{question}?Choose from: \n{options}\n{prediction}",
        "build_prompt_blink": "Blink {prediction}: {question} Choose from: \n{options}\n(Z) None",
    }
    assert own.read_yes_no_prompts(checkout) == {"": "Yes or no?\nQ: {question}?\nA: {prediction}\n"}
    assert own.read_mathvista_prompts(checkout) == {
        "": "\nExtract.\n\nQ1\n\n\nQ2 [1, 2]\n{question}\nSaid: {prediction}Answer:"
    }
    asked = "Q: {question}\nA: {prediction}\nOut: "
    assert own.read_logicvista_prompts(checkout) == {"": f"Which letters?\n{asked}"}
    assert own.read_mmlongbench_prompts(checkout) == {
        "": "\nTake out.\n\n---\nQ1\n---\nAsked:{question}\nSaid: {prediction}"
    }
    assert own.read_simplevqa_prompts(checkout) == {
        "": 'Q: {question} T: {reference} P: \n[预测答案0]：{prediction}\n    {"x": 1}'
    }
    assert own.read_dynamath_prompts(checkout) == {
        "multiple choice": "Said: {prediction}\nDo: One letter.",
        "float": "Said: {prediction}\nDo: One number.",
        "system": "You shorten.\n",
    }
    assert own.read_mmvet_prompts(checkout) == {"": "\nGrade with <AND>.\n\n{row}"}
    told = "[C]\n{caption}\n[Q]\n{question}\n[Helper 1]\n{reference}\n[Helper 2]\n{prediction}\nRate "
    assert own.read_llavabench_prompts(checkout) == {
        "conv": f"{told}talk.",
        "detail": f"{told}detail.",
        "complex": f"{told}thought.",
        "system": "You check answers.",
    }


def test_filled_in_they_are_what_the_framework_would_send(checkout):
    option = own.read_option_prompts(checkout)["build_prompt"]
    options = {"A": "pear", "C": "{question}"}
    assert build_option_prompt(option, "Which {}", options, "{options}") == (
        "Match. Q: Which {}?\nO: Choose from: \nA. pear\nC. {question}\n\nA: {options}\nOut: "
    )
    filled = build_mmvet_prompt(own.read_mmvet_prompts(checkout)[""], "What?", "a<OR>b", "a")
    assert filled == "\nGrade with <AND>.\n\nWhat? | a <OR> b | a | "


def test_an_installed_package_and_an_older_release_are_read_alike(checkout):
    expected = own.read_option_prompts(checkout)
    assert own.read_option_prompts(checkout / "vlmeval") == expected
    beside = checkout / "vlmeval/dataset/utils/multiple_choice.py"
    beside.write_text((checkout / "vlmeval/smp/vlm.py").read_text() + beside.read_text())
    (checkout / "vlmeval/smp/vlm.py").unlink()
    assert own.read_option_prompts(checkout) == expected


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (Item(question="Which?", dataset="MMBench_DEV_EN"), "build_prompt"),
        (Item(question="哪个？", dataset="MMBench_DEV_CN"), "build_prompt_cn"),
        (Item(question="哪个？", dataset="BLINK"), "build_prompt_blink"),
        (Item(), "build_prompt"),
    ],
)
def test_a_rows_prompt_is_the_one_that_the_framework_chooses(item, name):
    assert own.OPTION_PROMPTS.choose(item, {}) == name


@pytest.mark.parametrize(("kind", "name"), [("float", "float"), ("text", None)])
def test_dynamath_asks_for_numbers_and_letters_alone(kind, name):
    assert own.DYNAMATH_PROMPTS.choose(Item(extra=f'{{"answer_type": "{kind}"}}'), {}) == name


def test_a_benchmark_whose_prompt_is_not_read_is_refused():
    with pytest.raises(UsageError, match="WeMath: VLMEvalKit's prompt for it is not read"):
        own.OPTION_PROMPTS.choose(Item(dataset="WeMath"), {})


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("dataset/utils/yorn.py", ("YOrN_match_prompt", "other"), "yorn.py YOrN_match_prompt: the prompt cannot be"),
        ("dataset/utils/yorn.py", ("tmpl.format(", "open("), "yorn.py YOrN_match_prompt: the prompt cannot be read"),
        ("dataset/utils/yorn.py", ("Q: {}?", "Q: {0.__class__}?"), "the prompt cannot be read"),
        ("dataset/utils/yorn.py", ("Q: {}?", "Q: {:>999999999}?"), "the prompt cannot be read"),
        ("dataset/utils/yorn.py", ("Yes or", "{{question}}"), "braces around a slot's name"),
        ("dataset/utils/yorn.py", None, "holds no vlmeval/dataset/utils/yorn.py (looked for YOrN_match_prompt)"),
        ("dataset/utils/mmvet.py", ("prediction, '']", "prediction]"), "build_mmvet_gpt4_prompt: expected a last row"),
        ("smp/vlm.py", ("f'{c}. {content}\\n'", "c"), "vlm.py build_option_str: expected lines"),
        ("smp/vlm.py", None, "holds no vlmeval/smp/vlm.py (looked for build_option_str)"),
        ("dataset/image_vqa.py", ("system_prompt", "x"), "assigns no text to LLaVABench.evaluate.system_prompt"),
        ("dataset/simplevqa.py", ("COMPARE_ANSWER", "OTHER"), "COMPARE_ANSWER_PROMPT: the prompt cannot be read"),
        ("dataset/dynamath.py", ("inst = ", "text = "), "assigns no text to DynaMath_auxeval.inst"),
        ("dataset/dynamath.py", ('inst = "One', 'inst = f"One {model}'), "DynaMath_auxeval.inst: the prompt cannot be"),
        ("dataset/utils/llavabench.py", ("bench_complex'", "bench_other'"), "llavabench.py build_prompt: the prompt"),
    ],
)
def test_what_is_not_found_is_named(checkout, name, change, message):
    path = checkout / "vlmeval" / name
    path.unlink() if change is None else path.write_text(path.read_text().replace(*change))
    readers = (own.read_option_prompts, own.read_yes_no_prompts, own.read_mmvet_prompts, own.read_llavabench_prompts)
    readers = (*readers, own.read_simplevqa_prompts, own.read_dynamath_prompts)
    found = []
    for read in readers:
        try:
            read(checkout)
        except Error as error:
            found.append(str(error))
    assert len(found) == 1
    assert message in found[0]
