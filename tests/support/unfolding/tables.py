"""Tables of text: long cells, long lines, very many of them."""

from pathlib import Path

from support.unfolding.files import fill, save, writes

LMU = b"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tred\tblue\tA\t"


@writes
def write_tsv_cell(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction\tanswer\n1\t", fill(b"word ", size), b"\tA\n")


@writes
def write_tsv_quoted_cell(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b'id\tprediction\tanswer\n1\t"', fill(b'word "" \n', size // 9 * 9), b'"\tA\n')


@writes
def write_tsv_id(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction\tanswer\n", fill(b"7", size), b"\tA\tA\n")


@writes
def write_tsv_image(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", LMU, fill(b"AAAA", size), b"\n")


@writes
def write_tsv_image_no_base64(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", LMU, fill(b"AA A", size), b"!\n")


@writes
def write_tsv_options(folder: Path, size: int) -> Path:
    head = b"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tred\t"
    return save(folder, "a.tsv", head, fill(b"'a', ", size), b"\tA\tiVBO\n")


@writes
def write_tsv_literal(folder: Path, size: int) -> Path:
    head = b"id\tquestion\toptions\tprediction\tanswer\n1\tWhich?\t["
    return save(folder, "a.tsv", head, fill(b"'a', ", size // 5 * 5), b"'b']\tA\tA\n")


@writes
def write_tsv_nuls(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", fill(b"\0", size))


@writes
def write_tsv_nuls_behind(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction\tanswer\n", fill(b"\0", size))


@writes
def write_tsv_one_line(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", fill(b"word ", size))


@writes
def write_tsv_tabs(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction\tanswer\n", fill(b"\t", size), b"\n")


@writes
def write_tsv_header_tabs(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction", fill(b"\t", size), b"\n1\tA\n")


@writes
def write_tsv_open_quote(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b'id\tprediction\tanswer\n1\t"', fill(b"word\n", size))


@writes
def write_tsv_short_rows(folder: Path, size: int) -> Path:
    return save(folder, "a.tsv", b"id\tprediction\tanswer\n", fill(b"x\n", size))


@writes
def write_csv_cell(folder: Path, size: int) -> Path:
    return save(folder, "a.csv", b"id,prediction,answer\n1,", fill(b"word ", size), b",A\n")
