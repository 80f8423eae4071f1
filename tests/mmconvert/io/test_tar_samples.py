"""Samples of a tar file: grouped by their names, never unpacked, bounded, damage told."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row
from mmconvert.io.tar_samples import FILES, KEY, TarWriter, rows


def pack(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo, format: int = tarfile.USTAR_FORMAT) -> Path:
    with tarfile.open(path, "w", format=format) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member, io.BytesIO(b"\0" * member.size))
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def link(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def found(path: Path) -> list[tuple[str, dict[str, bytes]]]:
    return [(row.fields[KEY], row.fields[FILES]) for row in rows(path) if isinstance(row, Row)]


def test_files_that_share_a_name_up_to_the_first_dot_are_a_sample(tmp_path: Path) -> None:
    path = pack(
        tmp_path / "a.tar", ("x/1.0.jpg", b"a"), ("x/1.json", b"{}"), link("x", tarfile.DIRTYPE), ("2.json", b"")
    )
    assert found(path) == [("x/1", {"0.jpg": b"a", "json": b"{}"}), ("2", {"json": b""})]


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_are_whole_in_every_dialect(format: int, tmp_path: Path) -> None:
    name = f"{'f' * 90}/{'g' * 60}" if format == tarfile.USTAR_FORMAT else f"\u00e4{'f' * 200}"
    assert found(pack(tmp_path / "a.tar", (f"{name}.json", b"1"), format=format)) == [(name, {"json": b"1"})]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S"]
)
def test_what_is_no_plain_file_refuses_its_sample_alone(kind: bytes, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", ("1.json", b"{}"), link("1.0.jpg", kind), ("2.json", b"{}"))
    first, second = rows(path)
    assert isinstance(first, Rejected)
    assert (first.code, first.field, first.id) == ("archive.member", "0.jpg", "1")
    assert isinstance(second, Row)
    assert second.fields[KEY] == "2"


def test_names_that_lead_elsewhere_are_keys_and_nothing_is_unpacked(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", ("../../evil.json", b"{}"), ("/etc/x.json", b"{}"))
    assert [key for key, _ in found(path)] == ["../../evil", "/etc/x"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.tar"]


def test_a_file_that_stands_twice_refuses_the_sample(tmp_path: Path) -> None:
    (row,) = rows(pack(tmp_path / "a.tar", ("1.json", b"{}"), ("1.json", b"{}")))
    assert isinstance(row, Rejected)
    assert row.code == "archive.twice"


def test_a_sample_of_too_many_bytes_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    large = tarfile.TarInfo("1.0.png")
    large.size = MOST_ROW_BYTES + 1
    with path.open("wb") as file:
        file.write(large.tobuf(tarfile.USTAR_FORMAT))
        file.seek(large.size + -large.size % 512, 1)
        after = tarfile.TarInfo("2.json")
        file.write(after.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    first, second = rows(path)
    assert isinstance(first, Rejected)
    assert first.code == "row.too_large"
    assert isinstance(second, Row)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the archive is empty"),
        (bytes(10240), "the archive is empty"),
        (b"\x1f\x8b" + bytes(600), "is not a tar archive, or a compressed one"),
        (b"x" * 2000, "is not a tar archive"),
    ],
)
def test_what_is_no_archive_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(Error, match=message):
        list(rows(tmp_path / "a.tar"))


def test_a_cut_archive_is_damaged(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", ("1.json", b"{}" * 500), ("2.json", b"{}" * 500))
    path.write_bytes(path.read_bytes()[:2200])
    with pytest.raises(Error, match=r"a\.tar: the archive is damaged at byte 2,048 \(the file ends"):
        list(rows(path))


def test_attributes_are_bounded(tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(Error, match="bytes of attributes"):
        list(rows(tmp_path / "a.tar"))


@given(
    samples=st.lists(
        st.dictionaries(st.from_regex(r"[a-z0-9.]{1,20}", fullmatch=True), st.binary(max_size=600), min_size=1)
    )
)
def test_what_is_written_reads_back_and_the_bytes_are_the_same(tmp_path_factory, samples) -> None:
    folder = tmp_path_factory.mktemp("tar")
    for name in ("a.tar", "b.tar"):
        writer = TarWriter(folder / name)
        for number, files in enumerate(samples):
            size = writer.estimate_size(files)
            writer.add(f"{number:09d}", files.items())
        writer.close()
    assert (folder / "a.tar").read_bytes() == (folder / "b.tar").read_bytes()
    if samples:
        assert found(folder / "a.tar") == [(f"{number:09d}", files) for number, files in enumerate(samples)]
        assert (folder / "a.tar").stat().st_size <= size + tarfile.RECORDSIZE
        with tarfile.open(folder / "a.tar") as archive:
            assert {(m.uid, m.gid, m.mtime, m.uname, m.isreg()) for m in archive} == {(0, 0, 0, "", True)}
