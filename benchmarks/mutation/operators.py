"""The mutants of a source file: one small mistake each, made in its syntax tree.

Operators, comparisons, constants, slices, calls of ``any`` and ``min``, conditions and statements
are changed. Texts of errors, annotations, decorators, assertions and docstrings are left alone,
because no test is meant to pin them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_NAMES = {
    "any": "all", "all": "any", "min": "max", "max": "min", "minimum": "maximum",
    "maximum": "minimum", "floor": "ceil", "ceil": "floor", "rint": "trunc", "zeros": "ones",
    "ones": "zeros", "argmin": "argmax", "argmax": "argmin", "sum": "max",
}  # fmt: skip
_MESSAGES = {"warn", "error", "about", "NetxError", "ModelError", "ValueError", "Note"}
"""Calls whose arguments are texts for people."""
_WORD = re.compile(r"[A-Za-z0-9_/]+")
"""Strings that are names; whatever has spaces or signs is prose."""


@dataclass(frozen=True)
class Mutant:
    """One mistake: where it is, and how it is put into the tree that it was found in."""

    path: str
    line: int
    function: str
    span: tuple[int, int]
    """First and last line of the function that holds it; of the whole file outside functions."""
    change: str
    repeat: int
    tree: ast.Module
    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST | None

    @property
    def name(self) -> str:
        """What it is called in records; it does not depend on the line."""
        again = f" #{self.repeat}" if self.repeat > 1 else ""
        return f"{self.path} {self.function}: {self.change}{again}"

    def apply(self) -> ast.Module:
        """Put the mistake into the tree, for good, and return the tree."""
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        else:
            getattr(self.parent, self.field)[self.index] = self.new
        return ast.fix_missing_locations(self.tree)


Edit = tuple[ast.AST, str, int | None, ast.AST | None, str, ast.AST]
"""Parent, field, index, new node, what it is called, and the node whose line counts."""


class _Finder:
    """Walks over a tree and yields its edits."""

    def __init__(self) -> None:
        self.edits: list[tuple[Edit, tuple[str, int, int] | None]] = []
        self.owner: tuple[str, int, int] | None = None
        self.classes: list[str] = []

    def add(
        self, place: tuple[ast.AST, str, int | None], old: ast.AST, new: ast.AST, change: str = ""
    ) -> None:
        ast.copy_location(new, old)
        text = change or f"{_short(old)} → {_short(new)}"
        self.edits.append(((*place, new, text, old), self.owner))

    def walk(self, node: ast.AST) -> None:
        """Visit the children of ``node``, each with its place."""
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "ctx", "op", "ops"):
                continue
            if isinstance(value, ast.AST):
                self.visit(value, (node, field, None))
            elif isinstance(value, list):
                for i, child in enumerate(value):
                    if isinstance(child, ast.AST):
                        self.visit(child, (node, field, i))

    def visit(self, node: ast.AST, place: tuple[ast.AST, str, int | None]) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr, ast.arg)):
            return
        if isinstance(node, ast.ClassDef):
            self.classes.append(node.name)
            self.walk(node)
            self.classes.pop()
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
        elif isinstance(node, ast.stmt):
            self.statement(node, place)
        else:
            self.expression(node, place)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer = self.owner
        if outer is None:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            self.owner = (".".join([*self.classes, node.name]), first, node.end_lineno or first)
        self.walk(node)
        self.owner = outer

    def statement(self, node: ast.stmt, place: tuple[ast.AST, str, int | None]) -> None:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.If) and _short(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Assign) and _short(node.targets[0]) == "__all__":
            return
        removable = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
        if isinstance(node, removable):
            self.add(place, node, ast.Pass(), f"without {_short(node)}")
        if isinstance(node, ast.Raise):
            return  # what it says is for people
        if isinstance(node, (ast.If, ast.While)):
            negated = ast.UnaryOp(ast.Not(), node.test)
            self.add((node, "test", None), node.test, negated, f"not ({_short(node.test)})")
        if isinstance(node, ast.AugAssign) and type(node.op) in _SWAPS:
            self.swap_operator(node, "op", None, node.op)
        self.walk(node)

    def expression(self, node: ast.AST, place: tuple[ast.AST, str, int | None]) -> None:
        if isinstance(node, ast.Call) and _called(node.func) in _MESSAGES:
            return
        if isinstance(node, (ast.BinOp, ast.BoolOp)):
            self.swap_operator(node, "op", None, node.op)
        elif isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                self.swap_operator(node, "ops", i, op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            self.add(place, node, node.operand)
        elif isinstance(node, ast.Constant):
            self.constant(node, place)
        elif isinstance(node, ast.Slice):
            for end in ("lower", "upper", "step"):
                if (bound := getattr(node, end)) is not None:
                    text = f"without {end} bound {_short(bound)}"
                    self.edits.append(((node, end, None, None, text, bound), self.owner))
        elif isinstance(node, ast.IfExp):
            swapped = ast.IfExp(node.test, node.orelse, node.body)
            self.add(place, node, swapped)
        elif isinstance(node, ast.comprehension):
            for i, test in enumerate(node.ifs):
                self.add((node, "ifs", i), test, ast.Constant(True))
        elif isinstance(node, ast.Call):
            self.call(node)
        if isinstance(node, ast.keyword) and node.arg == "stacklevel":
            return
        self.walk(node)

    def swap_operator(self, node: ast.AST, field: str, index: int | None, op: ast.AST) -> None:
        if isinstance(node, ast.BinOp) and isinstance(op, ast.BitOr) and _is_type(node):
            return
        left = getattr(node, "left", None)
        if isinstance(left, ast.JoinedStr) or isinstance(getattr(left, "value", None), str):
            return  # a text
        if (swap := _SWAPS.get(type(op))) is not None:
            text = f"{_short(node)}: {type(op).__name__} → {swap.__name__}"
            self.edits.append(((node, field, index, swap(), text, node), self.owner))

    def constant(self, node: ast.Constant, place: tuple[ast.AST, str, int | None]) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(place, node, ast.Constant(not value))
        elif isinstance(value, int):
            self.add(place, node, ast.Constant(value + 1))
            if value >= 1:
                self.add(place, node, ast.Constant(value - 1))
        elif isinstance(value, float):
            self.add(place, node, ast.Constant(value * 2 if value else 1.0))
        elif isinstance(value, str) and _WORD.fullmatch(value):
            self.add(place, node, ast.Constant(value + "X"))

    def call(self, node: ast.Call) -> None:
        name = _called(node.func)
        if name in _NAMES:
            changed: ast.expr = ast.Name(_NAMES[name], ast.Load())
            if isinstance(node.func, ast.Attribute):
                changed = ast.Attribute(node.func.value, _NAMES[name], ast.Load())
            self.add((node, "func", None), node.func, changed)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "..."


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_type(node: ast.BinOp) -> bool:
    """Whether ``a | b`` is a union of types, which no test can tell from another."""
    names = (part.id for part in (node.left, node.right) if isinstance(part, ast.Name))
    return any(name in ("str", "int", "float", "None") or name[:1].isupper() for name in names)


def mutants(root: Path, path: str) -> Iterator[Mutant]:
    """Every mutant of the file ``path`` below ``root``, in the order of its text."""
    source = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    finder = _Finder()
    finder.walk(tree)
    last = len(source.splitlines())
    seen: Counter[tuple[str, str]] = Counter()
    for (parent, field, index, new, change, old), owner in finder.edits:
        function, first, end = owner or ("", 1, last)
        seen[function, change] += 1
        line = getattr(old, "lineno", first)
        span, repeat = (first, end), seen[function, change]
        yield Mutant(path, line, function, span, change, repeat, tree, parent, field, index, new)
