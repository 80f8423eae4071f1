import json
import os
import shlex
import shutil
from hashlib import sha256

import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.analysis.bundle import Request, bundle, verify
from mmscore.scoring.evaluate import score
from support.json_shape import faults
from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message
from support.write_order import watch_writes


@pytest.fixture
def file(tmp_path):
    rows = choices(("A", "A"), ("B", "A"), ("the (C)", "C"), (None, "A"), category="c")
    return write_predictions(tmp_path / "p.parquet", rows, extra='{"level": "hard"}')


@pytest.fixture
def made(file, tmp_path):
    bundle(Request((str(file),), ("own_choice",), by=("extra.level",)), tmp_path / "b")
    return tmp_path / "b"


def change(folder, **fields):
    """Rewrite fields of a bundle's manifest."""
    manifest = json.loads((folder / "bundle.json").read_text())
    (folder / "bundle.json").write_text(json.dumps(manifest | fields))


def test_a_bundle_gives_the_number_of_its_files_wherever_it_goes(file, made, tmp_path):
    expected = score(file, "own_choice", by=["extra.level"]).entries[0]
    moved = tmp_path / "elsewhere" / "b"
    shutil.copytree(made, moved)
    file.unlink()
    shutil.rmtree(made)
    found = verify(moved)
    assert (found.faults, found.remarks) == ((), ())
    assert found.report["entries"][0]["metrics"] == expected.to_json()["metrics"]
    assert found.report["entries"][0]["groups"] == expected.to_json()["groups"]


def test_no_path_of_the_machine_comes_along(made, tmp_path):
    for name in ("bundle.json", "report.json"):
        assert str(tmp_path) not in (made / name).read_text()
    assert json.loads((made / "report.json").read_text())["entries"][0]["predictions"] == "predictions/p.parquet"


def test_the_manifest_has_its_shape_and_the_hashes_of_all_files(made):
    manifest = json.loads((made / "bundle.json").read_text())
    assert faults(manifest, "bundle.json") == []
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {file["path"] for file in manifest["files"]} == files - {"bundle.json"}
    for file in manifest["files"]:
        assert sha256((made / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_the_command_in_the_manifest_gives_the_report(made, monkeypatch):
    report = json.loads((made / "report.json").read_text())
    monkeypatch.chdir(made)
    program, *arguments = shlex.split(json.loads((made / "bundle.json").read_text())["command"])
    assert program == "mmscore"
    assert mmscore(*arguments, "--json", "--quiet", "--allow-rejects").code == 0
    assert json.loads((made / "report.json").read_text()) == report


def test_the_signature_is_that_of_the_files_before(tmp_path):
    asked = [{"role": "user", "content": [{"type": "text", "text": "Which?"}]}]
    rows = choices(("A", "A"), ("B", "A"), messages=asked)
    without = [{name: value for name, value in row.items() if name != "prediction"} for row in rows]
    answers = write_predictions(tmp_path / "d.parquet", without)
    bare = write_predictions(tmp_path / "p.parquet", [{"id": "0", "prediction": "A"}, {"id": "1", "prediction": "A"}])
    expected = score(bare, "own_choice", answers=answers).entries[0].signature
    assert "answers:d.parquet|" in expected
    assert "|prompt:" in expected
    made = bundle(Request((str(bare),), ("own_choice",), str(answers)), tmp_path / "b")
    kept = json.loads((tmp_path / "b" / "report.json").read_text())
    assert [report["entries"][0]["signature"] for report in (made, kept)] == [expected] * 2
    assert verify(tmp_path / "b").faults == ()


def test_references_come_along_without_images(tmp_path):
    rows = [{**row, "images": None} for row in choices(("A", "A"), ("B", "A"), category="c")]
    answers = write_predictions(
        tmp_path / "d.parquet", [{k: v for k, v in r.items() if k != "prediction"} for r in rows]
    )
    bare = write_predictions(tmp_path / "p.parquet", [{"id": "0", "prediction": "A"}, {"id": "7", "prediction": "A"}])
    report = bundle(Request((str(bare),), ("own_choice",), str(answers)), tmp_path / "b")
    assert verify(tmp_path / "b").faults == ()
    counts = report["entries"][0]["counts"]
    assert (counts["scored"], counts["missing"], counts["rejected"]) == (1, 1, 1)
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        "answers.parquet",
        "bundle.json",
        "predictions",
        "report.json",
    ]
    assert "images" not in pq.read_schema(tmp_path / "b" / "answers.parquet").names


def test_a_kits_own_folder_and_file_are_bundled_as_they_are(shared, tmp_path):
    sources = (shared / "real" / "mmmu" / "llava1.5_13b", next((shared / "real" / "reform_eval").glob("FUNSD*")))
    for number, source in enumerate(sources):
        bundle(Request((str(source),)), tmp_path / str(number))
        assert verify(tmp_path / str(number)).faults == ()


def test_a_name_that_stands_in_the_folders_name_is_not_lost(tmp_path, repository):
    folder = tmp_path / "reviews" / "qwen"
    folder.mkdir(parents=True)
    examples = repository / "src" / "mmconvert" / "testing" / "demo" / "files" / "evalscope_reviews"
    source = shutil.copy(next(iter(sorted(examples.rglob("*.jsonl")))), folder)
    report = bundle(Request((str(source),)), tmp_path / "b")
    assert report["entries"][0]["model"] == "qwen"
    assert verify(tmp_path / "b").report["entries"][0]["model"] == "qwen"


@pytest.mark.parametrize("name", ["predictions/p.parquet", "report.json"])
def test_a_changed_byte_is_found(made, name):
    data = bytearray((made / name).read_bytes())
    data[len(data) // 2] ^= 1
    (made / name).write_bytes(data)
    found = verify(made)
    assert found.faults == (f"{name}: its bytes are not those that were bundled",)
    assert found.report is None


def test_files_that_are_gone_or_new_or_links_are_found(made, tmp_path):
    (made / "new.txt").write_text("x")
    (made / "predictions" / "p.parquet").rename(tmp_path / "outside.parquet")
    assert set(verify(made).faults) == {
        "predictions/p.parquet: is missing, or a link",
        "new.txt: was not bundled",
    }
    (made / "predictions" / "p.parquet").symlink_to(tmp_path / "outside.parquet")
    assert "predictions/p.parquet: is missing, or a link" in verify(made).faults


@pytest.mark.parametrize("kind", ["device", "file", "gone", "pipe", "folder"])
def test_a_manifest_that_is_no_plain_file_is_one_sentence(made, tmp_path, kind):
    manifest = made / "bundle.json"
    manifest.rename(tmp_path / "moved.json")
    if kind == "pipe":
        os.mkfifo(manifest)
    elif kind == "folder":
        manifest.mkdir()
    else:
        manifest.symlink_to({"device": "/dev/zero", "file": tmp_path / "moved.json", "gone": "nowhere"}[kind])
    ended = mmscore("verify", made)
    assert (ended.code, one_message(ended, "mmscore")) == (
        1,
        f"{manifest}: is a link or no plain file. Copy the file that was bundled there.",
    )


def test_a_number_that_comes_out_otherwise_is_named(made):
    report = json.loads((made / "report.json").read_text())
    report["entries"][0]["metrics"]["accuracy"]["value"] = 0.7
    text = json.dumps(report).encode()
    (made / "report.json").write_bytes(text)
    files = json.loads((made / "bundle.json").read_text())["files"]
    file = next(file for file in files if file["path"] == "report.json")
    file |= {"bytes": len(text), "sha256": sha256(text).hexdigest()}
    change(made, files=files)
    found = verify(made)
    assert found.faults == ("report[0].metrics.accuracy.value: 0.7 in the bundle, 0.6666666666666666 now",)


def test_other_releases_are_a_remark_and_no_fault(made):
    manifest = json.loads((made / "bundle.json").read_text())
    change(made, versions=manifest["versions"] | {"numpy": "1.0"})
    found = verify(made)
    assert found.faults == ()
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith("made with numpy 1.0, this is ")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"files": [{"path": "../p.parquet", "bytes": 1, "sha256": ""}]}, "leads out of the folder"),
        ({"files": [{"path": "/etc/passwd", "bytes": 1, "sha256": ""}]}, "leads out of the folder"),
        ({"files": [{"path": "a"}]}, "is damaged"),
        ({"files": 3}, "is damaged"),
        ({"versions": []}, "is damaged"),
        ({"schema_version": 99}, "this program knows 1. Upgrade"),
        ({"request": {"predictions": ["../x"]}}, "is damaged"),
        ({"request": {"command": "rm"}}, "it asks for command"),
        ({"request": None}, "is damaged"),
    ],
)
def test_a_manifest_that_lies_is_refused(made, fields, words):
    change(made, **fields)
    with pytest.raises(Error, match=words):
        verify(made)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("predictions", ["../p.parquet"], "leads out of the folder"),
        ("answers", "/etc/passwd", "leads out of the folder"),
        ("recipes", ["evil.py@RECIPE"], "not a file of code"),
        ("recipes", [], "no recipe"),
        ("by", "category", "is not a list of texts"),
        ("dataset", 3, "not text"),
    ],
)
def test_a_request_that_leads_elsewhere_is_refused(made, name, value, words):
    request = json.loads((made / "bundle.json").read_text())["request"]
    change(made, request=request | {name: value})
    with pytest.raises(Error, match=words):
        verify(made)


def test_what_cannot_be_bundled_is_refused_and_leaves_nothing(file, tmp_path, repository):
    other = write_predictions(tmp_path / "o.parquet", [{"id": "0", "prediction": "x", "answer": "x", "task": "vqa"}])
    (tmp_path / "sub").mkdir()
    twin = shutil.copy(file, tmp_path / "sub")
    before = sorted(tmp_path.rglob("*"))
    for request, words in (
        (Request((str(file), str(other))), "of different recipes"),
        (Request((str(file), str(twin)), ("own_choice",)), "the same name"),
        (Request((str(file),), (f"{repository}/tests/support/plain_recipe.py@RECIPE",)), "not a file of code"),
        (Request((str(file),), ("vlmevalkit_mmvet",)), "no scores without a judge, which a bundle cannot contain"),
        (Request((str(tmp_path / "none"),)), "no such file"),
    ):
        with pytest.raises(UsageError, match=words):
            bundle(request, tmp_path / "b")
    with pytest.raises(UsageError, match="already exists"):
        bundle(Request((str(file),), ("own_choice",)), tmp_path / "sub")
    with pytest.raises(UsageError, match="does not exist"):
        bundle(Request((str(file),), ("own_choice",)), tmp_path / "no" / "such")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bundle_is_on_the_disk_before_it_has_its_name(file, tmp_path):
    with watch_writes(tmp_path / "b"):
        bundle(Request((str(file),), ("own_choice",)), tmp_path / "b")


def test_only_what_a_score_depends_on_comes_along_and_the_rest_is_named(tmp_path, shared):
    folder = tmp_path / "outputs"
    shutil.copytree(shared / "real" / "mmmu" / "llava1.5_13b", folder)
    secret = tmp_path / "id_rsa"
    secret.write_text("SECRET")
    (folder / "key").symlink_to(secret)
    (folder / ".env").write_text("API_KEY=SECRET")
    (folder / "notes.json").write_text('"SECRET"')
    done = mmscore("bundle", str(folder), "-o", str(tmp_path / "b"))
    assert done.code == 0
    line = next(line for line in done.out.splitlines() if line.startswith("left out"))
    assert all(str(folder / name) in line for name in ("key", ".env", "notes.json"))
    assert {path.name for path in (tmp_path / "b" / "predictions").rglob("*") if path.is_file()} == {"output.json"}
    assert verify(tmp_path / "b").faults == ()


def test_a_link_out_of_the_folder_is_refused_and_one_that_is_named_is_followed(tmp_path, file):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "p.parquet").symlink_to(file)
    with pytest.raises(Error, match="is a link that leads out of"):
        bundle(Request((str(folder),), ("own_choice",)), tmp_path / "b")
    assert not (tmp_path / "b").exists()
    bundle(Request((str(folder / "p.parquet"),), ("own_choice",)), tmp_path / "c")
    assert verify(tmp_path / "c").faults == ()
