"""Online rounds give the histories of the kit's own walk, with its votes over copies."""

import json
from base64 import b64encode
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import UsageError
from mmconvert.core.record import LETTERS, Record
from mmconvert.kits.reform_eval.conversation_text import Processor
from mmconvert.kits.reform_eval.loader import load
from mmconvert.kits.reform_eval.setup import Setup
from mmconvert.pipeline.convert import read
from mmscore.infer.backend import LIKELIHOOD
from mmscore.infer.protocol import open_protocol
from support.asking import Says, asked, said, written
from support.questions import make_image

COPIES = 5
PREFIX = "The answer is"
SETTING = f"mark=upper,prefix={PREFIX}"


def visdial(rounds: int = 4, dialogs: int = 3) -> dict:
    image = b64encode(make_image("red")).decode()
    questions, answers = [f"is it {n}" for n in range(rounds)], ["yes", "no", "maybe", "dark RED"]
    dialog = [{"question": n, "answer": n % 4, "answer_options": [n % 4, *sorted({0, 1, 2, 3} - {n % 4})]}
              for n in range(rounds)]  # fmt: skip
    listed = [{"image_id": 7 + n, "image_base64": image, "dialog": dialog} for n in range(dialogs)]
    data = {"questions": questions, "answers": answers, "dialogs": listed}
    return {"version": "1.0", "split": "val", "data": data}


def dataset(folder: Path, *transforms: str) -> Path:
    (folder / "data.json").write_text(json.dumps(visdial()))
    records = read(folder / "data.json", transforms=("capitalize", *transforms, f"duplicate:times={COPIES}"))
    return written(folder / "d", list(records))


def drawn(record: Record) -> int:
    """Choose an option for a copy, the same in every test; few options, so that copies agree and tie."""
    return Random(f"{record.sample} {record.variant}").randrange(4)


def kit_histories(method: str, answers: dict[str, list[str]]) -> dict[str, list[str]]:
    """Walk the kit's own dataset with these answers, and give the texts of each round's history."""
    processor = Processor("\n", style="one", mark="upper", method=method, response_prefix=PREFIX)
    never = {"shuffle_options": False, "in_context_sample": False, "option_mark": "upper"}
    setup = Setup("VisDial", "SingleChoice", {"version": "1.0", "split": "val"}, method, processor=processor, **never)
    dialogs = load(visdial(), setup, Random(0))
    seen = {}
    for index in range(0, len(dialogs), COPIES):
        sample = dialogs[index]
        seen[sample["sample_id"]] = [turn["value"] for turn in sample["history"]]
        dialogs.update_history([[(sample["sample_id"], text) for text in answers[sample["sample_id"]]]])
    return seen


def test_generated_answers_are_voted_on_and_shown_with_their_marks(tmp_path):
    wordings = ["({}) or so", "({lower}) it is", "{text}", "I cannot tell", "(Z)"]

    def way(record: Record) -> int:
        return 3 if record.sample == "9_1" else (record.variant + record.round) % 5

    def say(record: Record) -> str:
        letter = LETTERS[drawn(record)]
        text = record.options[drawn(record)]
        return wordings[way(record)].format(letter, lower=letter.lower(), text=text)

    def heard(record: Record) -> str:
        return record.options[drawn(record)] if way(record) < 3 else say(record)

    backend = Says(say)
    folder = dataset(tmp_path, f"options_in_history:{SETTING}")
    summary = asked(folder, tmp_path / "p.parquet", backend, protocol=open_protocol(f"reform_eval:{SETTING}"))
    assert (summary.rows, summary.asked, summary.failed) == (60, 60, 0)
    answers: dict[str, list[str]] = {}
    for record in sorted(backend.asked, key=lambda r: r.variant):
        answers.setdefault(record.sample, []).append(heard(record))
    expected = kit_histories("generation", answers)
    assert {record.sample: said(record)[:-1] for record in backend.asked} == expected
    assert expected["9_2"][3] == f"{PREFIX} I cannot tell"
    assert len({history[1] for history in expected.values() if history}) > 1


def test_answers_by_likelihood_are_bare(tmp_path):
    backend = Says(lambda record: LETTERS[drawn(record)])
    protocol = open_protocol("reform_eval")
    asked(dataset(tmp_path), tmp_path / "p.parquet", backend, protocol=protocol, method=LIKELIHOOD)
    answers: dict[str, list[str]] = {}
    for record in sorted(backend.asked, key=lambda r: r.variant):
        answers.setdefault(record.sample, []).append(record.options[drawn(record)])
    assert {record.sample: said(record)[:-1] for record in backend.asked} == kit_histories("likelihood", answers)


def test_offline_the_right_answers_stand_before_every_question(tmp_path):
    backend = Says(lambda record: "(D)")
    asked(dataset(tmp_path, f"options_in_history:{SETTING}"), tmp_path / "p.parquet", backend)
    right = [f"{PREFIX} ({LETTERS[0]}) {text}" for text in ("Yes", "No", "Maybe")]
    assert {tuple(said(record)[1:-1:2]) for record in backend.asked} == {tuple(right[:count]) for count in range(4)}


def test_a_copy_without_a_reply_ends_its_dialog_alone(tmp_path):
    backend = Says(lambda record: None if (record.sample, record.variant) == ("8_1", 3) else "(A)")
    output = tmp_path / "p.parquet"
    folder, protocol = dataset(tmp_path, f"options_in_history:{SETTING}"), open_protocol(f"reform_eval:{SETTING}")
    assert asked(folder, output, backend, protocol=protocol).failed == 1 + 2 * COPIES
    table = pq.read_table(output)
    errors = dict(zip(table["id"].to_pylist(), table["prediction_error"].to_pylist(), strict=True))
    assert {errors[f"8_{n}#{copy}"] for n in (2, 3) for copy in range(COPIES)} == {
        "round: round 1 of the conversation has no response, so this one waits."
    }
    again = Says(lambda record: "(A)")
    assert asked(folder, output, again, protocol=protocol).failed == 0
    assert {record.id for record in again.asked} == {"8_1#3", *(f"8_{n}#{copy}" for n in (2, 3) for copy in range(5))}


def test_marks_may_be_drawn_and_others_are_unknown(tmp_path):
    backend = Says(lambda record: "(a)")
    asked(dataset(tmp_path), tmp_path / "p.parquet", backend, protocol=open_protocol("reform_eval:mark=random,seed=3"))
    lasts = [record for record in backend.asked if record.round == 3]
    assert len({tuple(said(record)[:-1]) for record in lasts}) == 3
    assert len({text.split()[0] for record in lasts for text in said(record)[1:-1:2]}) > 1
    with pytest.raises(UsageError, match=r"no mark is called 'uper'\. Did you mean upper"):
        open_protocol("reform_eval:mark=uper")
    with pytest.raises(UsageError, match=r"unknown protocol 'reform'\. Did you mean reform_eval"):
        open_protocol("reform")
