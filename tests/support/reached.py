"""Which names of src a command, an API verb, a compatibility layer or a documented plug-in can reach.

Read off the source with nothing but `ast`, and on the safe side: an attribute is taken for the method of that name of
every reached class, and for the function of that name of every module that is imported by a computed name.
"""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mmconvert.plugins.registry import GROUPS, PACKAGES
from support.sources import parse_source

PROGRAMS = ("mmconvert", "mmscore")
DOORS = "mmscore.compat"
NAMED = re.compile(r"(?:mmconvert|mmscore)(?:\.\w+)*")
COMMAND = re.compile(r"((?:mmconvert|mmscore)(?:\.\w+)*):(\w+)")
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(?:>>>|\.\.\.) ?", re.MULTILINE)
NO_BEHAVIOUR = {"object", "Protocol", "Generic", "ABC", "NamedTuple", "TypedDict", "Struct", "Enum", "StrEnum"}
"""Bases that call no method of the class by its name."""

Name = tuple[str, str]
"""Module, and the name in it: `function`, `Class` or `Class.method`."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Used:
    """What a piece of code refers to."""

    names: set[Name] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)


class Module:
    """The names that a module defines and imports."""

    def __init__(self, name: str, tree: ast.Module, modules: Mapping[str, object]) -> None:
        self.name = name
        self.tree = tree
        self.known = modules
        self.defined: dict[str, list[ast.AST]] = {}
        self.methods: dict[str, dict[str, list[ast.AST]]] = {}
        self.loose: list[ast.AST] = []
        self.registered: dict[str, list[str]] = {}
        self.imported: dict[str, Name] = {}
        self.aliases: dict[str, str] = {}
        self._used: dict[tuple[int, ...], Used] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Import):
                self._import(node)
        self._collect(tree.body)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name in self.known:
                self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            shown = alias.asname or alias.name
            if f"{node.module}.{alias.name}" in self.known:
                self.aliases[shown] = f"{node.module}.{alias.name}"
            elif node.module in self.known:
                self.imported[shown] = (node.module, alias.name)

    def _collect(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, FUNCTIONS):
                self.defined.setdefault(node.name, []).append(node)
                for decorator in node.decorator_list:
                    called = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                        self.registered.setdefault(called.value.id, []).append(node.name)
            elif isinstance(node, ast.ClassDef):
                self.defined.setdefault(node.name, []).append(node)
                methods = self.methods.setdefault(node.name, {})
                for inner in node.body:
                    if isinstance(inner, FUNCTIONS):
                        methods.setdefault(inner.name, []).append(inner)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
                if all(isinstance(target, ast.Name | ast.Tuple) for target in targets):
                    for name in names:
                        self.defined.setdefault(name, []).append(node)
                else:
                    self.loose.append(node)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                self._collect(node.body)
                self._collect(getattr(node, "orelse", []))
                for handler in getattr(node, "handlers", []):
                    self._collect(handler.body)
                self.loose.extend(x for x in (getattr(node, "test", None),) if x is not None)
            elif not isinstance(node, ast.Import | ast.ImportFrom):
                self.loose.append(node)

    @staticmethod
    def together(node: ast.AST) -> list[str]:
        """Name what one assignment defines together: `ONE, OTHER = ALL = (1, 2)`."""
        if not isinstance(node, ast.Assign):
            return []
        return [one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)]

    def resolve(self, name: str) -> Name | None:
        """Find the module-level name that a name stands for."""
        if name in self.defined:
            return self.name, name
        return self.imported.get(name)

    def module_of(self, node: ast.AST) -> str | None:
        """Find the module that an expression stands for."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self.module_of(node.value)):
            inner = f"{owner}.{node.attr}"
            return inner if inner in self.known else None
        return None

    def used(self, nodes: Iterable[ast.AST]) -> Used:
        """List what code of this module refers to; docstrings and comments refer to nothing."""
        roots = [*nodes]
        place = tuple(map(id, roots))
        if place not in self._used:
            self._used[place] = used = Used()
            for root in roots:
                for node in ast.walk(root):
                    self._use(node, used)
        return self._used[place]

    def _use(self, node: ast.AST, used: Used) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if found := self.resolve(node.id):
                used.names.add(found)
        elif isinstance(node, ast.Attribute):
            if owner := self.module_of(node.value):
                used.names.add((owner, node.attr))
            else:
                used.attributes.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                used.attributes.add(str(node.args[1].value))
        elif isinstance(node, ast.MatchClass):
            used.attributes.update(node.kwd_attrs)
        elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            if NAMED.match(start := str(node.values[0].value)) and start.endswith("."):
                used.prefixes.add(start)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if found := COMMAND.fullmatch(node.value):
                used.names.add((found[1], found[2]))
            elif NAMED.fullmatch(node.value) and node.value in self.known:
                used.modules.add(node.value)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                self._use_quoted(annotation, used)

    def _use_quoted(self, annotation: ast.AST, used: Used) -> None:
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                try:
                    quoted = ast.parse(node.value, mode="eval")
                except SyntaxError:
                    continue
                for inner in ast.walk(quoted):
                    self._use(inner, used)


@cache
def _read_modules(src: Path) -> dict[str, Module]:
    """Read the modules of a folder once for all that ask what is reached in them."""
    files = {
        ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(src.rglob("*.py"))
    }
    return {name: Module(name, parse_source(path), files) for name, path in files.items()}


class Source:
    """All modules of src, and what is reached in them."""

    def __init__(self, src: Path, pages: Iterable[Path] = (), called: Iterable[Name] = ()) -> None:
        """Take the folder of the packages, the pages that show their use, and what others call by its name."""
        self.modules = _read_modules(src)
        self._called = tuple(called)
        self.pages = list(pages)
        self.reached: set[Name] = set()
        self._attributes: set[str] = set()
        self._classes: set[Name] = set()
        self._computed: set[str] = set()
        self._entered: set[str] = set()
        self._open: list[Name] = []
        self._walk()

    def unreached(self) -> list[str]:
        """Name what nothing reaches; methods of an unreached class are not named apart."""
        lost = []
        for module in self.modules.values():
            for name in module.defined:
                if name.startswith("__") or self._is_other_name(module, name):
                    continue
                if (module.name, name) not in self.reached:
                    lost.append(f"{module.name}:{name}")
                    continue
                for method in module.methods.get(name, ()):
                    if (module.name, f"{name}.{method}") not in self.reached:
                        lost.append(f"{module.name}:{name}.{method}")
        return lost

    def defines(self, module: str, name: str) -> bool:
        """Tell whether a module has a function, class or method of this name."""
        return self._is_defined((module, name))

    def _is_other_name(self, module: Module, name: str) -> bool:
        """Tell a further name of something that is reached: one under which plug-ins of before know it."""
        values = [getattr(node, "value", None) for node in module.defined[name]]
        found = [module.resolve(value.id) for value in values if isinstance(value, ast.Name)]
        return len(found) == len(values) and all(one and self._final(one) in self.reached for one in found)

    def reaches(self, module: str, name: str) -> bool:
        """Tell whether a command, an API verb, a door or a documented plug-in reaches a name."""
        return self._final((module, name)) in self.reached

    def list_imports(self, text: str) -> list[Name]:
        """List the names of src that a file outside it imports or looks up in a module of src."""
        page = Module("page", ast.parse(text), self.modules)
        looked_up = page.used([page.tree]).names
        return sorted(name for name in {*page.imported.values(), *looked_up} if name[0] in self.modules)

    def _final(self, name: Name) -> Name:
        """Follow a name that a module only imports to the module that defines it."""
        seen = set()
        while name not in seen and name[0] in self.modules:
            seen.add(name)
            module = self.modules[name[0]]
            if name[1].partition(".")[0] in module.defined or name[1] not in module.imported:
                break
            name = module.imported[name[1]]
        return name

    def _plugins(self) -> Iterator[Name]:
        for group, constant in GROUPS.items():
            package = PACKAGES.get(group, group)
            yield from ((name, constant) for name in self.modules if name.rpartition(".")[0] == package)

    def _handed_out(self) -> Iterator[Name]:
        """List what users hold in their hands: names of the API and of the compatibility layers."""
        for program in PROGRAMS:
            yield from ((f"{program}.api", name) for name in self._listed(f"{program}.api", "__all__"))
        for name in self.modules:
            if name.startswith(f"{DOORS}."):
                yield from ((name, one) for table in ("__all__", "MODULES") for one in self._listed(name, table))

    def _listed(self, module: str, table: str) -> Iterator[str]:
        """List the texts that a table of names of a module holds, in its parts too."""
        known = self.modules[module]
        waiting, seen = [table], set()
        while waiting:
            for node in known.defined.get(waiting.pop(), ()):
                for one in ast.walk(node):
                    if isinstance(one, ast.Name) and one.id not in seen:
                        seen.add(one.id)
                        waiting.append(one.id)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        yield one.value

    def _walk(self) -> None:
        for name in (*((f"{program}.cli", "main") for program in PROGRAMS), *self._plugins(), *self._called):
            self._reach(name)
        for name in self._handed_out():
            self._hand_out(self._final(name))
        for name in self.modules:
            if name.rpartition(".")[2] == "__main__":
                self._enter(name)
        for number, text in enumerate(self._shown()):
            page = Module(f"page {number}", ast.parse(text), self.modules)
            for found in page.imported.values():
                self._reach(found)
            used = page.used([page.tree])
            self._apply(used)
            for module in (module for module, name in used.names if name == "__file__"):
                self._hand_over(module)
        changed = True
        while changed or self._open:
            while self._open:
                self._follow(self._open.pop())
            changed = self._reach_by_attribute()

    def _shown(self) -> Iterator[str]:
        for page in self.pages:
            text = page.read_text(encoding="utf-8")
            if page.suffix == ".py":
                yield text
                continue
            for kind, block in BLOCK.findall(text):
                lines = block.splitlines()
                shown = [line for line in lines if line.startswith((">>>", "..."))] if kind == "pycon" else lines
                code = PROMPT.sub("", "\n".join(shown)) if kind == "pycon" else block
                try:
                    ast.parse(code)
                except SyntaxError:
                    continue
                yield code

    def _hand_out(self, name: Name) -> None:
        """Reach a name with all its public methods; of an object, those of its class."""
        self._reach(name)
        module = self.modules.get(name[0])
        for node in module.defined.get(name[1], ()) if module else ():
            if isinstance(node, ast.ClassDef):
                for method in module.methods[name[1]]:
                    if not method.startswith("_"):
                        self._reach((name[0], f"{name[1]}.{method}"))
                used = module.used(node.bases).names
            elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
                node.value, ast.Call | ast.Name | ast.Tuple
            ):
                called = node.value.func if isinstance(node.value, ast.Call) else node.value
                used = module.used([called]).names
            else:
                continue
            for one in used:
                if self._final(one) != name:
                    self._hand_out(self._final(one))

    def _hand_over(self, name: str) -> None:
        """Reach all that stands in a module: another program loads its file."""
        self._enter(name)
        for defined in self.modules[name].defined:
            if not defined.startswith("_"):
                self._hand_out((name, defined))

    def _reach(self, name: Name) -> None:
        name = self._final(name)
        if name not in self.reached and self._is_defined(name):
            self.reached.add(name)
            self._open.append(name)
            self._enter(name[0])

    def _is_defined(self, name: Name) -> bool:
        module, (owner, _, method) = self.modules.get(name[0]), name[1].partition(".")
        return module is not None and (method in module.methods.get(owner, ()) if method else owner in module.defined)

    def _enter(self, name: str) -> None:
        """Run a module: what stands outside functions and classes, and what its packages' modules hold so."""
        if name in self._entered or name not in self.modules:
            return
        self._entered.add(name)
        module = self.modules[name]
        self._apply(module.used(module.loose))
        for dunder in module.defined:
            if dunder.startswith("__") and dunder != "__all__":
                self._reach((name, dunder))
        if "." in name:
            self._enter(name.rpartition(".")[0])

    def _follow(self, name: Name) -> None:
        module = self.modules[name[0]]
        owner, _, method = name[1].partition(".")
        if method:
            self._apply(module.used(module.methods[owner][method]))
            return
        for registered in module.registered.get(owner, ()):
            self._reach((name[0], registered))
        for node in module.defined.get(owner, ()):
            for together in module.together(node):
                self._reach((name[0], together))
            if isinstance(node, ast.ClassDef):
                self._classes.add(name)
                inner = [one for one in node.body if not isinstance(one, FUNCTIONS)]
                self._apply(module.used([*node.bases, *node.keywords, *node.decorator_list, *inner]))
                for one in module.methods[owner]:
                    if one.startswith(("__", "_repr_")) or self._is_called_from_outside(module, node, one):
                        self._reach((name[0], f"{owner}.{one}"))
            else:
                self._apply(module.used([node]))

    def _is_called_from_outside(self, module: Module, node: ast.ClassDef, method: str) -> bool:
        """Tell a class that inherits from somebody else's: its methods may be called by their names there."""
        for base in node.bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            owner = module.module_of(base.value) if isinstance(base, ast.Attribute) else None
            found = (owner, name) if owner else module.resolve(name)
            if found is None:
                exception = isinstance(getattr(builtins, name, None), type) and name.endswith(("Error", "Exception"))
                if name not in NO_BEHAVIOUR and not exception:
                    return True
                continue
            found = self._final(found)
            inherited = self.modules.get(found[0])
            for parent in inherited.defined.get(found[1], ()) if inherited else ():
                if isinstance(parent, ast.ClassDef) and self._is_called_from_outside(inherited, parent, method):
                    return True
        return False

    def _apply(self, used: Used) -> None:
        for name in used.names:
            self._reach(name)
            if name[1] == "__file__":
                # Whoever asks for a module's file runs it as a program.
                self._enter(name[0])
        self._attributes |= used.attributes
        self._computed |= used.modules
        for prefix in used.prefixes:
            self._computed |= {name for name in self.modules if name.rpartition(".")[0] == prefix.removesuffix(".")}

    def _reach_by_attribute(self) -> bool:
        before = len(self.reached)
        for module, owner in list(self._classes):
            for method in self.modules[module].methods.get(owner, ()):
                if method in self._attributes:
                    self._reach((module, f"{owner}.{method}"))
        for name in self._computed:
            for defined in self.modules[name].defined:
                if defined in self._attributes:
                    self._reach((name, defined))
        return len(self.reached) > before
