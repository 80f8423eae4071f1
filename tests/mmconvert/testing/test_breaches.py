"""The contract that anybody can run: plug-ins of the docs keep it, and each way to break it is named."""

import json
import re
from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.testing import Breach, find_breaches, list_promises, prompts, transforms
from support.records import image_bytes
from support.terminal import mmconvert, one_message

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[3] / "docs"


def code(page: str, after: str) -> str:
    """The first piece of Python behind a heading of a page."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(after)[2]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]


FORMAT = code("plugins.md", "## A format")
PROMPT = code("plugins.md", "## A prompt template")
STEP = code("transforms.md", "## Your own transform")


@pytest.fixture(autouse=True)
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an example of the docs' format."""
    monkeypatch.chdir(tmp_path)
    Path("a.png").write_bytes(image_bytes("PNG"))
    rows = [{"key": f"q{n}", "ask": f"What is {n}?", "picture": "a.png", "reply": f"response {n}"} for n in range(6)]
    Path("example.jsonl").write_text("".join(json.dumps({**row, "note": "n"}) + "\n" for row in rows))


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) >= 1, old
    return text.replace(old, new)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no other processes, where a breach is found in this one."""
    for checks in (prompts, transforms):
        monkeypatch.setattr(checks, "collect_digests", lambda *_: {"the same"})


def found(kind: str, text: str, name: str, *examples: str) -> list[Breach]:
    Path("mine.py").write_text(text, encoding="utf-8")
    return find_breaches(kind, f"mine.py@{name}", examples)


@pytest.mark.parametrize(
    ("kind", "text", "name", "examples"),
    [
        ("formats", FORMAT, "FORMAT", ["example.jsonl"]),
        pytest.param("prompts", PROMPT, "short:words=5", [], marks=pytest.mark.release),
        pytest.param("transforms", STEP, "STEP:count=3", [], marks=pytest.mark.release),
    ],
)
def test_the_plug_ins_of_the_docs_keep_every_promise(kind: str, text: str, name: str, examples: list[str]) -> None:
    assert found(kind, text, name, *examples) == []


READ, TOLD, OTHERS, EMPTY, DAMAGED, ODD, PIECES, BACK, COLUMN, IMAGE, ADDRESS, NAMED = list_promises("formats")[1:]
BY_HAND = "import json, mmconvert.io as s\n    lines = path.read_text().splitlines()\n"


@pytest.mark.parametrize(
    ("old", "new", "promise", "message"),
    [
        ('summary="Our quiz files"', 'summary=""', list_promises("formats")[0], "summary is not one line"),
        ('(".jsonl",)', '"jsonl"', list_promises("formats")[0], "suffixes is not a tuple of endings"),
        ("mismatch=mismatch", "mismatch=None", list_promises("formats")[0], "mismatch is no function"),
        ("images=IMAGES", 'images=("beside",)', list_promises("formats")[0], "images names unknown ways"),
        ('(".jsonl",)', '(".tsv",)', READ, "example.jsonl: suffixes lacks its ending (got '.jsonl')"),
        ("id=key", 'id="1"', READ, "two records have the id '1'. Use the source's key"),
        ("sample=key", "sample=str(id(row))", READ, "a second reading gives another sample"),
        (
            "extra=keep_extra_fields(fields)",
            'extra={"pair": (1, 2)}',
            READ,
            "stored and read again, extra is another value",
        ),
        ("if not isinstance(value, str) or not value:", "if True:", READ, "6 of its rows are invalid, the first:"),
        ("return next((", "return 'no' or next((", TOLD, "mismatch rejects the example example.jsonl: no."),
        ("return next((", "return None and next((", OTHERS, "mismatch takes a file of "),
        (
            "return jsonl.rows(path, span)",
            "return iter([*jsonl.rows(path, span)][:] if path.stat().st_size else [])",
            EMPTY,
            "an empty file gives no error",
        ),
        (
            "return jsonl.rows(path, span)",
            f"{BY_HAND}    return (s.Row(json.loads(t), s.Where(path.name, n)) for n, t in enumerate(lines))",
            DAMAGED,
            "example.jsonl cut to ",
        ),
        ("if not isinstance(value, str) or not value:", "if not value.strip():", ODD, "AttributeError: "),
        ("return jsonl.rows(path, span)", "return jsonl.rows(path, None)", PIECES, "for its 3 pieces, 6 for the whole"),
        ("**record.extra, ", "", BACK, "extra was {'note': 'n'} and comes back as {}. Write it, or yield Loss("),
        (
            '"reply": record.answer',
            '"reply": record.answer.upper()',
            BACK,
            "record q0: answer was 'response 0' and comes",
        ),
        (
            "losses.extend(list_losses(record, (), target))",
            "",
            COLUMN,
            "hint 'a hint' comes back as None. Write it, or yield",
        ),
        (
            "picture = store_image(record.images[0], target)",
            "picture = store_image(__import__('mmconvert.testing.values', fromlist=['x']).HIDDEN, target)",
            IMAGE,
            "an image that the prompt shows is gone",
        ),
        (
            "picture = store_image(record.images[0], target)",
            "from mmconvert.chat.export_images import encode_base64\n        picture = encode_base64(record.images[0])",
            ADDRESS,
            "is only a URL and has no bytes",
        ),
        (
            "images=IMAGES,",
            'images=IMAGES, file_name=lambda record: "quiz.txt",',
            NAMED,
            "'quiz.txt', which ends in none",
        ),
    ],
)
def test_each_way_to_break_the_contract_of_a_format_is_named(old: str, new: str, promise: str, message: str) -> None:
    told = [breach.message for breach in found("formats", changed(FORMAT, old, new), "FORMAT", "example.jsonl")
            if breach.check == promise]  # fmt: skip
    assert any(message in one for one in told), told


def test_a_format_without_an_example_is_asked_for_one() -> None:
    assert Breach(READ, "there is no example to read. Give a file without fault, with a row of every kind.") in found(
        "formats", FORMAT, "FORMAT"
    )


@pytest.mark.parametrize(
    ("old", "new", "promise", "message"),
    [
        ("words: int = 10", "words: list = []", 0, "parameter 'words' cannot be given as key=value"),
        ("short(record, ", "short(*, ", 0, "the function takes no record"),
        ("if not record.question:", "if True:", 1, "no sample gets a prompt; the first error: there is no question"),
        ("if not record.question:", "if not record.hint.strip():", 2, "AttributeError: 'NoneType' object has no"),
        ("return put_images_first(", "return (", 2, "the result is (got ('What is it?"),
        ("{words} words", "{words} words\\ud800", 2, "the prompt cannot be stored: messages the text has half"),
        (
            "return put_images_first(f",
            "SEEN.append(1)\n    return put_images_first(f'{len(SEEN)}' f",
            2,
            "a second run",
        ),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("one_process")
def test_each_way_to_break_the_contract_of_a_prompt_is_named(old: str, new: str, promise: int, message: str) -> None:
    told = found("prompts", "SEEN = []\n" + changed(PROMPT, old, new), "short")
    assert any(b.check == list_promises("prompts")[promise] and message in b.message for b in told), told


KEEP = 'yield replace(copy, hint=f"try {setting.random(copy.id).randrange(10)}")'


@pytest.mark.parametrize(
    ("new", "promise", "message"),
    [
        ("raise RowError('no', '', 'not today.')", 1, "no record passes; the first error: not today."),
        ("yield from ()", 1, "no record passes; none was rejected, all are dropped."),
        ("yield replace(copy, hint=copy.hint.upper())", 2, "AttributeError: 'NoneType' object has no attribute"),
        ("yield replace(copy, id=record.id)", 2, "two results have the same id"),
        ("yield replace(copy, id=copy.id + '-new')", 2, "the id changed to 'q1#0-new'"),
        ("yield replace(copy, sample='s')", 2, "sample changed to 's'"),
        ("yield replace(copy, images=(), messages=())", 2, "an image of the source is gone"),
        ("yield replace(copy, attachments=copy.images)", 2, "has the slot of another. Give it a free one."),
        ("import random\n        yield replace(copy, hint=str(random.random()))", 2, "a second run gives another"),
        ("SEEN.append(record.id)\n        yield replace(copy, hint=str(SEEN.index(record.id)))", 3,
         "the result depends on the records before it"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("one_process")
def test_each_way_to_break_the_contract_of_a_transform_is_named(new: str, promise: int, message: str) -> None:
    text = "from mmconvert.core.errors import RowError\nSEEN = []\n" + changed(STEP, KEEP, new)
    told = found("transforms", text, "STEP")
    assert any(b.check == list_promises("transforms")[promise] and message in b.message for b in told), told


@pytest.mark.parametrize(
    ("kind", "text", "name", "message"),
    [
        pytest.param(
            "prompts",
            changed(PROMPT, "{words} words", "{next(iter({'six', 'seven', 'eight'}))} words"),
            "short",
            "processes word records differently",
            marks=pytest.mark.release,
        ),
        (
            "transforms",
            changed(STEP, KEEP, "yield replace(copy, hint=next(iter({'six', 'seven', 'eight'})))"),
            "STEP",
            "processes give different results",
        ),
    ],
)
@pytest.mark.release
def test_what_hangs_on_the_order_of_a_set_is_named(kind: str, text: str, name: str, message: str) -> None:
    told = found(kind, text, name)
    assert any(b.check == list_promises(kind)[-1] and message in b.message for b in told), told


@pytest.mark.parametrize("kind", ["formats", "prompts", "transforms"])
def test_what_is_not_of_its_kind_is_told_and_nothing_else_is_tried(kind: str) -> None:
    (breach,) = found(kind, "THING = 1\n", "THING", "example.jsonl")
    assert (breach.check, breach.message[:22]) == (list_promises(kind)[0], "the object is (got 1).")


@pytest.mark.parametrize(
    ("kind", "name", "examples", "message"),
    [
        ("format", "vmcq", [], r"unknown kind 'format'. Did you mean formats\?"),
        ("formats", "vmqc", [], r"unknown format 'vmqc'. Did you mean vmcq"),
        ("formats", "vmcq", ["no.tsv"], r"no.tsv: no such file"),
        ("transforms", "color_image", [], r"parameter 'size' is missing"),
        ("prompts", "mmmu:x=1", [], r"unknown parameter 'x'"),
    ],
)
def test_a_wrong_name_is_a_wrong_name(kind: str, name: str, examples: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_breaches(kind, name, examples)


def test_the_command_shows_every_promise_and_ends_with_0() -> None:
    Path("mine.py").write_text(FORMAT)
    ended = mmconvert("check-plugin", "formats", "mine.py@FORMAT", "example.jsonl")
    assert (ended.code, ended.err) == (0, f"mine.py@FORMAT: all {len(list_promises('formats'))} promises are kept.\n")
    assert [line.split(maxsplit=1) for line in ended.out.splitlines()] == [
        ["kept", p] for p in list_promises("formats")
    ]


@pytest.mark.usefixtures("one_process")
def test_the_command_says_what_is_broken_and_ends_with_1() -> None:
    Path("mine.py").write_text(changed(STEP, "make_copies(record, ", "2 * make_copies(record, "))
    ended = mmconvert("check-plugin", "transforms", "mine.py@STEP")
    assert ended.code == 1
    assert "broken  a sample comes out whole, or is rejected by name\n        record q1 of x: two results" in ended.out
    assert ended.err == "mine.py@STEP: 1 of 5 promises is broken.\n"
    shown = json.loads(mmconvert("check-plugin", "transforms", "mine.py@STEP", "--json").out)
    assert [breach["check"] for breach in shown["breaches"]] == ["a sample comes out whole, or is rejected by name"]
    assert (shown["kind"], shown["name"], len(shown["promises"])) == ("transforms", "mine.py@STEP", 5)


def test_the_command_leaves_out_what_it_did_not_look_at() -> None:
    Path("mine.py").write_text("STEP = 1\n")
    ended = mmconvert("check-plugin", "transforms", "mine.py@STEP")
    assert [line.split()[0] for line in ended.out.splitlines()] == ["broken", "the", "-", "-", "-", "-"]


def test_a_mistake_on_the_line_is_one_message() -> None:
    ended = mmconvert("check-plugin", "transforms", "mien.py@STEP")
    assert (ended.code, one_message(ended)) == (2, "mien.py: no such file or folder. See what is there: ls .")
