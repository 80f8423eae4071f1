"""Mutants of source files: one small change each, made by the operators of mutmut and drawn by a seed."""

import ast
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import libcst as cst
import msgspec
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal

ROOMS = ("mmscore/parsers", "mmscore/metrics", "mmscore/scoring", "mmscore/infer", "mmscore/llm", "mmconvert/storage")
"""Folders below `src` whose code is mutated, and below `tests` whose tests have to notice."""
TYPES_ALONE = {"isinstance", "issubclass", "len", "cast", "TypeVar", "NewType"}
"""Functions whose arguments stay: a type in the place of another one, or none, is seen by mypy or by the first call."""

SPEAKERS = {
    "failed", "Fault", "NoVerdict", "Refusal", "_refuse", "warn", "print_message", "_announce", "leave_out",
    "MetricInfo", "Protocol",
}  # fmt: skip
"""Calls beside errors whose sentences are read by people alone."""


class Change(msgspec.Struct, frozen=True):
    """What a mutant is, which stays the same where other lines of the file change.

    Attributes:
        file: Path in the repository.
        function: Name with its class, as in `Class.method`; "" outside of functions.
        before: The changed lines, without indentation.
        after: What stands in their place.
        number: Counts equal changes of one function, from 0.
    """

    file: str
    function: str
    before: str
    after: str
    number: int = 0

    @property
    def room(self) -> str:
        """The room of the file, one of ROOMS."""
        return "/".join(self.file.split("/")[1:3])


class Mutant(msgspec.Struct, frozen=True):
    """A change and its file.

    Attributes:
        change: What names it.
        line: First changed line, from 1.
        code: The file with the change.
    """

    change: Change
    line: int
    code: str


def list_files(root: Path) -> list[Path]:
    """List the files that are mutated."""
    return sorted(file for room in ROOMS for file in (root / "src" / room).rglob("*.py"))


def draw_mutants(root: Path, count: int, seed: str) -> Iterator[Mutant]:
    """Draw mutants of all files, each as likely as another one, in the order of a hash.

    The same seed and code give the same ones, and where a function changes, those of the others stay.

    Args:
        root: Repository.
        count: How many, at most.
        seed: For a release its version.
    """
    places = []
    for file in (MutatedFile(root, path) for path in list_files(root)):
        numbers: Counter[str] = Counter()
        for number, one in enumerate(file.found):
            name = f"{seed} {file.name} {one.function} {numbers[one.function]}"
            places.append((hashlib.sha256(name.encode()).digest(), file, number))
            numbers[one.function] += 1
    made = (mutant for _, file, number in sorted(places, key=itemgetter(0)) if (mutant := file.build(number)))
    yield from itertools.islice(made, count)


class MutatedFile:
    """A source file and all its mutants."""

    def __init__(self, root: Path, file: Path) -> None:
        self.name = file.relative_to(root).as_posix()
        self.code = file.read_text("utf-8")
        self._parsed = ast.dump(ast.parse(self.code))
        self._lines = self.code.splitlines()
        collector = _Collector()
        self._module = MetadataWrapper(cst.parse_module(self.code), unsafe_skip_copy=True).visit(collector)
        self._starts = [0, *itertools.accumulate(len(line) for line in self.code.splitlines(keepends=True))]
        self.found = collector.found

    def build(self, number: int) -> Mutant | None:
        """Make a mutant; None where Python would not compile it, would see no difference, or it was made before."""
        one = self.found[number]
        code = self._write(one)
        if code is None:
            return None
        line, before, after = _compare_lines(self.code, code)
        same = 0
        for earlier in self.found[:number]:
            if (earlier.function, self._lines[earlier.line - 1]) == (one.function, self._lines[one.line - 1]):
                other = self._splice(earlier)
                if other == code:
                    return None
                same += _compare_lines(self.code, other)[1:] == (before, after)
        return Mutant(Change(self.name, one.function, before, after, same), line, code)

    def _write(self, one: "_Found") -> str | None:
        code = self._splice(one)
        try:
            compile(code, self.name, "exec", dont_inherit=True)
        except SyntaxError:
            return None
        return code if ast.dump(ast.parse(code)) != self._parsed else None

    def _splice(self, one: "_Found") -> str:
        """Write the file with the changed node in its place: within one line its text is put there, which is quick."""
        if one.place.start.line != one.place.end.line:
            return self._module.deep_replace(one.node, one.mutated).code
        start, end = (self._starts[at.line - 1] + at.column for at in (one.place.start, one.place.end))
        return self.code[:start] + self._module.code_for_node(one.mutated) + self.code[end:]


class _Found(msgspec.Struct):
    function: str
    line: int
    place: CodeRange
    node: cst.CSTNode
    mutated: cst.CSTNode


class _Collector(cst.CSTVisitor):
    """Finds what can be changed, without what tests need not notice (docs/how_exact.md has the rules)."""

    METADATA_DEPENDENCIES = (PositionProvider, WhitespaceInclusivePositionProvider)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Found] = []
        self._names: list[str] = []
        self._messages = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _stays(node) or (self._messages and _is_wording(node)):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.append(node.name.value)
        self._messages += _is_message(node)
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                line = self.get_metadata(PositionProvider, node).start.line
                place = self.get_metadata(WhitespaceInclusivePositionProvider, node)
                for mutated in operator(node):
                    if operator is not operator_arg_removal or not self._loses_what_stays(node, mutated):
                        self.found.append(_Found(".".join(self._names), line, place, node, mutated))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._names.pop()
        self._messages -= _is_message(original_node)

    def _loses_what_stays(self, call: cst.Call, mutated: cst.Call) -> bool:
        kept = {id(argument) for argument in mutated.args}
        lost = [argument for argument in call.args if id(argument) not in kept]
        return any(_stays(one) or _stays(one.value) or (self._messages and _is_wording(one.value)) for one in lost)


def _is_message(node: cst.CSTNode) -> bool:
    """Tell whether the texts inside a node are for people: what is raised, and calls that say what went wrong."""
    match node:
        case cst.Raise():
            return True
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return name in SPEAKERS or name.endswith("Error")
    return False


def _stays(node: cst.CSTNode) -> bool:
    """Tell whether a node is left as it is: annotations, decorators, imports for types, types as arguments.

    So is what a test on Linux cannot tell: `strict` of a zip whose sides are always equally long, and UTF-8.
    """
    match node:
        case cst.Annotation() | cst.Decorator() | cst.TypeAlias() | cst.TypeParameters():
            return True
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.Call(func=cst.Name(value=name)):
            return name in TYPES_ALONE
        case cst.Arg(keyword=cst.Name(value="strict")) | cst.SimpleString(value='"utf-8"'):
            return True
    return False


def _is_wording(node: cst.CSTNode) -> bool:
    """Tell whether a node is a text for people: one with a space, or one with values in it."""
    match node:
        case cst.FormattedString() | cst.ConcatenatedString():
            return True
        case cst.SimpleString(value=value):
            return " " in value
    return False


def _compare_lines(old: str, new: str) -> tuple[int, str, str]:
    """Find the lines that differ: the number of the first, and both texts."""
    before, after = old.splitlines(), new.splitlines()
    start = _count_same(before, after)
    end = _count_same(before[start:][::-1], after[start:][::-1])
    return start + 1, _join(before[start : len(before) - end]), _join(after[start : len(after) - end])


def _count_same(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _join(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines)
