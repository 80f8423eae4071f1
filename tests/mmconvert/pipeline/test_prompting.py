import json

import pytest
from click.testing import CliRunner

from mmconvert.cli import program
from mmconvert.core.errors import UsageError
from mmconvert.core.record import Part, Record, Source, Turn, join_prompt_text
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline.prompting import build_prompt_step, load_prompt
from mmconvert.plugins.registry import find_plugins

QUESTION = Record(
    "1",
    "1",
    (Turn("system", (Part("text", "Be brief."),)), Turn("user", (Part("text", "Which?"),))),
    "multiple_choice",
    Source("f", "f", 0),
    question="Which?",
    options=("cat", "dog"),
    answer="A",
)


@pytest.mark.parametrize("name", find_plugins("mmconvert.prompts"))
def test_every_prompt_words_a_plain_question(name):
    new = build_prompt_step(name)(QUESTION)
    assert new.messages[0] == QUESTION.messages[0]
    assert "Which?" in join_prompt_text(new)
    assert "dog" in join_prompt_text(new)


def test_parameters_are_typed_by_their_defaults():
    assert load_prompt("evalscope:template={question}, then\n{choices}")(QUESTION).parts[0].text == (
        "Which?, then\nA) cat\nB) dog"
    )
    assert load_prompt("vlmevalkit:dataset-class=ImageVQADataset")(QUESTION).parts[0].text.startswith("Which?\n")
    assert load_prompt("lmms_mmmu:interleaved=yes").keywords == {"interleaved": True}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("evalscpe", "Did you mean evalscope"),
        ("evalscope:templates=x", "Did you mean template"),
        ("mmmu:x=1", "It has none"),
        ("lmms_mmbench:language=de", "Known: en, cn"),
        ("mmmu_pro:mode=coat", "Did you mean cot"),
        ("lmms_mmmu:interleaved=maybe", "true or false"),
        ("evalscope:template", "key=value"),
    ],
)
def test_wrong_names_and_values_are_told(spec, message):
    with pytest.raises(UsageError, match=message):
        load_prompt(spec)


def test_a_prompt_of_the_users_own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from mmconvert.core.text.prompt_parts import put_images_first\n"
        "def loud(record, mark: str = '!'):\n"
        "    return put_images_first(record.question.upper() + mark, ())\n"
        "NUMBER = 5\n"
    )
    assert join_prompt_text(build_prompt_step(f"{file}@loud:mark=?", " Go.")(QUESTION)) == "WHICH??? Go.".replace(
        "???", "??"
    )
    with pytest.raises(UsageError, match="is not a prompt"):
        load_prompt(f"{file}@NUMBER")


def test_without_a_prompt_the_wording_stays():
    assert build_prompt_step(None)(QUESTION) == QUESTION
    assert join_prompt_text(build_prompt_step(None, " Go.")(QUESTION)) == "Which? Go."


def _convert(tmp_path, *arguments):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"question": "Which?", "options": ["cat", "dog"], "answer": "A"}) + "\n")
    out = tmp_path / "out"
    done = CliRunner().invoke(program, ["convert", str(file), "-o", str(out), "--quiet", *arguments])
    return done, out


def test_convert_words_questions_and_tells_it(tmp_path):
    done, out = _convert(tmp_path, "--prompt", "mmbench", "--prompt-suffix", "Answer:")
    assert done.exit_code == 0, done.output
    (record,) = open_dataset(out).records()
    assert join_prompt_text(record) == "Which? There are several options:\nA. cat\nB. dog\nAnswer:"
    assert (record.question, record.options) == ("Which?", ("cat", "dog"))
    options = json.loads((out / ".mmconvert" / "manifest.json").read_text())["options"]
    assert (options["prompt"], options["prompt_suffix"]) == ("mmbench", "Answer:")


def test_a_wrong_prompt_publishes_nothing(tmp_path):
    done, out = _convert(tmp_path, "--prompt", "mmbensch")
    assert isinstance(done.exception, UsageError)
    assert not out.exists()
