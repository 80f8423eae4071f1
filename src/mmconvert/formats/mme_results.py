"""MME's folders of texts, one a category, each line `image<TAB>question<TAB>answer` and, in results, the response.

Tabs alone separate, a quote is a character like any other. Two lines in a row ask about one image; they
share a `group`, by which MME scores them together. Source: BradyFU/Awesome-Multimodal-Large-Language-Models,
branch Evaluation, eval_tool/calculation.py and the LaVIN folder beside it.

Kept: the image's name in `extra.image`.
Refused: lines with another number of cells than the first one, three or four (`table.cells`), an answer that is not Yes
or No (`answer.type`).
Lost: nothing; the files hold no images.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span, Where, build_encoding_error
from mmconvert.io.json_lines import refuse_other_magic
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.storage.folders import require_inside
from mmconvert.storage.source_files import open_source

DATASET = "MME"
FIELDS = ("image", "question", "answer", "response")
ANSWERS = ("yes", "no")
_CELLS = (3, 4)
"""Cells of a line: without and with a response."""

_SUFFIX = ".txt"
_KIND = "tab-separated text"
_BOM = b"\xef\xbb\xbf"
_HEAD = 1 << 16


def _list_files(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    files = _list_files(path)
    if not files:
        raise Error(f"{path}: holds no {_SUFFIX} file. Give the folder with one file a category.")
    for file in require_inside(path, files) if path.is_dir() else files:
        yield from _read_lines(file)


def _read_lines(path: Path) -> Iterator[Row | Rejected]:
    number = count = 0
    with open_source(path) as file:
        refuse_other_magic(file.read(4), path, _KIND)
        file.seek(0)
        for line, raw in enumerate(file, 1):
            raw = (raw.removeprefix(_BOM) if line == 1 else raw).removesuffix(b"\n").removesuffix(b"\r")
            if not raw:
                continue
            where = Where(path.name, number, line)
            number += 1
            count = count or (raw.count(b"\t") + 1)
            try:
                yield Row(_read_cells(raw, count), where)
            except RowError as error:
                yield Rejected.of(error, where)


def _read_cells(raw: bytes, count: int) -> dict[str, str]:
    try:
        cells = raw.decode().split("\t")
    except UnicodeDecodeError as error:
        raise build_encoding_error(error) from None
    if len(cells) != count or count not in _CELLS:
        expected = count if count in _CELLS else " or ".join(map(str, _CELLS))
        message = f"expected {expected} cells, found {len(cells)}. Take stray tabs out of the response."
        raise RowError("table.cells", "", message)
    return dict(zip(FIELDS, cells, strict=False))


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    image, question, answer = (str(row.fields[name]) for name in FIELDS[:3])
    if answer.strip().lower() not in ANSWERS:
        raise RowError("answer.type", "answer", f"expected Yes or No {show(answer)}.")
    category = row.where.stem
    key = f"{category}-{row.where.row:09d}"
    context.numbers.add(key)
    yield Record(
        id=key,
        sample=key,
        group=f"{category}/{image}",
        messages=(Turn("user", (Part("text", question),)),),
        task=context.task or "yes_no",
        source=context.source(row),
        question=question,
        answer=answer,
        answers=(answer,),
        label=encode_json(answer),
        category=category,
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra={"image": image},
        prediction=row.fields.get("response"),
    )


def _find_mismatch(sample: Sample) -> str | None:
    if not (sample.path.is_dir() or sample.suffix == _SUFFIX):
        return "no text file"
    files = _list_files(sample.path)
    if not files:
        return f"no folder with {_SUFFIX} files in it"
    for file in files:
        with open_source(file) as lines:
            head = lines.readline(_HEAD)
        if not sample.path.is_dir():
            refuse_other_magic(head, file, _KIND)
        first = head.removeprefix(_BOM).split(b"\t")
        if len(first) not in _CELLS or first[2].strip().lower().decode(errors="replace") not in ANSWERS:
            other = "" if sample.path.is_dir() else ". Rename a table with a header to end in .tsv"
            return f"{file.name} has no lines of image, question, yes or no, and perhaps a response{other}"
    return None


FORMAT = Format(
    summary="MME folder of questions or results, one tab-separated text a category",
    suffixes=("", _SUFFIX),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    files=_list_files,
)
