"""`mmconvert preview --loss`: the tokens of each sample on the page, looked at in a real Chromium."""

import json
from pathlib import Path

import datasets
import pytest
from playwright.sync_api import Browser, expect

from mmconvert.chat.collate import IGNORED, ChatCollator
from support.browser import opened
from support.layout import SCHEMES, WIDTHS, find_problems
from support.questions import make_image
from support.terminal import mmconvert
from support.tiny_processors import build_idefics3, build_llava, build_qwen_tokenizer
from support.training_rows import decode_learnt

pytestmark = pytest.mark.slow

SAID = ("It is 蓝 a dog. 😀", "Yes\n  no")


@pytest.fixture(scope="module")
def idefics3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processors") / "idefics3"
    build_idefics3().save_pretrained(folder)
    return folder


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A conversation with an image, and a question without an answer."""
    (tmp_path / "blue.png").write_bytes(make_image("blue", size=(60, 40)))
    image = {"type": "image_url", "image_url": {"url": "blue.png"}}
    rows = [
        {
            "id": "talk",
            "messages": [
                {"role": "user", "content": [image, {"type": "text", "text": "What is <b>this</b>?"}]},
                {"role": "assistant", "content": SAID[0]},
                {"role": "user", "content": "Sure?"},
                {"role": "assistant", "content": SAID[1]},
            ],
        },
        {"id": "open", "messages": [{"role": "user", "content": "What?"}]},
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def preview(page: Path, *arguments: object) -> dict:
    ended = mmconvert("preview", *arguments, "-o", page, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_learnt_tokens_are_marked_and_images_are_boxes(
    browser: Browser, tmp_path: Path, talk: Path, idefics3: Path
) -> None:
    done = preview(tmp_path / "p.html", talk, "--loss", "--processor", idefics3)
    expected = build_idefics3()._get_num_multimodal_tokens(image_sizes=[(40, 60)])["num_image_tokens"][0]
    with opened(browser, tmp_path / "p.html") as page:
        page.evaluate("mm.openItem('talk')")
        tokens = page.locator("#item .text.tokens")
        marks = tokens.locator("mark")
        assert "".join(marks.all_text_contents()) == "".join(f" {text}<end_of_utterance>" for text in SAID)
        assert done["learnt"] >= marks.count() > 10
        assert marks.last.get_attribute("title").startswith("token ")
        box = tokens.get_by_role("button")
        expect(box).to_have_text(f"image 1: {expected} tokens")
        box.click()
        expect(page.locator("#item figure").first).to_have_class("called")
        expect(page.locator("#item h3", has_text="are learnt")).to_have_text(
            f"Tokens: {done['tokens']}, of which {done['learnt']} are learnt"
        )
        assert "What is <b>this</b>?" in tokens.inner_text()
        page.evaluate("mm.openItem('open')")
        expect(page.locator("#item .text.warn")).to_contain_text("neither an assistant's turn nor an answer to learn")
        page.evaluate("mm.closeItem()")
        page.get_by_role("button", name="nothing learnt").click()
        assert page.locator("tbody th").all_inner_texts() == ["open"]


@pytest.mark.parametrize("loss", ["assistant", "completion", "last", "all"])
def test_what_is_learnt_is_a_choice_of_the_collator(
    browser: Browser, tmp_path: Path, talk: Path, idefics3: Path, loss: str
) -> None:
    row = json.loads(talk.read_text(encoding="utf-8").splitlines()[0])
    row["messages"].append({"role": "assistant", "content": "Quite."})
    talk.write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = preview(tmp_path / "p.html", talk, "--loss", loss, "--processor", idefics3)
    assert mmconvert("convert", talk, "-o", tmp_path / "data", "--view", "sft", "--quiet").code == 0
    processor, data = build_idefics3(), datasets.load_dataset(str(tmp_path / "data"), split="test")
    batch = ChatCollator(processor, loss=loss)([data[0]])
    assert done["learnt"] == int((batch["labels"] != IGNORED).sum())
    with opened(browser, tmp_path / "p.html") as page:
        page.evaluate("mm.openItem(mm.items[0].id)")
        tokens = page.locator("#item .text.tokens")
        marks = tokens.locator("mark")
        assert "".join(marks.all_text_contents()) == decode_learnt(processor, batch)[0]
        learnt, plain = (one.evaluate("e => getComputedStyle(e).backgroundColor") for one in (marks.first, tokens))
        assert learnt != plain
        assert f"Loss\n{loss}" in page.locator("#facts").inner_text()


def test_turns_that_are_not_learnt_and_answers_without_an_end_are_said(
    browser: Browser, tmp_path: Path, talk: Path
) -> None:
    row = json.loads(talk.read_text(encoding="utf-8").splitlines()[0])
    row["messages"][0]["content"] = "What?"
    talk.write_text(json.dumps(row) + "\n", encoding="utf-8")
    build_qwen_tokenizer("qwen3").save_pretrained(tmp_path / "qwen")
    row["messages"][1]["content"] = "<think>\nlight\n</think>\n\nBecause."
    (tmp_path / "thinking.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    preview(tmp_path / "p.html", tmp_path / "thinking.jsonl", "--loss", "--processor", tmp_path / "qwen")
    with opened(browser, tmp_path / "p.html") as page:
        page.get_by_role("button", name="turns not learnt").click()
        page.locator("tbody tr").click()
        expect(page.locator("#item .text.warn")).to_have_text(
            "turn 2: the chat template writes it otherwise once others follow"
        )
    build_llava().save_pretrained(tmp_path / "llava")
    done = preview(tmp_path / "p.html", talk, "--loss", "--processor", tmp_path / "llava")
    assert "puts no special token behind an answer" in done["warnings"][0]


def test_a_sample_that_the_processor_refuses_is_said_and_others_are_shown(
    tmp_path: Path, talk: Path, idefics3: Path
) -> None:
    row = json.loads(talk.read_text(encoding="utf-8").splitlines()[0])
    row["id"], row["messages"][2]["content"] = "literal", "What does <image> mean?"
    with talk.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    done = preview(tmp_path / "p.html", talk, "--loss", "--processor", idefics3)
    assert done["records"] == 3
    assert done["tokens"] > 0
    assert "the processor refuses the sample" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_options_that_cannot_be_honoured_are_refused(tmp_path: Path, talk: Path) -> None:
    page = tmp_path / "p.html"
    for words in (("--loss",), ("--processor", tmp_path)):
        ended = mmconvert("preview", talk, "-o", page, *words)
        assert (ended.code, "--loss and --processor go together" in ended.err) == (2, True)
    ended = mmconvert("preview", talk, "-o", page, "--loss", "--processor", tmp_path)
    assert ended.code == 2
    assert f"--processor {tmp_path}: cannot be loaded" in ended.err
    tokenizer = build_qwen_tokenizer()
    tokenizer.save_pretrained(tmp_path / "bare")
    ended = mmconvert("preview", talk, "-o", page, "--loss", "--processor", tmp_path / "bare")
    assert "has no chat template" in ended.err
    assert not page.exists()


@pytest.mark.parametrize(("width", "scheme"), [(min(WIDTHS), SCHEMES[-1]), (max(WIDTHS), SCHEMES[0])])
def test_nothing_is_cut_or_hard_to_read(
    browser: Browser, tmp_path: Path, talk: Path, idefics3: Path, width: int, scheme: str
) -> None:
    preview(tmp_path / "p.html", talk, "--loss", "--processor", idefics3)
    with opened(browser, tmp_path / "p.html", viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        assert find_problems(page) == []
        page.evaluate("mm.openItem('talk')")
        assert find_problems(page) == []
