"""Prompts out of the functions of a framework that build them: followed on their syntax trees, never run.

A function is given values with slots in the place of what a row would bring, and what it would return is the prompt:
assignments, `+`, f-strings, `format`, `join`, `replace`, lists, dicts and loops. Anything else cannot be read.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Any

from mmconvert.core.errors import Error
from mmconvert.core.text.python_source import parse_python

MAX_PROMPT = 100_000
"""Longest prompt, in characters."""

_MAX_STEPS = 20_000
_MARK = "\ue000"


class _UnreadableError(Exception):
    """The function does what is not followed here."""


def mark_slot(name: str) -> str:
    """Give what stands for a row's text while a function is followed."""
    return f"{_MARK}{name}{_MARK}"


def find_source(folder: Path, module: str, *names: str) -> Path:
    """Find a module of a framework below a checkout, an installed package, or the folder that holds it.

    Args:
        folder: What the user names.
        module: Path of the module in the checkout, `package/folder/module.py`.
        names: What is looked for in it, for the message.

    Raises:
        Error: It is not there.
    """
    roots = (folder, folder.parent) if folder.name == module.partition("/")[0] else (folder,)
    place = next((root / module for root in roots if (root / module).is_file()), None)
    if place is None:
        looked = f" (looked for {', '.join(names)})" if names else ""
        raise Error(f"{folder}: holds no {module}{looked}. Give --judge-prompt the framework's checkout, or a FILE.")
    return place


def read_prompt(path: Path, function: str, arguments: Sequence[Any], slots: Sequence[str]) -> str:
    r"""Read the prompt that a function of a module builds.

    Args:
        path: The module.
        function: Name of the function at the top of the module.
        arguments: Its arguments in order: texts, `mark_slot` in them, lists and dicts of them.
        slots: Names of the slots.

    Returns:
        The prompt, `{name}` for each slot.

    Raises:
        Error: The module has no such function, it does what is not followed here, or its prompt holds a slot's name
            in braces as plain text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "module.py")
        ...     _ = path.write_text("def ask(line):\n    return 'Q: {}?'.format(line['question'])")
        ...     read_prompt(path, "ask", [{"question": mark_slot("question")}], ["question"])
        'Q: {question}?'
    """
    return _read_slots(path, function, lambda follower: follower.call(function, arguments), slots)


def read_template(path: Path, name: str, values: Mapping[str, str], slots: Sequence[str]) -> str:
    r"""Read the prompt that a module holds as a template for `str.format`.

    Args:
        path: The module.
        name: Name that the template is assigned to at the top of the module.
        values: What its placeholders get: texts, `mark_slot` in them.
        slots: Names of the slots.

    Returns:
        The prompt, `{name}` for each slot.

    Raises:
        Error: As `read_prompt`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "module.py")
        ...     _ = path.write_text("ASK = ' Q: {q}? {{}} '.strip()")
        ...     read_template(path, "ASK", {"q": mark_slot("question")}, ["question"])
        'Q: {question}? {}'
    """
    return _read_slots(path, name, lambda follower: _fill(_require_text(follower.find(name)), (), values), slots)


def read_assigned_texts(
    path: Path, names: Sequence[str], known: Mapping[str, str], slots: Sequence[str]
) -> tuple[str, ...]:
    r"""Read the texts that a name gets inside classes and functions, branches included.

    Args:
        path: The module.
        names: Classes and functions from the outside in, then the variable, or an attribute `object.attribute`.
        known: Values of other variables: texts, `mark_slot` in them.
        slots: Names of the slots.

    Returns:
        The texts in the order of the source, `{name}` for each slot; what else is assigned is left out.

    Raises:
        Error: As `read_prompt`; no text is assigned.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "module.py")
        ...     _ = path.write_text("def ask(p, q):\n    if p:\n        a = f'A {q}'\n    else:\n        a = 'B'")
        ...     read_assigned_texts(path, ("ask", "a"), {"q": mark_slot("question")}, ["question"])
        ('A {question}', 'B')
    """
    *around, variable = names
    body: Sequence[ast.AST] = parse_python(path).body
    for name in around:
        body = next((node.body for node in body if isinstance(node, _SCOPES) and node.name == name), ())
    assigned = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Assign)]
    values = [node.value for node in sorted(assigned, key=_place) if ast.unparse(node.targets[0]) == variable]
    texts = [node for node in values if isinstance(node, ast.JoinedStr) or _is_text(node)]
    if not texts:
        raise Error(f"{path}: assigns no text to {'.'.join(names)}. Write the prompt into a FILE for --judge-prompt.")
    title = ".".join(names)
    return tuple(_read_slots(path, title, partial(_Follower.evaluate, node=node, known=known), slots) for node in texts)


def _place(node: ast.Assign) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _read_slots(path: Path, name: str, build: Callable[["_Follower"], Any], slots: Sequence[str]) -> str:
    try:
        prompt = build(_Follower(parse_python(path)))
        if not isinstance(prompt, str) or any(f"{{{slot}}}" in prompt for slot in slots):
            raise _UnreadableError(f"{name} returns no text, or one with braces around a slot's name")
    except (_UnreadableError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        what = "Write the prompt into a FILE and give it to --judge-prompt."
        raise Error(f"{path} {name}: the prompt cannot be read ({reason}). {what}") from None
    for slot in slots:
        prompt = prompt.replace(mark_slot(slot), f"{{{slot}}}")
    return prompt


def list_functions(path: Path) -> frozenset[str]:
    """Name the functions at the top of a module; raises Error where it is no Python."""
    return frozenset(node.name for node in parse_python(path).body if isinstance(node, ast.FunctionDef))


def find_assigned_text(path: Path, names: Sequence[str]) -> str:
    """Read a text that is assigned to a name inside classes and functions.

    Args:
        path: The module.
        names: Classes and functions from the outside in, then the variable.

    Raises:
        Error: It is not there.
    """
    body: Sequence[ast.stmt] = parse_python(path).body
    *around, variable = names
    for name in around:
        body = next((node.body for node in body if isinstance(node, _SCOPES) and node.name == name), ())
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)) if name == variable:
                return text
    raise Error(f"{path}: assigns no text to {'.'.join(names)}. Write the prompt into a FILE for --judge-prompt.")


_SCOPES = (ast.ClassDef, ast.FunctionDef)


class _Follower:
    """Follows functions of one module."""

    def __init__(self, module: ast.Module) -> None:
        self._functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        assigned = [node for node in module.body if isinstance(node, ast.Assign)]
        self._globals = {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}
        self._steps = 0

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        if name not in self._functions:
            raise _UnreadableError(f"the module has no function {name}")
        function = self._functions[name]
        parameters = [parameter.arg for parameter in function.args.args]
        if len(parameters) != len(arguments):
            raise _UnreadableError(f"{name} takes {len(parameters)} arguments")
        returned = self._run(function.body, dict(zip(parameters, arguments, strict=True)))
        if returned is None:
            raise _UnreadableError(f"{name} returns nothing")
        return returned

    def find(self, name: str) -> Any:
        if name not in self._globals:
            raise _UnreadableError(f"the module assigns nothing to {name}")
        return self._evaluate(self._globals[name], {})

    def evaluate(self, node: ast.expr, known: Mapping[str, Any]) -> Any:
        return self._evaluate(node, known)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _UnreadableError("too many steps")

    def _run(self, body: Sequence[ast.stmt], known: dict[str, Any]) -> Any:
        """Follow statements; what is returned, None where they run to their end."""
        for node in body:
            self._count_step()
            returned = None
            match node:
                case ast.Return(value=ast.expr() as value):
                    return self._evaluate(value, known)
                case ast.Assign(targets=[target], value=value):
                    _bind(target, self._evaluate(value, known), known)
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                    known[name] = _join([known.get(name), self._evaluate(value, known)])
                case ast.For(target=target, iter=values, body=inside):
                    for item in _require_list(self._evaluate(values, known)):
                        _bind(target, item, known)
                        returned = self._run(inside, known) if returned is None else returned
                case ast.If(test=test, body=inside, orelse=otherwise):
                    returned = self._run(inside if self._evaluate(test, known) is True else otherwise, known)
                case ast.Expr(value=ast.Constant()):  # a docstring
                    pass
                case _:
                    raise _build_unreadable(node)
            if returned is not None:
                return returned
        return None

    def _evaluate(self, node: ast.expr, known: Mapping[str, Any]) -> Any:
        self._count_step()
        match node:
            case ast.Constant(value=str() as text) if _MARK not in text:
                return text
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Name(id=name) if name in self._globals:
                return self._evaluate(self._globals[name], {})
            case ast.JoinedStr(values=parts):
                return _join([self._evaluate(part, known) for part in parts])
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._evaluate(value, known)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _join([self._evaluate(left, known), self._evaluate(right, known)])
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._evaluate(item, known) for item in items]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                named = [self._evaluate(key, known) for key in keys if key is not None]
                return dict(zip(map(_require_text, named), (self._evaluate(v, known) for v in values), strict=True))
            case ast.Subscript(value=value, slice=key):
                return _take(self._evaluate(value, known), self._evaluate(key, known))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._evaluate(operand, known) is not True
            case ast.Call(func=function, args=arguments, keywords=keywords):
                given = [self._evaluate(argument, known) for argument in arguments]
                named_values = {word.arg or "": self._evaluate(word.value, known) for word in keywords}
                return self._follow_call(function, given, named_values, known)
        raise _build_unreadable(node)

    def _follow_call(
        self, function: ast.expr, given: list[Any], named: Mapping[str, Any], known: Mapping[str, Any]
    ) -> Any:
        match function:
            case ast.Name(id="str") if len(given) == 1:
                return _require_text(given[0])
            case ast.Name(id=name) if not named:
                return self.call(name, given)
            case ast.Attribute(attr="isna" | "isnull"):
                return False  # a slot always has a text
            case ast.Attribute(value=value, attr="format"):
                return _fill(_require_text(self._evaluate(value, known)), given, named)
            case ast.Attribute(value=value, attr=method) if method in _METHODS and not named:
                return _METHODS[method](self._evaluate(value, known), *given)
        raise _build_unreadable(function)


def _build_unreadable(node: ast.AST) -> _UnreadableError:
    return _UnreadableError(f"line {getattr(node, 'lineno', 0)}: {type(node).__name__} is not followed")


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _UnreadableError(f"a {type(value).__name__} in the place of a text")
    return value


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _UnreadableError(f"a {type(value).__name__} in the place of a list")
    return value


def _join(parts: Sequence[Any], between: str = "") -> str:
    texts = [_require_text(part) for part in parts]
    if sum(map(len, texts)) + len(between) * len(texts) > MAX_PROMPT:
        raise _UnreadableError(f"the prompt is longer than {MAX_PROMPT:,} characters")
    return between.join(texts)


def _replace(text: Any, old: Any, new: Any) -> str:
    if not _require_text(old) or _MARK in old:
        raise _UnreadableError("replace() of a slot, or of nothing")
    return _join(_require_text(text).split(old), _require_text(new))


def _list_items(value: Any) -> list[list[Any]]:
    if not isinstance(value, dict):
        raise _UnreadableError("items() of what is not a dict")
    return [[key, item] for key, item in value.items()]


_METHODS: Mapping[str, Callable[..., Any]] = {
    "join": lambda between, parts: _join(_require_list(parts), _require_text(between)),
    "replace": _replace,
    "items": _list_items,
    "strip": lambda text: _require_text(text).strip(),
}


def _take(value: Any, key: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(key, str) or key not in value:
        raise _UnreadableError(f"nothing is known of [{key!r}]")
    return value[key]


def _bind(target: ast.expr, value: Any, known: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        known[target.id] = value
    elif isinstance(target, ast.Tuple) and isinstance(value, list) and len(value) == len(target.elts):
        for inner, item in zip(target.elts, value, strict=True):
            _bind(inner, item, known)
    else:
        raise _build_unreadable(target)


def _fill(template: str, given: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Fill the placeholders of `str.format`, which name a value and nothing of it."""
    parts: list[Any] = []
    following = iter(given)
    try:
        for text, name, form, conversion in Formatter().parse(template):
            parts.append(text)
            if name is None:
                continue
            if form or conversion:
                raise _UnreadableError(f"a placeholder with a format {form!r}")
            parts.append(next(following) if name == "" else given[int(name)] if name.isdecimal() else named[name])
    except (ValueError, StopIteration, IndexError, KeyError):
        raise _UnreadableError("format() with placeholders that have no value") from None
    return _join(parts)
