"""The schema of `--json-schema`: what the server has to hold its responses to."""

import re
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, UsageError, show, take_first_line
from mmconvert.core.text.json import parse_json

_UNFIT = re.compile("[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def read_response_format(path: Path) -> dict[str, Any]:
    """Read a JSON schema as the field `response_format` of a request.

    Args:
        path: File with a JSON schema, or with OpenAI's object of `name`, `schema` and `strict`.

    Raises:
        UsageError: The file cannot be read, or is no object of JSON.
    """
    try:
        found = parse_json(path.read_text(encoding="utf-8-sig"))
    except RowError as error:
        raise UsageError(f"--json-schema {path}: is not JSON. {error.message}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"--json-schema {path}: cannot be read ({take_first_line(error)}).") from None
    if not isinstance(found, dict) or not found:
        raise UsageError(f'--json-schema {path}: expected a schema such as {{"type": "object", ...}} {show(found)}.')
    if isinstance(found.get("schema"), dict):
        named = {"name": _build_name(path), **found}
    else:
        named = {"name": _build_name(path), "schema": found, "strict": True}
    return {"type": "json_schema", "json_schema": named}


def _build_name(path: Path) -> str:
    """Name the schema by its file, in the letters that the protocol takes."""
    return _UNFIT.sub("_", path.stem)[:_LONGEST_NAME] or "response"
