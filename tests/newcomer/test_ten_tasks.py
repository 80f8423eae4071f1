"""Ten tasks of somebody who has never seen the programs: what is typed, what is said on the way, what comes of it.

Nothing but help and messages leads from one line to the next: options that a message names are taken out of it and
typed as they stand.
"""

import json
import re
from pathlib import Path

import av
import datasets
import numpy as np
import pandas as pd
import pytest

import mmconvert as mmconvert_api
from support.records import image_bytes
from support.terminal import Shown, mmconvert, mmscore


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number, name in enumerate(("a", "b")):
        (tmp_path / "pics").mkdir(exist_ok=True)
        (tmp_path / f"pics/{name}.png").write_bytes(image_bytes("PNG", number, (16, 12)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advised(shown: Shown, pattern: str) -> list[str]:
    """Give the option that a message names, as words to type."""
    found = re.search(pattern, shown.out + shown.err)
    assert found is not None, (shown.out, shown.err)
    return found[0].split(" ")


def loaded(folder: str, split: str = "test") -> list[dict]:
    return [*datasets.load_dataset(folder, split=split)]


def test_a_csv_with_a_folder_of_images() -> None:
    Path("q.csv").write_text("file,question,gt\na.png,Which colour?,red\nb.png,Which colour?,green\n")
    first = mmconvert("convert", "q.csv", "-o", "out")
    assert first.code == 0
    assert "columns: read with --map question=question --map answer=gt" in first.out
    option = advised(first, r"--map image=file")
    second = mmconvert("convert", "q.csv", "-o", "out", "--overwrite", *option)
    assert second.code == 1
    third = mmconvert("convert", "q.csv", "-o", "out", "--overwrite", *option, *advised(second, r"--image-root=\S+"))
    assert third.code == 0
    assert [(row["answer"], row["images"][0].size) for row in loaded("out")] == [("red", (16, 12)), ("green", (16, 12))]


def test_openai_messages_with_addresses() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    row = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}], "answer": "red"}
    Path("o.jsonl").write_text(json.dumps(row) + "\n")
    first = mmconvert("convert", "o.jsonl", "-o", "out")
    assert first.code == 1
    assert "--allow-remote" in first.err
    second = mmconvert("convert", "o.jsonl", "-o", "out", *advised(first, r"--keep-urls"))
    assert second.code == 0
    assert loaded("out")[0]["image_info"][0]["url"] == "https://example.org/a.png"


def test_a_llava_file_to_trl() -> None:
    turns = [{"from": "human", "value": "<image>\nWhich?"}, {"from": "gpt", "value": "Red."}]
    Path("l.json").write_text(json.dumps([{"id": "1", "image": "a.png", "conversations": turns}]))
    first = mmconvert("convert", "l.json", "-o", "out")
    second = mmconvert("convert", "l.json", "-o", "out", *advised(first, r"--image-root=\S+"))
    assert (first.code, second.code) == (1, 0)
    assert mmconvert("export", "out", "-o", "train.parquet", "--to", "trl").code == 0
    (row,) = datasets.load_dataset("parquet", data_files="train.parquet", split="train")
    assert [turn["role"] for turn in row["messages"]] == ["user", "assistant"]


def test_a_hand_made_table_of_predictions() -> None:
    Path("p.csv").write_text("qid,question,label,model_output\n1,Which?,red,Red\n2,Who?,me,you\n")
    shown = mmscore("score", "p.csv", "--json")
    assert shown.code == 0
    entry = json.loads(shown.out)["entries"][0]
    assert entry["metrics"]["accuracy"]["value"] == 0.5
    assert "--map prediction=model_output" in json.dumps(entry["messages"])


def test_llavas_answers_to_pope() -> None:
    form = "Answer the question using a single word or phrase."
    questions = [f"Is there a cat in the image {number}?" for number in (1, 2)]
    asked = [
        {"question_id": number, "text": question, "label": "yes", "image": "x.jpg"}
        for number, question in enumerate(questions, 1)
    ]
    known = {"answer_id": "x", "model_id": "m", "metadata": {}}
    said = [
        {"question_id": number, "prompt": f"{question}\n{form}", "text": text, **known}
        for number, (question, text) in enumerate(zip(questions, ("Yes", "No"), strict=True), 1)
    ]
    for name, rows in (("coco_pope_random.json", asked), ("answers.jsonl", said)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = mmscore("score", "answers.jsonl")
    assert first.code != 0
    advised(first, r"--answers DATASET")
    second = mmscore("score", "answers.jsonl", "--answers", "coco_pope_random.json", "--json")
    entry = json.loads(second.out)["entries"][0]
    assert (entry["recipe"], entry["metrics"]["accuracy"]["value"]) == ("pope_official", 0.5)


def test_a_data_frame() -> None:
    frame = pd.DataFrame({"image": ["pics/a.png"], "question": ["Which?"], "answer": ["red"]})
    assert mmconvert_api.convert(frame, "out").rows_written == 1
    assert loaded("out")[0]["images"][0].size == (16, 12)


def test_an_imagefolder() -> None:
    Path("pics/metadata.csv").write_text("file_name,text\na.png,A red square.\nb.png,A green square.\n")
    shown = mmconvert("convert", "pics", "-o", "out")
    assert shown.code == 0
    assert "read as imagefolder" in shown.out
    assert [row["answer"] for row in loaded("out")] == ["A red square.", "A green square."]


def test_preference_pairs_to_dpo() -> None:
    row = {"prompt": "Which colour?", "chosen": "Red.", "rejected": "Blue.", "images": ["pics/a.png"]}
    Path("pairs.jsonl").write_text(json.dumps(row) + "\n")
    first = mmconvert("convert", "pairs.jsonl", "-o", "out")
    assert first.code == 0
    second = mmconvert("convert", "pairs.jsonl", "-o", "pairs", *advised(first, r"--view preference"))
    assert second.code == 0
    (pair,) = loaded("pairs")
    assert [pair[name][-1]["role"] for name in ("prompt", "chosen", "rejected")] == ["user", "assistant", "assistant"]
    assert len(pair["images"]) == 1


def test_a_file_of_questions_about_videos() -> None:
    with av.open("clip.mp4", "w") as file:
        stream = file.add_stream("mpeg4", rate=8)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for shade in range(16):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), shade * 16, np.uint8), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    turns = [{"from": "human", "value": "<video>What happens?"}, {"from": "gpt", "value": "It brightens."}]
    Path("v.json").write_text(json.dumps([{"conversations": turns, "videos": ["clip.mp4"]}]))
    first = mmconvert("convert", "v.json", "-o", "out")
    assert first.code == 1
    second = mmconvert("convert", "v.json", "-o", "out", *advised(first, r"--frames \d+"))
    assert second.code == 0, second.err
    (row,) = loaded("out")
    assert len(row["images"]) == 8
    assert [info["time"] for info in row["image_info"]] == sorted(info["time"] for info in row["image_info"])


def test_an_alpaca_file() -> None:
    Path("alpaca.json").write_text(json.dumps([{"instruction": "Translate.", "input": "red", "output": "rot"}]))
    shown = mmconvert("convert", "alpaca.json", "-o", "out")
    assert shown.code == 0
    (row,) = loaded("out")
    assert [part["text"] for turn in row["messages"] for part in turn["content"]] == ["Translate.\nred", "rot"]
