"""Base64, data URLs, paths and the structure of images."""

import base64
import contextlib
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.images import loader, other_root
from mmconvert.images.loader import ImageLoader, decode_base64, decode_data_url, probe
from mmconvert.images.verify import MAX_PIXELS, verify_decoded
from support.datasets_on_disk import make_image
from support.records import KINDS, image_bytes

PNG = image_bytes("PNG")


def code_of(function, *arguments) -> str:
    with pytest.raises(RowError) as caught:
        function(*arguments)
    return caught.value.code


@given(st.binary(min_size=1, max_size=60), st.booleans(), st.booleans(), st.text(" \t\n\r", max_size=3))
def test_base64_of_either_alphabet_comes_back(data: bytes, url_safe: bool, padded: bool, space: str) -> None:
    text = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(data).decode()
    text = text if padded else text.rstrip("=")
    assert decode_base64(text[:3] + space + text[3:]) == data


@pytest.mark.parametrize("text", ["a!cd", "a+_d", "a", "abcde", "ab\u00e9d", "ab=cd"])
def test_anything_else_is_no_base64(text: str) -> None:
    assert code_of(decode_base64, text) == "image.base64"


def test_the_character_that_no_base64_has_is_named() -> None:
    with pytest.raises(RowError, match=r"this is not base64: character 6 is '%' \(got 'aGVs %bG8'\)"):
        decode_base64("aGVs %bG8")
    with pytest.raises(RowError, match=r"this is not base64 \(got 'aGVsb'\)"):
        decode_base64("aGVsb")


@pytest.mark.parametrize(
    "head", ["data:image/png;base64,", "DATA:IMAGE/PNG;BASE64,", "data:;base64,", "data:image/png;x=y;base64,"]
)
def test_data_urls_in_all_spellings(head: str) -> None:
    assert decode_data_url(head + base64.b64encode(PNG).decode()) == PNG


@pytest.mark.parametrize("url", ["data:text/html;base64,AAAA", "data:image/png,AAAA", "data:image/png;base64AAAA"])
def test_other_data_urls_are_refused(url: str) -> None:
    assert code_of(decode_data_url, url) == "image.data_url"
    assert code_of(decode_data_url, "data:image/png;base64,") == "image.empty"


@pytest.mark.parametrize("kind", KINDS)
def test_format_and_size_are_read_from_the_bytes(kind: str) -> None:
    data = image_bytes(kind, 7, (33, 20))
    assert probe(data) == (kind, 33, 20)
    verify_decoded(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_every_cut_is_found(kind: str) -> None:
    data = image_bytes(kind, 7, (33, 20))
    for length in range(16, len(data) - 2):
        code = code_of(probe, data[:length])
        assert code in ("image.truncated", "image.header"), length


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(KINDS), st.data())
def test_broken_bytes_raise_a_row_error_and_nothing_else(kind: str, data: st.DataObject) -> None:
    one_image = bytearray(image_bytes(kind, 7, (9, 5)))
    for _ in range(data.draw(st.integers(1, 6))):
        one_image[data.draw(st.integers(0, len(one_image) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RowError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ImageLoader((), decode=True).of_bytes(bytes(one_image), 1)


def test_a_header_that_claims_too_many_pixels_is_refused_before_decoding() -> None:
    bomb = PNG[:16] + (20_000).to_bytes(4, "big") * 2 + PNG[24:]
    assert MAX_PIXELS < 20_000**2
    assert code_of(probe, bomb) == "image.too_large"


@pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b"%!PS-Adobe", b"GIF90a"])
def test_other_kinds_are_refused(data: bytes) -> None:
    assert code_of(probe, data) == "image.format"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a.png").write_bytes(PNG)
    (tmp_path / "outside.png").write_bytes(PNG)
    (folder / "out.png").symlink_to("../outside.png")
    (folder / "in.png").symlink_to("sub/a.png")
    (folder / "loop.png").symlink_to("loop.png")
    os.mkfifo(folder / "pipe.png")
    return folder


@pytest.mark.parametrize(
    ("path", "name"),
    [("sub/a.png", "sub/a.png"), ("./sub//a.png", "sub/a.png"), ("in.png", "in.png"), ("sub/../in.png", "in.png")],
)
def test_paths_inside_the_root_are_read(path: str, name: str, root: Path) -> None:
    image = ImageLoader.within([root]).of_reference(path, 2)
    assert (image.bytes, image.name, image.slot) == (PNG, name, 2)


@pytest.mark.parametrize("name", ["sub/a.png", "in.png"])
def test_a_link_that_takes_a_files_place_after_the_check_is_not_followed(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = loader.open_resolved

    def open_late(place: str) -> int:
        (root / "sub/a.png").unlink()
        (root / "sub/a.png").symlink_to(root.parent / "outside.png")
        return open_file(place)

    monkeypatch.setattr(loader, "open_resolved", open_late)
    assert code_of(ImageLoader.within([root]).of_reference, name, 1) in ("image.path", "image.missing")


def test_a_folder_that_is_swapped_for_a_link_gives_no_file_away(tmp_path: Path) -> None:
    """Another process swaps the folder for a link all the time; of thousands of reads none gets out."""
    own, secret = make_image(1), make_image(2)
    for place, data in {"root/sub": own, "home": secret}.items():
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.png").write_bytes(data)
    (tmp_path / "root/alias").symlink_to("sub")
    images = ImageLoader.within([tmp_path / "root"])
    read: Counter[bytes | None] = Counter()
    with subprocess.Popen([sys.executable, "-c", _SWAPS, str(tmp_path)]) as swaps:
        try:
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                for name in ("sub/a.png", "alias/a.png"):
                    try:
                        read[images.of_reference(name, 1).bytes] += 1
                    except RowError:
                        read[None] += 1
        finally:
            swaps.kill()
    assert read[own] > 0
    assert read[None] > 0
    assert read[secret] == 0


_SWAPS = """
import os, sys
os.chdir(sys.argv[1])
while True:
    os.rename("root/sub", "root/aside")
    os.symlink("../home", "root/sub")
    os.unlink("root/sub")
    os.rename("root/aside", "root/sub")
"""


def test_an_absolute_path_is_read_only_inside_a_root(root: Path) -> None:
    assert ImageLoader.within([root]).of_reference(str(root / "sub/a.png"), 1).name == "sub/a.png"
    assert code_of(ImageLoader.within([root]).of_reference, str(root.parent / "outside.png"), 1) == "image.path"


def test_an_absolute_path_may_name_the_root_by_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    images = ImageLoader.within([tmp_path / "link"])
    assert images.of_reference(str(tmp_path / "link/sub/a.png"), 1).name == "sub/a.png"
    assert code_of(images.of_reference, str(tmp_path / "link/out.png"), 1) == "image.path"
    assert code_of(images.of_reference, str(tmp_path / "link/../outside.png"), 1) == "image.path"


def test_a_folder_is_no_image_and_costs_no_open_file(root: Path) -> None:
    opened = len(os.listdir("/dev/fd"))
    for name in ["sub", "sub/", ".", "pipe.png"] * 5:
        assert code_of(ImageLoader.within([root]).of_reference, name, 1) == "image.path"
    assert len(os.listdir("/dev/fd")) == opened


@pytest.mark.parametrize(
    "path",
    [
        "../outside.png",
        "sub/../../outside.png",
        "out.png",
        "~/x.png",
        "C:/x.png",
        "//host/x.png",
        "file:///etc/passwd",
        "pipe.png",
        "",
    ],
)
def test_nothing_outside_the_root_is_read(path: str, root: Path) -> None:
    assert code_of(ImageLoader.within([root]).of_reference, path, 1) == "image.path"


@pytest.mark.parametrize("written", ["sub\\my a.png", ".\\sub\\my a.png", "file://{}/sub/my%20a.png",
                                      "FILE://localhost{}/sub/my a.png", "{}\\sub\\my a.png"])  # fmt: skip
def test_a_file_address_and_a_path_of_windows_mean_a_file_inside_the_root(written: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/my a.png").write_bytes(PNG)
    found = ImageLoader.within([tmp_path]).of_reference(written.format(tmp_path.resolve()), 1)
    assert (found.bytes, found.name) == (PNG, "sub/my a.png")


@pytest.mark.parametrize("written", ["..\\outside.png", "file://{}/../outside.png", "file://{}/%2e%2e/outside.png",
                                      "file://host{}/a.png", "C:{}\\a.png", "\\\\host\\a.png"])  # fmt: skip
def test_neither_leads_out_of_the_root_nor_to_another_machine(written: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for place in ("root/a.png", "outside.png"):
        (tmp_path / place).write_bytes(PNG)
    root = (tmp_path / "root").resolve()
    assert code_of(ImageLoader.within([root]).of_reference, written.format(root), 1) == "image.path"


def test_an_absolute_path_outside_names_the_folder_of_an_image_that_is_there(tmp_path: Path) -> None:
    for name in ("root", "my pics"):
        (tmp_path / name).mkdir()
    for name in ("a.png", "secret"):
        (tmp_path / "my pics" / name).write_bytes(PNG)
    images = ImageLoader.within([tmp_path / "root"])
    with pytest.raises(RowError, match=r"leaves the image root.*--image-root='[^']*/my pics'") as caught:
        images.of_reference(f"{tmp_path}/my pics/a.png", 1)
    assert caught.value.code == "image.path"
    for path in (f"{tmp_path}/my pics/secret", f"{tmp_path}/my pics/none.png"):
        with pytest.raises(RowError) as caught:
            images.of_reference(path, 1)
        assert "image-root=" not in caught.value.message


def test_base64_without_a_scheme_is_an_image(root: Path) -> None:
    assert ImageLoader.within([root]).of_value(base64.b64encode(PNG).decode(), 2).bytes == PNG


def test_a_path_of_windows_that_cannot_be_meant_here_says_so(root: Path) -> None:
    for path in ("C:\\data\\a.png", "c:/data/a.png", "\\\\server\\images\\a.png"):
        with pytest.raises(RowError, match=r"a path of a Windows drive or server .* from the image root on") as caught:
            ImageLoader.within([root]).of_reference(path, 1)
        assert caught.value.code == "image.path"


@pytest.mark.parametrize("path", ["none.png", "loop.png", "sub/a.png/b", "sub\\none.png"])
def test_a_missing_file_names_the_option_that_helps(path: str, root: Path) -> None:
    with pytest.raises(RowError, match="--image-root") as caught:
        ImageLoader.within([root]).of_reference(path, 1)
    assert caught.value.code == "image.missing"


def test_a_later_root_is_searched_too(root: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second/b.png").write_bytes(PNG)
    assert ImageLoader.within([root, tmp_path / "second"]).of_reference("b.png", 1).bytes == PNG


def test_addresses_are_refused_or_kept_unless_a_fetch_is_given() -> None:
    assert code_of(ImageLoader(()).of_reference, "http://127.0.0.1:9/x.png", 1) == "image.remote"
    kept = ImageLoader((), keep_urls=True).of_reference("https://example.org/x.png", 1)
    assert (kept.bytes, kept.url) == (None, "https://example.org/x.png")
    asked: list[str] = []
    fetching = ImageLoader((), fetch=lambda url: asked.append(url) or PNG)
    fetched = fetching.of_reference("HTTPS://example.org/x.png", 3, "low")
    assert (fetched.bytes, fetched.url, fetched.slot, fetched.detail) == (PNG, asked[0], 3, "low")
    assert (
        code_of(ImageLoader((), fetch=lambda url: b"<html>").of_reference, "http://example.org/x.png", 1)
        == "image.format"
    )
    assert code_of(fetching.of_reference, "ftp://example.org/x.png", 1) == "image.path"
    assert asked == ["HTTPS://example.org/x.png"]


def test_the_size_limit_is_the_users() -> None:
    assert code_of(ImageLoader((), max_bytes=len(PNG) - 1).of_bytes, PNG, 1) == "image.too_large"
    assert ImageLoader((), max_bytes=len(PNG)).of_bytes(PNG, 1).format == "PNG"


def test_a_gif_is_as_large_as_its_first_frame_makes_it() -> None:
    data = bytearray(image_bytes("GIF", 7, (33, 20)))
    frame = data.index(b"\x2c", 13)
    data[frame + 7 : frame + 9] = (60_000).to_bytes(2, "little")
    assert probe(bytes(data)) == ("GIF", 33, 60_000)
    data[frame + 5 : frame + 7] = (60_000).to_bytes(2, "little")
    assert code_of(probe, bytes(data)) == "image.too_large"


def test_a_refusal_names_no_place_in_memory() -> None:
    with pytest.raises(RowError) as caught:
        verify_decoded(b"GIF89a" + bytes(40))
    assert "cannot identify" in caught.value.message
    assert "0x" not in caught.value.message


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("a/x.png", "a/x.png", "--image-root=."),  # in the folder above
        ("a/b/pictures/x.png", "x.png", "--image-root=a/b/pictures"),  # in a folder beside the file
        ("elsewhere/x.png", "x.png", "--image-root ."),
        ("x.png", "../../x.png", None),  # a path that leaves the root is not looked for
    ],
)
def test_a_missing_image_is_named_where_it_is(tmp_path, monkeypatch, place, name, said) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (Path("a/b"), Path(place).parent):
        folder.mkdir(parents=True, exist_ok=True)
    Path(place).write_bytes(image_bytes("PNG"))
    with pytest.raises(RowError) as caught:
        ImageLoader.within([tmp_path / "a/b"]).of_reference(name, 1)
    shown = caught.value.message.partition("--image-root")
    assert (shown[1] + shown[2] or None) == said


def test_many_missing_images_of_one_folder_are_looked_for_once(tmp_path, monkeypatch) -> None:
    (tmp_path / "in").mkdir()
    listed = []
    monkeypatch.setattr(other_root, "_list_subfolders", lambda root: listed.append(root) or ())
    images = ImageLoader.within([tmp_path / "in"])
    for number in range(50):
        assert code_of(images.of_reference, f"{number}.png", 1) == "image.missing"
    assert len(listed) == 1
