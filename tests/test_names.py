"""The words of names: the field's, one thing a class name, read off the source with nothing but `ast`."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sources import PATHS, SRC, walk_source

pytestmark = pytest.mark.static

FILES = {path.relative_to(SRC): path for path in PATHS}

PRIVATE_WORDS = re.compile(
    "told|reply|replies|pictured?|pictures|dialogs?|dialogue|(re)?wordings?|reworded|unheld|wishes|mended|settled|"
    "holding|living|stands|followed|company|remedy|fate|strangers?"
)
"""Words that a reader would not search for; the field says response, image, conversation, prompt, error, exists ..."""

KEPT = {
    "Reply": "what a protocol of conversations is handed",
    "Wording": "what a prompt returns",
    "_AsItStands": "a file is compiled as it stands",
    "pictures": "`images` of a context, under the name that plug-ins know from before the first release",
    "settled": "a recipe settles rows: the word of `Recipe.settle`",
    "stands": "a share of several processes stands until the dataset is there",
}
"""Names that stay, and why."""


def _is_mirror(path: Path) -> bool:
    """A compatibility layer has the names of its framework."""
    return path.parts[1:2] == ("compat",)


def _definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in walk_source(FILES[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def _is_private(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return any(PRIVATE_WORDS.fullmatch(word.lower()) for word in words)


def test_names_use_the_words_of_the_field() -> None:
    for path in FILES:
        if not _is_mirror(path):
            found = {node.name for node in _definitions(path) if _is_private(node.name)}
            assert not _is_private(path.stem), path
            assert found <= KEPT.keys(), path


def test_no_name_is_kept_that_is_gone() -> None:
    names = {node.name for path in FILES if not _is_mirror(path) for node in _definitions(path)}
    assert names >= KEPT.keys()


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
def test_a_class_name_means_one_thing_in_a_package(package: str) -> None:
    places = defaultdict(list)
    for path in FILES:
        if path.parts[0] == package and not _is_mirror(path):
            for node in _definitions(path):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
