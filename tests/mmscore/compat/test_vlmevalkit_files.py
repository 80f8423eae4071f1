"""VLMEvalKit's functions on files: tables, JSON, images as text."""

import io

import pandas as pd
import PIL.Image
import pybase64
import pytest

from mmconvert.core.errors import Error, RowError, UsageError
from mmscore.compat import vlmevalkit as kit
from support.questions import make_image

RED = make_image("red")


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".xlsx", ".parquet"])
def test_only_an_empty_cell_is_missing_and_columns_of_numbers_are_numbers(tmp_path, suffix):
    frame = pd.DataFrame({"index": [1, 2], "A": ["None", "NA"], "text": ["a\tb\nc", "=1+1"], "n": [None, "0.5"]})
    path = tmp_path / f"t{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else kit.dump(frame, path)
    found = kit.load(str(path))
    assert found["A"].tolist() == ["None", "NA"]
    assert found["text"].tolist() == ["a\tb\nc", "=1+1"]
    assert found["index"].tolist() == [1, 2]
    assert pd.isna(found["n"][0])
    assert float(found["n"][1]) == 0.5


def test_values_of_json_come_back(tmp_path):
    for name, value in {"a.json": {"x": [1, None]}, "a.jsonl": [{"x": 1}, {"x": "é"}]}.items():
        kit.dump(value, tmp_path / name)
        assert kit.load(tmp_path / name) == value
    plain = {1: ("a", None), "1": [{"log": True}], ("x", 2): 0.5}
    kit.dump({**plain, "n": pd.Series([3])[0]}, tmp_path / "a.pkl")
    assert kit.load(tmp_path / "a.pkl") == {**plain, "n": 3}
    kit.dump(kit.d2df({"Overall": 0.5}), tmp_path / "b.json")
    assert kit.load(tmp_path / "b.json") == [{"Overall": 0.5}]


def test_what_cannot_be_read_or_written_is_said(tmp_path):
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04N.")
    (tmp_path / "b.pkl").write_text('{"a": 1}')
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(UsageError, match=r"only \.tsv, .* are read"):
        kit.load(tmp_path / "a.bin")
    with pytest.raises(UsageError, match="are written"):
        kit.dump([], tmp_path / "b.bin")
    for foreign in ("a.pkl", "b.pkl"):
        with pytest.raises(Error, match="pickles are not read"):
            kit.load(tmp_path / foreign)
    with pytest.raises(UsageError, match="plain values"):
        kit.dump({"a": object()}, tmp_path / "c.pkl")
    with pytest.raises(UsageError, match="no such file"):
        kit.load("https://example.org/a.tsv")
    with pytest.raises(Error, match=r"a\.json"):
        kit.load(tmp_path / "a.json")
    with pytest.raises(Error, match="a cell holds"):
        kit.dump(pd.DataFrame({"index": [1], "t": ["x" * 40_000]}), tmp_path / "long.xlsx")


def test_a_images_file_keeps_its_bytes_both_ways(tmp_path):
    (tmp_path / "a.png").write_bytes(RED)
    text = kit.encode_image_file_to_base64(str(tmp_path / "a.png"))
    kit.decode_base64_to_image_file(text, str(tmp_path / "new/b.png"))
    assert (tmp_path / "new/b.png").read_bytes() == RED
    assert kit.decode_base64_to_image(text).size == (24, 16)
    assert kit.decode_base64_to_image(text, target_size=12).size == (12, 8)
    kit.decode_base64_to_image_file(text, tmp_path / "c.jpg", target_size=12)
    assert PIL.Image.open(tmp_path / "c.jpg").size == (12, 8)
    small = kit.encode_image_file_to_base64(tmp_path / "a.png", target_size=12, fmt="JPEG")
    assert PIL.Image.open(io.BytesIO(pybase64.b64decode(small))).format == "JPEG"


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "LA"])
def test_an_open_image_is_encoded_whatever_its_mode(mode):
    image = PIL.Image.new("RGB", (30, 20), "red").convert(mode)
    text = kit.encode_image_to_base64(image)
    assert kit.decode_base64_to_image(text).mode == "RGB"
    assert (image.mode, image.size) == (mode, (30, 20))


def test_what_is_no_image_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"text")
    with pytest.raises(UsageError, match=r"missing\.png"):
        kit.encode_image_file_to_base64(tmp_path / "missing.png")
    for broken in (
        lambda: kit.encode_image_file_to_base64(tmp_path / "a.png"),
        lambda: kit.decode_base64_to_image("?"),
    ):
        with pytest.raises(RowError):
            broken()


def test_files_are_asked_about(tmp_path):
    (tmp_path / "a.png").write_bytes(RED)
    (tmp_path / "b.png").write_bytes(b"text")
    assert [kit.read_ok(tmp_path / name) for name in ("a.png", "b.png", "c.png")] == [True, False, False]
    assert kit.file_size(tmp_path / "b.png", "KB") == 4 / 1024
    assert kit.build_dataset("nowhere") is None
    assert kit.DATASET_MODALITY("Colours") == "IMAGE"
    assert [kit.version_cmp("1.10", "1.9", op) for op in ("gt", "le", "eq")] == [True, False, False]


def test_an_image_that_a_file_cannot_hold_is_refused(tmp_path):
    data = io.BytesIO()
    PIL.Image.new("CMYK", (2, 2)).save(data, "JPEG")
    text = pybase64.b64encode(data.getvalue()).decode()
    with pytest.raises(RowError, match="cannot be written"):
        kit.decode_base64_to_image_file(text, tmp_path / "a.png", 100)
