"""The name that a framework's convention gives a file, detected by the first record that goes into it."""

import re
from typing import Any

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Record
from mmconvert.plugins.format import Format

# What cannot stand in a file's name on every system, and what would lead into another folder. Source: "Naming Files,
# Paths, and Namespaces" of the Windows documentation.
_UNFIT = re.compile(r'[\x00-\x1f<>:"/\\|?*]|^\.+|[. ]+$')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]) *(\.|$)", re.IGNORECASE)


def propose_file_name(plugin: Format, name: str, record: Record) -> str:
    """Name a file as the format's convention has it.

    Args:
        plugin: The format.
        name: Its name, for messages.
        record: The first record of the file.

    Returns:
        A bare name with its ending.

    Raises:
        UsageError: The format has no convention, or the record does not say what the name needs.
    """
    if plugin.file_name is None:
        raise UsageError(f"format {name!r} has no file name by convention. Name the file.")
    return make_portable_name(plugin.file_name(record))


def make_portable_name(name: str) -> str:
    """Make a text a file's name on every system: an underscore stands for what cannot be in one.

    Windows takes some names for devices, whatever follows their first dot, and drops dots and spaces at the end.

    Example:
        >>> make_portable_name("a/b: c?.tsv"), make_portable_name("../x"), make_portable_name("aux.tsv")
        ('a_b_ c_.tsv', '__x', '_aux.tsv')
        >>> make_portable_name("Quiz. "), make_portable_name("console.tsv")
        ('Quiz_', 'console.tsv')
    """
    name = _UNFIT.sub("_", name)
    return f"_{name}" if _DEVICE.match(name) else name


def require_text(value: Any, what: str) -> str:
    """Give a fact that a file's name needs.

    Raises:
        UsageError: The record does not say it.

    Example:
        >>> require_text("MME", "dataset")
        'MME'
    """
    if not isinstance(value, str) or not value:
        raise UsageError(f"the conventional name needs the {what}, which the first row does not have. Name the file.")
    return value


def read_model_name(record: Record) -> str:
    """Give the model that made a record's prediction; of a path or Hub name only the last part counts.

    Raises:
        UsageError: The record does not say it.

    Example:
        >>> from mmconvert.core.record import Source
        >>> read_model_name(Record("1", "1", (), "vqa", Source("f", "f", 0), extra={"model": "Qwen/Qwen2.5-VL-7B"}))
        'Qwen2.5-VL-7B'
    """
    return require_text(record.extra.get("model"), "model").rstrip("/").rpartition("/")[2]
