"""What the page on bad input claims, word for word, each with a file that shows it."""

import gzip
import json
from datetime import date
from decimal import Decimal

import pyarrow as pa

from mmconvert.core.rows import MOST_ROW_BYTES
from mmconvert.core.text.json import MOST_VALUES
from mmconvert.core.validation import MOST_TEXT_BYTES
from mmconvert.io.tables import MOST_COLUMNS
from mmconvert.io.xlsx import MAX_COLUMNS
from support.encrypted import write_encrypted
from support.policy_files import (
    BASE64,
    CHOICE,
    CUT,
    DATA,
    DATE,
    DATES,
    ERROR,
    FORMULA,
    HEADER,
    LATIN,
    LOGGED,
    LYING,
    MIXED,
    PREDICTED,
    QUESTION,
    RED,
    Proof,
    bomb,
    book,
    cells,
    flipped,
    inline,
    large_png,
    lines,
    lmu,
    options,
    parquet,
    png,
    reform,
    row_with,
    show_images,
    vmcq,
)
from support.policy_videos import VIDEO_PROOFS
from support.records import KINDS, image_bytes
from support.workbooks import sheet, text_row, write_workbook

PROOFS = {
    "P1": [
        vmcq(LATIN, quote="UTF-8, strictly (`text.encoding`)", refused={1: "text.encoding"}),
        Proof("A byte order mark at the start is ignored", {"a.jsonl": b"\xef\xbb\xbf" + lines(CHOICE)}, "vmcq"),
        *[
            Proof(
                "UTF-16, gzip, zip and other formats are reported by name", {"a.jsonl": data}, "vmcq", None, says=name
            )
            for data, name in [
                ("\ufeff{}".encode("utf-16-le"), "UTF-16"),
                (gzip.compress(b"{}"), "gzip"),
                (b"PK\x03\x04", "zip"),
                (b"PAR1", "parquet"),
            ]
        ],
        Proof(
            "a table in UTF-16 with its mark, as Excel saves it, is read",
            {"a.tsv": 'question\toptions\nü\t["a","b"]\n'.encode("utf-16")},
            "vmcq",
            rows=[{"question": "ü"}],
        ),
        Proof(
            "Other encodings are not guessed: the message names the byte and what it is in Windows-1252",
            {"a.tsv": b'question\xe9\toptions\nq\t["a","b"]\n'},
            "vmcq",
            None,
            says="byte 9 is 0xE9, which is not UTF-8 ('é' in Windows-1252)",
        ),
        Proof(
            "Lines end with LF or CRLF, and with nothing else that Unicode calls a line end",
            {
                "a.jsonl": json.dumps({**QUESTION, "question": "a\u2028b\u0085c"}, ensure_ascii=False).encode()
                + b"\r\n"
                + lines(QUESTION)
            },
            "vmcq",
            rows=[{"question": "a\u2028b\u0085c"}, {"question": "q"}],
        ),
    ],
    "P2": [
        vmcq(
            b'{"a": NaN}',
            b'{"a": -Infinity}',
            quote="no `NaN` or `Infinity` (`json.constant`)",
            refused={1: "json.constant", 2: "json.constant"},
        ),
        vmcq(
            b'{"a": 1, "a": 2}',
            quote="no key twice in an object (`json.duplicate_key`)",
            refused={1: "json.duplicate_key"},
        ),
        vmcq(b'{"a": "\\ud800"}', quote="no lone surrogates (`text.surrogate`)", refused={1: "text.surrogate"}),
        vmcq(b'{"a": "\0"}', quote="no unescaped control characters (`json.syntax`)", refused={1: "json.syntax"}),
        vmcq(
            b'{"a": 1e999}',
            b'{"a": ' + b"9" * 5000 + b"}",
            quote="no numbers that no program can hold (`json.number`)",
            refused={1: "json.number", 2: "json.number"},
        ),
        vmcq(
            b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
            quote="no nesting that no program can read (`json.depth`)",
            refused={1: "json.depth"},
        ),
        Proof(
            "Only MMTrustEval's logs may contain `NaN`, which its runner writes",
            {"a.json": b'{"total_results": {"x:pred_mean": NaN}, "per_sample_results": [' + LOGGED + b"]}"},
            "mmtrust",
        ),
    ],
    "P3": [
        Proof(
            "if the header holds none of it, the tabs, semicolons, commas or bars (`|`) that it holds do",
            {"a.csv": b'question;options\nq, r;["a","b"]\n'},
            "vmcq",
            rows=[{"question": "q, r"}],
        ),
        Proof(
            "a line `sep=;` before it makes the file invalid",
            {"a.csv": b'sep=;\nquestion;options\nq, r;["a","b"]\n'},
            "vmcq",
            None,
            says="a.csv:1: a line 'sep=' is for Excel alone. Delete it.",
        ),
        Proof(
            'A quote opens only at the start of a cell, `""` inside is a quote, tabs and line breaks may stand inside',
            {"a.tsv": b'question\toptions\n5" q\t["a","b"]\n"a ""b""\tc\nd"\t["a","b"]\n'},
            "vmcq",
            rows=[{"question": '5" q'}, {"question": 'a "b"\tc\nd'}],
        ),
        lmu(
            {"question": "q" * 200_000},
            quote="a cell may be as large as a row may be ([P13](#the-rules-of-size))",
        ),
        Proof(
            "A quote that never closes, or not in 64 MiB, makes the file invalid and says where it opened",
            {"a.tsv": b'question\toptions\nq\t["a","b"]\nq\t"x\n'},
            "vmcq",
            None,
            says="a.tsv:3: a quote opens here",
        ),
        Proof("a needed column that is missing", {"a.tsv": b"question\nq\n"}, "vmcq", None, says="options"),
        Proof("one that is repeated", {"a.tsv": b"question\toptions\toptions\n"}, "vmcq", None, says="appears twice"),
        Proof(
            "more than 10,000 of them",
            cells({"question": "q", "options": '["a","b"]', **{f"c{k}": "" for k in range(MOST_COLUMNS - 1)}}),
            "vmcq",
            None,
            says="10,001 columns",
        ),
        Proof(
            "more than 10,000 of them",
            cells({"question": "q", "options": '["a","b"]', **{f"c{k}": "" for k in range(MOST_COLUMNS - 2)}}),
            "vmcq",
        ),
        book(
            header=[*HEADER, *(f"c{k}" for k in range(MAX_COLUMNS - 5))],
            quote="(2,000 in a workbook)",
            refused=None,
            says="more than 2,000 columns",
        ),
        book(header=[*HEADER, *(f"c{k}" for k in range(MAX_COLUMNS - 6))], quote="(2,000 in a workbook)"),
        Proof(
            "A row with another number of cells is invalid (`table.cells`)",
            {"a.tsv": b'question\toptions\nq\t["a","b"]\nq\nq\t["a","b"]\tx\n'},
            "vmcq",
            {1: "table.cells", 2: "table.cells"},
        ),
        lmu(
            {"question": "a\0"},
            {"note": "\x1b[2J"},
            {"question": "\x7f\u0085"},
            quote="one with a NUL or another control character except tab and line ends (`text.control`)",
            refused={1: "text.control", 2: "text.control"},
        ),
        lmu(
            {"note": "kept"},
            quote="Unknown columns are kept in `extra`",
            rows=[{"extra": "{}"}, {"extra": '{"note":"kept"}'}],
        ),
    ],
    "P4": [
        lmu(
            {"A": "None", "B": "N/A", "C": "null", "answer": ""},
            {"A": "NA", "B": "nan", "C": ""},
            quote="Only an empty cell and JSON's `null` are missing",
            rows=[{}, {"options": ["None", "N/A", "null"], "label": None}, {"options": ["NA", "nan"]}],
        ),
        vmcq({"answer": None}, quote="Only an empty cell and JSON's `null` are missing", rows=[{}, {"label": None}]),
        lmu(
            {"A": "None"},
            quote="`None`, `NA`, `N/A`, `null` and `nan` are texts",
            rows=[{}, {"options": ["None", "blue"]}],
        ),
        vmcq(
            {"options": ["None", "a"]}, quote='an option "None" stays an option', rows=[{}, {"options": ["None", "a"]}]
        ),
        lmu(
            {"A": "None", "C": "c"},
            quote="To emulate pandas' losses, for a framework's score, use `--read-as NAME`",
            options=["--read-as", "vlmevalkit"],
            refused={1: "answer.not_an_option"},
        ),
    ],
    "P5": [
        options("['a', 'b']", quote="A list in a cell is JSON, or texts and numbers as Python writes them", refused={}),
        options(
            "[open('x')]",
            "['a'] * 2",
            quote="anything else is invalid (`list.syntax`)",
            refused={1: "list.syntax", 2: "list.syntax"},
        ),
        options("['a', " + "[" * 17 + "]" * 18, quote="too deep (`list.depth`)", refused={1: "list.depth"}),
        options("['a'" + ", 1" * 10_001 + "]", quote="too long (`list.size`)", refused={1: "list.size"}),
        options("['a', 1e999]", quote="holds a number out of range (`list.number`)", refused={1: "list.number"}),
    ],
    "P6": [
        inline(
            DATA + BASE64,
            DATA + BASE64.replace("+", "-").replace("/", "_"),
            DATA + MIXED,
            quote="Base64 of the standard or the URL-safe alphabet, not of both",
            refused={3: "image.base64"},
        ),
        inline(
            DATA + BASE64.rstrip("="),
            DATA + BASE64[:9] + " \n" + BASE64[9:],
            quote="white space is ignored, padding may be absent",
        ),
        inline(
            DATA + BASE64[:9] + "*" + BASE64[9:],
            quote="any other character makes the row invalid (`image.base64`)",
            refused={1: "image.base64"},
        ),
        inline(
            "DATA:IMAGE/PNG;base64," + BASE64,
            "data:text/html;base64," + BASE64,
            quote="`data:` URLs must be of an image (`image.data_url`)",
            refused={2: "image.data_url"},
        ),
        inline(
            "data:image/jpeg;base64," + BASE64,
            quote="The bytes determine the format, whatever a label says",
            rows=[{}, {"formats": ["PNG"]}],
        ),
    ],
    "P7": [
        show_images(
            {f"{kind}.x": image_bytes(kind) for kind in KINDS},
            "PNG, JPEG, GIF, WebP, BMP and TIFF",
            [None] * 6,
            rows=[{}, *({"formats": [kind]} for kind in KINDS)],
        ),
        show_images(
            {"a.svg": b"<svg/>", "a.eps": b"%!PS-Adobe-3.0 EPSF-3.0", "a.pdf": b"%PDF-1.4", "a.txt": b"text"},
            "(`image.format` for all others, SVG, EPS and PDF among them)",
            ["image.format"] * 4,
        ),
        show_images(
            {"fits": large_png((20 << 20) - 95), "over": large_png(20 << 20)}, "of 20 MiB", [None, "image.too_large"]
        ),
        show_images(
            {"fits": png(89_478_485), "over": png(89_478_486)},
            "89,478,485 pixels at most (`image.too_large`",
            [None, "image.too_large"],
        ),
        show_images(
            {"large": png(3, 2, 2000)}, "`--max-image-mb`", ["image.too_large"], options=["--max-image-mb", "0.001"]
        ),
        show_images(
            {"cut": CUT},
            "The structure is walked through to the end marker: a truncated file (`image.truncated`)",
            ["image.truncated"],
        ),
        show_images({"lies": LYING}, "a wrong header (`image.header`) are found", ["image.header"]),
        show_images(
            {"black": png(3, 2)},
            "`--verify decode` also decodes every image (`image.decode`)",
            ["image.decode"],
            options=["--verify", "decode"],
        ),
        show_images({"red": RED}, "Bytes are kept as they are, never re-encoded", [None], rows=[{}, {"bytes": [RED]}]),
    ],
    "P8": [
        vmcq(
            {"image_1": "red.png"},
            {"image_1": DATA + BASE64},
            {"image_1": {"path": "red.png"}},
            {"image_1": {"bytes": BASE64, "path": None}},
            {"image_1": None, "images": ["red.png"]},
            quote="An image is a path, a `data:` URL, a URL, or an object with `bytes` or `path`",
            rows=[{"bytes": [RED]}] * 6,
        ),
        vmcq(
            {"image_1": "../out.png"},
            {"image_1": "link.png"},
            {"image_1": "/etc/hostname"},
            quote="After links are followed, an image must lie inside an image root (`image.path`), also where its "
            "path is absolute",
            refused={1: "image.path", 2: "image.path", 3: "image.path"},
        ),
        vmcq(
            {"image_1": ".\\red.png"},
            {"image_1": BASE64},
            quote="A `file:` URL and a path with `\\` mean the file that they name there, base64 that begins as an "
            "image is one",
            rows=[{"bytes": [RED]}] * 3,
        ),
        vmcq(
            {"image_1": "~/a.png"},
            {"image_1": "C:/a.png"},
            {"image_1": "pipe"},
            quote="No `~`, no drive letters, no devices",
            refused={1: "image.path", 2: "image.path", 3: "image.path"},
        ),
        vmcq(
            {"image_1": "absent.png"}, quote="A file that is not there is `image.missing`", refused={1: "image.missing"}
        ),
        vmcq({"image_1": "http://127.0.0.1:9/a.png"}, quote="(`image.remote`)", refused={1: "image.remote"}),
        vmcq(
            {"image_1": "http://127.0.0.1:9/a.png"},
            quote="kept only with `--keep-urls`",
            options=["--keep-urls"],
            rows=[{}, {"urls": ["http://127.0.0.1:9/a.png"]}],
        ),
    ],
    "P10": [
        vmcq(
            {"options": list("ab")},
            {"options": list("abcdefghijklmnopqrstuvwxyz")},
            {"options": ["a"]},
            {"options": ["a"] * 27},
            quote="2 to 26 of them (`options.count`)",
            refused={3: "options.count", 4: "options.count"},
        ),
        lmu({"B": ""}, quote="2 to 26 of them (`options.count`)", refused={1: "options.count"}),
        vmcq(
            {"options": list("abcdefghijklmnopqrstuvwxyz"), "answer": "Z"},
            quote="letters A to Z",
            rows=[{}, {"answer": "Z"}],
        ),
        vmcq(
            {"answer": "C"},
            quote="The answer is one of the letters that are there (`answer.not_an_option`)",
            refused={1: "answer.not_an_option"},
        ),
        Proof(
            "several where the source says so",
            {"a.jsonl": lines({"id": "a", "prediction": "A", "options": ["x", "y"], "answers": ["A", "B"]})},
            "predictions",
            rows=[{"answers": ["A", "B"]}],
        ),
        vmcq(
            *({"options": ["red", "blue"], "answer": said} for said in ("(B)", "B.", "B) blue", "blue")),
            quote="In plain tables and EvalScope's rows `(B)`, `B.` and `B) text` name the letter",
            rows=[{}, *[{"answer": "B"}] * 3],
            refused={4: "answer.not_an_option"},
        ),
        Proof(
            "in plain tables the exact text of one option too",
            {"a.jsonl": lines({"question": "?", "options": ["red", "blue"], "answer": "blue"})},
            "table",
            rows=[{"answer": "B"}],
        ),
        lmu({"answer": "(B)"}, quote="in other formats the letter alone does", refused={1: "answer.not_an_option"}),
        vmcq(
            {"answer": "1"},
            {"answer": 1},
            {"options": ["1", "0"], "answer": "1"},
            quote="A number that is no option's text is invalid, for it may count from 0 or from 1",
            refused={1: "answer.not_an_option", 2: "answer.not_an_option"},
        ),
        vmcq({"answer": None}, quote="No answer at all means unlabelled", rows=[{}, {"answer": None, "label": None}]),
        vmcq(
            {"question": "<image 2>"},
            quote="Every placeholder has its image (`placeholder.no_image`",
            refused={1: "placeholder.no_image"},
        ),
        Proof(
            "`placeholder.count`",
            {
                "a.jsonl": lines(
                    *(
                        {
                            "messages": [
                                {"role": "user", "content": "<image>" * count},
                                {"role": "assistant", "content": "x"},
                            ],
                            "images": ["red.png"],
                        }
                        for count in (1, 2)
                    )
                )
            },
            "ms_swift",
            {1: "placeholder.count"},
        ),
        reform(
            {"answer_options": list("ab") * 15, "answer": 28},
            quote="`convert` skips it, as letters end with Z",
            refused={1: "options.count"},
        ),
    ],
    "P11": [
        vmcq(
            {"id": " a "},
            {"id": "00012"},
            quote="Text, trimmed; `00012` stays `00012`",
            rows=[{}, {"id": "a"}, {"id": "00012"}],
        ),
        book(
            row_with("<c><v>12.0</v></c>", 0),
            quote="a spreadsheet's `12.0` becomes `12`",
            rows=[{"id": "0"}, {"id": "12"}],
        ),
        lmu(
            {"index": "0"},
            quote="A repeated id makes the second row invalid (`id.duplicate`)",
            refused={1: "id.duplicate"},
        ),
        reform({"sample_id": "0"}, {"sample_id": "b"}, {"sample_id": "b"}, quote="except for copies of one question"),
        reform(
            {"sample_id": "0"},
            {"sample_id": "b"},
            {"sample_id": "b"},
            {"sample_id": "c"},
            quote="those must be equally many",
            refused={4: "sample.copies"},
        ),
        lmu({"index": " "}, quote="no id at all is `id.missing`", refused={1: "id.missing"}),
        vmcq(
            {"id": "a"},
            {"id": 12.0},
            quote="A number with a decimal point is no id in JSON and parquet (`id.type`)",
            refused={2: "id.type"},
        ),
        parquet(
            "A number with a decimal point is no id in JSON and parquet (`id.type`)",
            pa.table({"id": [1.0, None], "prediction": ["x", "y"]}),
            refused=None,
            says="Int64",
        ),
        parquet(
            "12.0 would not be the 12 of another file",
            pa.table({"id": [12, 13], "prediction": ["x", "y"]}),
            rows=[{"id": "12"}, {"id": "13"}],
        ),
        book(
            row_with("<c><v>2.5</v></c>", 0),
            row_with("<c><v>9007199254740992</v></c>", 0),
            row_with("<c><v>9007199254740991</v></c>", 0),
            quote="In a workbook one with a fraction is none, nor one from 2^53 on, which spreadsheets round "
            "(`id.number`)",
            refused={1: "id.number", 2: "id.number"},
        ),
        reform(
            {"answer": 1.0, "round_id": 1.0},
            {"answer": 0.5},
            quote="For the index of an option or a round, JSON's `1.0` is 1",
            refused={2: "answer.type"},
            rows=[{}, {"answer": "B", "round": 1}],
        ),
    ],
    "P12": [
        book(
            row_with(FORMULA, 4),
            row_with(ERROR, 4),
            row_with(DATE, 4),
            parts=DATES,
            quote="In workbooks nothing is computed: a formula, an error or a date in a column that is "
            "used makes the row invalid (`cell.formula`, `cell.error`, `cell.date`)",
            refused={1: "cell.formula", 2: "cell.error", 3: "cell.date"},
        ),
        book(
            row_with(FORMULA, 5),
            row_with(ERROR, 5).replace(">1<", ">2<"),
            row_with(DATE, 5).replace(">1<", ">3<"),
            parts=DATES,
            quote="in another column its text is kept",
            rows=[
                {},
                {"extra": '{"note":"=1+1"}'},
                {"extra": '{"note":"#N/A"}'},
                {"extra": '{"note":"2023-01-02T00:00:00"}'},
            ],
        ),
        Proof(
            "The first sheet is read, others are named in a warning",
            {
                "a.xlsx": lambda path: write_workbook(
                    path,
                    sheet(text_row(*HEADER), text_row("0", "q", "a", "b", "A")),
                    names="One,Two",
                    parts={"xl/worksheets/sheet2.xml": sheet()},
                )
            },
            "mmbench",
            says="'Two'",
        ),
        Proof("What the archive would unpack to is checked before it is unpacked", {"a.xlsx": bomb}, "mmbench", None),
        Proof("Parquet is read with its checksums", {"a.parquet": flipped}, "predictions", None, says="damaged"),
        Proof(
            "and invalid if it is encrypted",
            {"a.parquet": lambda path: write_encrypted(path, pa.table(PREDICTED), plain_footer=True)},
            "predictions",
            None,
            says="is encrypted and is not read. Write it again without encryption.",
        ),
        parquet(
            "dates, times, decimals and bytes that nobody asks for become text in `extra`",
            pa.table(
                {**PREDICTED, "at": [date(2026, 1, 2), None], "of": [Decimal("1.50"), None], "raw": [b"hi", None]}
            ),
            rows=[{"extra": '{"at":"2026-01-02","of":"1.50","raw":"aGk="}'}, {"extra": "{}"}],
        ),
        vmcq(
            {},
            {},
            quote="more rows than `--max-rows` make the file invalid",
            refused=None,
            options=["--max-rows", "2"],
            says="more than 2 rows",
        ),
        Proof(
            "A file without rows is invalid unless `--allow-empty` is given",
            {"a.tsv": b"question\toptions\n"},
            "vmcq",
            None,
            says="no rows",
        ),
        Proof(
            "A file without rows is invalid unless `--allow-empty` is given",
            {"a.tsv": b"question\toptions\n"},
            "vmcq",
            options=["--allow-empty"],
            rows=[],
        ),
    ],
    "P13": [
        vmcq(
            {"note": "q" * MOST_ROW_BYTES},
            quote="A row may hold 64 MiB, base64 images included: a larger line of JSON Lines or row of "
            "parquet is invalid (`row.too_large`)",
            refused={1: "row.too_large"},
        ),
        lmu(
            {"question": "q" * MOST_ROW_BYTES},
            quote="a larger row of a table or element of a JSON array makes the file invalid",
            refused=None,
            says="64 MiB",
        ),
        vmcq(
            {"question": "<image 1> " + "q" * MOST_TEXT_BYTES},
            quote="The texts of a sample may take 32 MiB (`text.too_large`)",
            refused={1: "text.too_large"},
        ),
        vmcq(
            {"note": [1000] * (MOST_VALUES + 1)},
            quote="one JSON value may hold 1,000,000 values (`json.size`)",
            refused={1: "json.size"},
        ),
    ],
    "P14": VIDEO_PROOFS,
}
