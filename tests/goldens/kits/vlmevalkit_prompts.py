"""Golden rule of VLMEvalKit's dataset classes: rows kept, messages, and the pictures that the kit writes."""

import io

from PIL import Image

from mmconvert.core.errors import Error, RowError
from mmconvert.images.loader import decode_base64
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.kits.vlmevalkit.images import keep_rows_with_images, list_image_files, list_image_paths
from mmconvert.prompts.vlmevalkit import build_messages

TEXT_ONLY = "TextMCQDataset"
FORMATS = {"png": "PNG", "jpg": "JPEG", "jpeg": "JPEG"}


def _prompt(given):
    table = read_cells({name: [row[n] for row in given["rows"]] for n, name in enumerate(given["columns"])})
    rows = keep_rows_with_images([dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)])
    files = {}
    built = [_row(given, row, files) for row in rows]
    return {
        "index": [row["index"] for row in rows],
        "messages": built,
        "files": sorted([name, *facts] for name, facts in files.items()),
    }


def _row(given, row, files):
    root = f"$IMGROOT/{given['dataset']}"
    try:
        if given["cls"] == TEXT_ONLY:
            pictures = []
        elif "image" not in row:
            pictures = list_image_paths(row)
        else:
            named = list_image_files(row)
            for name, text in named:
                path = f"{root}/{name}"
                if path not in files:
                    files[path] = _written(name, text)
            pictures = [f"{root}/{name}" for name, _ in named]
        return build_messages(given["cls"], given["dataset"], row, pictures)
    except Error as error:
        return {"error": type(error).__name__}


def _written(name, text):
    """Encode a picture again, as the kit does and the product never does, to see what would lie in its file."""
    kind, file = FORMATS[name.rpartition(".")[2].lower()], io.BytesIO()
    try:
        picture = Image.open(io.BytesIO(decode_base64(text)))
        picture = picture.convert("RGB") if picture.mode in ("RGBA", "P", "LA") else picture
        picture.save(file, kind)
    except OSError as error:
        raise RowError("image.format", "image", str(error)) from None
    written = Image.open(file)
    return [kind, written.mode, *written.size]


RULES = {("vlmeval_prompt", "prompt"): _prompt}
