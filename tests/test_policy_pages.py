"""The pages on bad input and on threats claim nothing that no file shows: each claim has an input and its outcome."""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.chat.export_images import write_image_file
from mmconvert.chat.file_names import propose_file_name
from mmconvert.core.errors import Error
from mmconvert.core.record import Image
from mmconvert.core.rows import MOST_ROW_BYTES
from mmconvert.core.text import yaml
from mmconvert.images import frame_process, verify, video
from mmconvert.io import parquet, tables
from mmconvert.pipeline import read
from mmconvert.plugins.format import Target
from mmconvert.plugins.registry import load
from mmscore.core.predictions import load as predictions
from support.datasets_on_disk import record
from support.deferred import defer
from support.policy_files import CHOICE, LMU_ROW, RED, REFORM_ROW, Proof, cells, lines, png
from support.policy_proofs import PROOFS
from support.refusals import refusals
from support.terminal import mmconvert, mmscore
from support.web_server import reply, web_server

ROOT = Path(__file__).resolve().parents[1]
BAD_INPUT = " ".join((ROOT / "docs/bad-input.md").read_text(encoding="utf-8").split())
THREATS = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")


def build_folder(folder: Path, files: Mapping[str, Any]) -> Path:
    """Lay out files beside an image, a link to an image outside, and a pipe; give the first file."""
    (folder / "in").mkdir()
    (folder / "out.png").write_bytes(RED)
    (folder / "in/red.png").write_bytes(RED)
    (folder / "in/link.png").symlink_to(folder / "out.png")
    os.mkfifo(folder / "in/pipe")
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / "in" / name).write_bytes(content)
        else:
            content(folder / "in" / name)
    return folder / "in" / next(iter(files))


def read_value(row: Mapping[str, Any], name: str) -> Any:
    """Give what a proof says of a row: a column, or something of its images."""
    if name == "bytes":
        return [image["bytes"] for image in row["images"]]
    return [info[name[:-1]] for info in row["image_info"]] if name in ("formats", "urls") else row[name]


CASES = [
    pytest.param(rule, proof, id=f"{rule}-{number}") for rule in PROOFS for number, proof in enumerate(PROOFS[rule])
]


@pytest.mark.parametrize(("rule", "proof"), defer(CASES, 40))
def test_what_the_page_claims_is_so(rule: str, proof: Proof, tmp_path: Path) -> None:
    file, output, rejects = build_folder(tmp_path, proof.files), tmp_path / "made", tmp_path / "rejects.jsonl"
    command = ["convert", file, "-o", output, "--format", proof.format, "--rejects", rejects, "--workers", 1]
    done = mmconvert(*command, *proof.options)
    found = [json.loads(line) for line in rejects.read_text().splitlines()] if rejects.exists() else []
    assert proof.says in done.out + done.err
    if proof.refused is None:
        assert (done.code, output.exists()) == (1, False)
        return
    assert ({row["row"]: row["code"] for row in found}, done.code) == (proof.refused, 3 if proof.refused else 0), (
        done.err
    )
    made = [row for part in sorted(output.rglob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    if proof.rows is not None:
        assert [{name: read_value(row, name) for name in said} for row, said in zip(made, proof.rows, strict=True)] == [
            *proof.rows
        ]


# Claims that more than a conversion shows

QUOTES: dict[str, list[str]] = {rule: [proof.quote for proof in proofs] for rule, proofs in PROOFS.items()}


def proves(rule: str, *quotes: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Note what a test shows."""
    QUOTES.setdefault(rule, []).extend(quotes)
    return lambda test: test


@proves("P7", "`check` and `push` always do")
def test_check_decodes_every_image(tmp_path: Path) -> None:
    file = build_folder(tmp_path, {"a.jsonl": lines(CHOICE, {**CHOICE, "image_1": "black"}), "black": png(3, 2)})
    done = mmconvert("check", file, "--format", "vmcq")
    assert (done.code, "a.jsonl:2 image_1: " in done.out + done.err) == (3, True)


@proves("P8", "A table of a folder that is a link out of it makes the folder invalid")
def test_a_table_that_is_a_link_out_of_its_folder_refuses_it(tmp_path: Path) -> None:
    file = build_folder(tmp_path, {"tables/": lambda path: path.mkdir()})
    (tmp_path / "away.tsv").write_bytes(cells(LMU_ROW)["a.tsv"])
    (file / "a.tsv").symlink_to(tmp_path / "away.tsv")
    done = mmconvert("convert", file, "-o", tmp_path / "made", "--format", "lmudata")
    assert (done.code, (tmp_path / "made").exists()) == (1, False)


@proves("P8", "a URL is fetched only with `--allow-remote`, from public hosts and those of `--allow-host NAME[:PORT]`")
def test_an_address_is_fetched_from_public_hosts_and_those_that_are_named(tmp_path: Path) -> None:
    with web_server({"/a.png": reply(RED)}) as server:
        url = f"http://127.0.0.1:{server.port}/a.png"
        file = build_folder(tmp_path, {"a.jsonl": lines(CHOICE, {**CHOICE, "image_1": url})})
        for number, (flags, code) in enumerate(
            [
                ([], 3),
                (["--allow-remote"], 3),
                (["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}"], 0),
            ]
        ):
            assert server.requests == []
            done = mmconvert(
                "convert", file, "-o", tmp_path / f"made{number}", "--format", "vmcq", "--workers", 1, *flags
            )
            assert done.code == code, done.err
        assert len(server.requests) == 1


@proves("P9", "of what is written are digests and counters, never a file's text")
def test_names_of_what_is_written_are_none_of_the_file(tmp_path: Path) -> None:
    file = build_folder(tmp_path, {"a.jsonl": lines({**CHOICE, "id": "../evil"}, {**CHOICE, "id": "worse"})})
    dataset, shown_images = tmp_path / "made", tmp_path / "pictures"
    mmconvert("convert", file, "-o", dataset, "--format", "vmcq")
    done = mmconvert(
        "export", dataset, "--to", "vmcq", "-o", tmp_path / "b.jsonl", "--images", "files", "--image-dir", shown_images
    )
    assert done.code == 0, done.err
    names = [path.name for folder in (dataset, shown_images) for path in folder.rglob("*")]
    assert len(names) > 3
    assert not [name for name in names if re.search("evil|worse|red", name)]
    assert not list(tmp_path.parent.rglob("*evil*"))


@proves(
    "P9", "one that leads out of the folder ends the export (`--images original`), or is a plain name (`-o FOLDER/`)"
)
def test_a_name_that_leads_out_of_the_folder_is_not_kept(tmp_path: Path) -> None:
    image = Image(RED, 1, "../evil.png", "0" * 64, "PNG", 3, 2)
    with pytest.raises(Error, match="leaves the folder"):
        write_image_file(image, Target(tmp_path / "in/a.tsv", images="original"))
    shown = record(1)
    name = propose_file_name(load("mmconvert.formats", "lmudata"), "lmudata", replace(shown, dataset="../../evil"))
    assert "/" not in name


@proves(
    "P10",
    "A list of ReForm-Eval may name more options by their index: `mmscore` counts such a row as that framework does",
)
def test_options_behind_z_are_scored_by_their_index(tmp_path: Path) -> None:
    rows = [
        {**REFORM_ROW, "sample_id": str(k), "answer_options": list("ab") * 15, "answer": 28, "prediction": k}
        for k in (28, 27)
    ]
    file = tmp_path / "X_SingleChoice_likelihood_m_m.json"
    file.write_text(json.dumps(rows))
    done = mmscore(file, "--recipe", "reform_singlechoice", "--json")
    assert done.code == 0, done.err
    (entry,) = json.loads(done.out)["entries"]
    assert entry["metrics"]["accuracy"]["value"] == 0.5


@proves(
    "P13",
    "a table's row 10,000 cells",
    "The rows of a parquet file may decompress to 512 MiB (to score, to 64 MiB), to a "
    "hundred times the file, or to 1 KiB a row, whichever is largest; a page that is packed"
    " eightfold to 256 MiB; on the Hub the footer is believed for that",
    "More than 100,000 invalid rows make the file invalid, or the part of it that one process reads",
    "YAML may have 1,048,576 characters, and other files that are read as one value 64 MiB",
    "When images are decoded (`--verify decode`, `check`, `push`, `predict`), all decoders of a process share 768 MiB",
    "What takes more is invalid (`image.too_large`): a WebP of more than 50 million pixels, whose decoder holds four "
    "copies, a deep TIFF in one strip, and a JPEG of so many scans that it would take minutes",
    "Of a TIFF the first page is decoded",
    "If memory runs out anyway, the program prints one message and exits with 1",
)
def test_sizes_are_those_that_the_tests_of_each_reader_try() -> None:
    """See test_parquet_unfolding.py, test_large_rows.py, test_decoder_memory.py and test_memory_ends.py."""
    assert (tables.MOST_COLUMNS, parquet.UNFOLDED_BYTES, predictions._UNFOLDED_BYTES) == (10_000, 512 << 20, 64 << 20)
    assert (parquet.MOST_TIMES, parquet.EACH_ROW_BYTES, parquet.PAGE_BYTES) == (100, 1 << 10, 256 << 20)
    assert (read.MOST_REJECTS, yaml._MOST_TEXT, MOST_ROW_BYTES) == (100_000, 1_048_576, 64 << 20)
    assert (verify.MOST_BYTES, 4 * 4 * 50_000_000 <= verify.MOST_BYTES < 4 * 4 * 51_000_000) == (768 << 20, True)


@proves(
    "P14",
    "Each video is decoded in a separate process, which may open no file and no connection "
    "and has 60 seconds and 3 GiB of memory",
    "A video may have 4 GiB, 24 hours, 5,000,000 packets and frames of 89,478,485 pixels, and gives 1,000 frames at "
    "most (`video.too_large`), of 512 MiB together",
)
def test_limits_of_videos_are_those_that_the_tests_of_frames_try() -> None:
    """See test_video.py and test_frame_process.py."""
    assert (video.SECONDS, video.MOST_BYTES, video.MOST_VIDEO_BYTES) == (60, 3 << 30, 4 << 30)
    assert (frame_process.MOST_SECONDS, frame_process.MOST_PACKETS) == (24 * 3600, 5_000_000)
    assert (frame_process.MOST_FRAMES, frame_process.MOST_OUTPUT_BYTES) == (1_000, 512 << 20)
    assert verify.MAX_PIXELS == 89_478_485


def test_a_file_has_one_of_the_outcomes_that_the_page_lists(tmp_path: Path) -> None:
    bad = lines(CHOICE, {**CHOICE, "answer": "C"})
    file = build_folder(
        tmp_path, {"bad.jsonl": bad, "good.jsonl": lines(CHOICE), "lost.jsonl": lines({**CHOICE, "answer": "C"})}
    )
    assert "| 0 |" in BAD_INPUT
    assert "| 3 (0 with `--allow-rejects`) |" in BAD_INPUT
    assert "nothing is written | 1 |" in BAD_INPUT
    for number, (name, flags, code) in enumerate(
        [
            ("good", [], 0),
            ("bad", [], 3),
            ("bad", ["--allow-rejects"], 0),
            ("lost", [], 1),
            ("bad", ["--on-bad", "fail"], 1),
        ]
    ):
        output = tmp_path / f"made{number}"
        done = mmconvert("convert", file.with_name(f"{name}.jsonl"), "-o", output, "--format", "vmcq", *flags)
        assert (done.code, output.exists()) == (code, code != 1), done.err
        rejects = tmp_path / f"made{number}.rejects.jsonl"
        if name == "bad" and not flags:
            (refusal,) = [json.loads(line) for line in rejects.read_text().splitlines()]
            assert (refusal["row"], refusal["line"], refusal["code"]) == (1, 2, "answer.not_an_option")


# The pages against what is proven

RULES = dict(re.findall(r"\*\*(P\d+) (.*?)(?=\*\*P\d+ |What a format does beyond)", BAD_INPUT))
ADVICE = re.compile(r"→ [^.]*\.(?= |$)")


def test_the_page_says_word_for_word_what_is_proven() -> None:
    assert len(RULES) == 14
    assert {rule: [quote for quote in quotes if quote not in RULES[rule]] for rule, quotes in QUOTES.items()} == {
        rule: [] for rule in RULES
    }


@pytest.mark.parametrize("rule", RULES)
def test_every_sentence_of_a_rule_is_proven_and_every_number(rule: str) -> None:
    heading, said = ADVICE.sub("", RULES[rule]).split("**", 1) if "**" in RULES[rule] else ("", RULES[rule])
    for sentence in re.split(r"(?<=\.) (?=[A-Z`])", said.strip()):
        held = [quote for quote in QUOTES[rule] if quote in sentence or sentence.rstrip(". ") in quote]
        assert held or sentence.startswith("As the standard has it"), f"{rule} {heading}: nobody proves {sentence!r}"
    proven = " ".join(QUOTES[rule])
    assert [number for number in re.findall(r"\d[\d,.^]*", said) if number.rstrip(".,") not in proven] == []


def test_every_code_of_the_page_is_proven() -> None:
    shown = {code for proofs in PROOFS.values() for proof in proofs for code in (proof.refused or {}).values()}
    codes = {code for text in RULES.values() for code in re.findall(r"`([a-z]+\.[a-z_0-9]+)`", text)}
    assert len(codes) > 30
    assert codes <= shown


def test_every_code_that_a_row_can_be_refused_with_stands_on_a_page() -> None:
    pages = BAD_INPUT + (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+\.[a-z_0-9]+)`", pages))
    known = {
        refusal.code for refusal in refusals() if not refusal.code.startswith("x.") and not refusal.code.endswith(".x")
    }
    assert known - named == set()


def test_every_attempt_of_the_threat_model_has_a_test_that_exists() -> None:
    table = THREATS.split("## What a file may try")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| **")]
    assert len(rows) > 12
    assert [row for row in rows if "](../tests/" not in row.rsplit("|", 2)[1]] == []
    linked = set(re.findall(r"\]\(\.\./(tests/[^)#]+)\)", THREATS))
    assert len(linked) > 20
    for name in linked - {"tests/support/threat_proofs.py"}:
        assert "def test_" in (ROOT / name).read_text(encoding="utf-8"), name


def test_every_section_of_the_threat_model_that_promises_names_its_tests() -> None:
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", THREATS, re.MULTILINE | re.DOTALL))
    for title in ("What a file may try", "What a response may try", "Network and keys"):
        assert sections[title].count("](../tests/") >= 2, title
