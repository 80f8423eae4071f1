"""What a report shows beside the value: how a response was read, and where in it. Golden cases hold values alone."""

import pytest

from mmconvert.plugins.registry import load

LETTERS = "ABCD"
TEXTS = {"A": "a cat", "B": "a dog", "C": "two mice", "D": "none"}
CHOICE = (LETTERS, TEXTS)

READ = [
    ("evalscope_choice", (4,), "ANSWER: B", "B", "answer marker", "B"),
    ("evalscope_choice", (4,), r"ANSWER: \boxed{\text{C}} A", "C", "answer marker", "C"),
    ("evalscope_choice", (4,), "so B it is", "B", "last capital", "B"),
    ("lmms_choice", (), "  B is right", "B", "letter at the start", "B"),
    ("lmms_choice", (), "it is B  ", "B", "letter at the end", "B"),
    ("lmms_choice", (), "  The answer is B, sure", "B", "answer phrase", "B"),
    ("lmms_choice", (), "the answer is B C (B)?", "C", "answer phrase", "C"),
    ("lmms_choice", (), "so (B), not that", "B", "bracketed letter", "B"),
    ("lmms_choice", (), "pick B. ok", "B", "letter and dot", "B"),
    ("lmms_choice", (), "pick B: ok", "B", "letter and colon", "B"),
    ("lmms_choice", (), "take B) ok", "B", "letter and bracket", "B"),
    ("lmms_choice", (), "I say B or so", "B", "letter and blank", "B"),
    ("lmms_choice", (), "xBy", "B", "any occurrence", "B"),
    ("lmms_mmbench_option", (TEXTS,), "B. a dog", "B", "letter token", "B"),
    ("lmms_mmbench_option", (TEXTS,), "it is a dog", "B", "option text", "a dog"),
    ("lmms_mme_yes_no", (), "Yes.", "yes", "whole response", None),
    ("lmms_mme_yes_no", (), " no way", "no", "first four characters", None),
    ("lmms_mmmu_choice", CHOICE, "so (B) or not", "B", "bracketed letter", "B"),
    ("lmms_mmmu_choice", CHOICE, "I take B now", "B", "letter and blank", "B"),
    ("lmms_mmmu_choice", CHOICE, "B. is", "B", "letter and dot", "B"),
    ("mme_yes_no", (), " Yes, it is", "yes", "first four characters", "Yes"),
    ("mmmu_choice", CHOICE, "so (B) or not", "B", "bracketed letter", "B"),
    ("mmmu_choice", CHOICE, "I take B now", "B", "lone letter", "B"),
    ("mmmu_pro_choice", CHOICE, "x\nAnswer: (C)", "C", "answer line", "C"),
    ("mmmu_pro_choice", CHOICE, "so (B) or not", "B", "bracketed letter", "B"),
    ("mmtrust_agreement", (), "I strongly disagree", "-100", "phrase", "strongly disagree"),
    ("mmtrust_agreement", (), "50", "50", "number", "50"),
    ("mmtrust_points", (), "I give 75", "75", "number", "75"),
    ("mmtrust_refusal", (), "but I am sorry", "refused", "phrase 'I am sorry'", "I am sorry"),
    ("mmtrust_refusal", (), "fine", "answered", "no phrase", None),
    ("mmtrust_yes_no", (), "it is Yes.", "yes", "phrase 'yes'", "Yes"),
    ("mmtrust_yes_no", (), "no", "no", "opening", "no"),
    ("pope_yes_no", (), "No, there is not. Yes", "no", "word of no", "No,"),
    ("pope_yes_no", (), "yes", "yes", "word yes", "yes"),
    ("reform_choice", (), "The answer is (1)", "A", "bracketed mark", "1"),
    ("vlmevalkit_boxed_letter", (), r"so \boxed{B}", "B", "box", None),
    ("vlmevalkit_braces", (), "so {42} and { 43 }", " 43 ", "in braces", " 43 "),
    ("vlmevalkit_count", (), "there are five", "5", "number", "five"),
    ("vlmevalkit_count", (), "I see 12 of 30", "12", "number", "12"),
    ("vlmevalkit_first_capital", (), "it is B", "B", "first capital", None),
    ("vlmevalkit_spatial_choice", (), "<answer>B</answer>", "B", "answer tag", None),
    ("vlmevalkit_spatial_choice", (), "so\nC. mouse", "C", "last lines", None),
    ("vlmevalkit_spatial_number", (), "<answer>2.5 m</answer> not 3", "2.5", "answer tag", None),
    ("vlmevalkit_spatial_number", (), "It is four metres of 7", "7", "last number", None),
    ("vlmevalkit_spatial_number", (), "It is Zero", "0", "last number", None),
    ("vlmevalkit_vmc_choice", CHOICE, "so (B) or not", "B", "bracketed letter", "B"),
    ("vlmevalkit_vmc_choice", CHOICE, "I take B now", "B", "lone letter", "B"),
    ("vlmevalkit_vmc_choice", CHOICE, "B. is", "B", "letter and dot", "B"),
    ("vlmevalkit_yes_no", (), "Well, yes.", "Yes", "yes or no", "yes"),
]


@pytest.mark.parametrize(("name", "arguments", "response", "value", "how", "part"), READ)
def test_a_parser_says_how_and_where_it_read(name, arguments, response, value, how, part):
    parsed = load("mmscore.parsers", name)(response, *arguments)
    assert (parsed.value, parsed.how) == (value, how)
    assert (parsed.span and response[slice(*parsed.span)]) == part


@pytest.mark.parametrize(
    ("name", "arguments", "response"),
    [
        ("evalscope_choice", (4,), "ANSWER: b"),
        ("lmms_choice", (), "nothing"),
        ("lmms_mmbench_option", (TEXTS,), "**B**"),
        ("lmms_mme_yes_no", (), "maybe yes"),
        ("lmms_mmmu_choice", CHOICE, "nothing"),
        ("mme_yes_no", (), "The answer is yes"),
        ("mmmu_choice", CHOICE, "B. is"),
        ("mmmu_pro_choice", CHOICE, "a dog it is"),
        ("pope_yes_no", (), "NO"),
        ("reform_choice", (), "b"),
        ("vlmevalkit_braces", (), "42"),
        ("vlmevalkit_count", (), "none"),
        ("vlmevalkit_first_capital", (), "none"),
        ("vlmevalkit_spatial_number", (), "none"),
        ("vlmevalkit_yes_no", (), "both yes and no"),
    ],
)
def test_what_a_parser_does_not_read_has_no_value_and_no_place(name, arguments, response):
    parsed = load("mmscore.parsers", name)(response, *arguments)
    assert (parsed.value, parsed.how, parsed.span) == (None, "unparsed", None)
