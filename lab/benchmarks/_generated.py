"""Bugs made by rule: the operators of mutation testing, applied to every place of a file where they fit.

A comparison, a sum or a logical operator becomes its neighbour, a negation is dropped, a number grows, a
tolerance becomes 0, a flag turns, a call whose value is not used is left out. Annotations, assertions (among
them `strict=True` of zip), the 1 of reshape(-1), error messages and the constants at the top of a file are left
alone: most are types, texts, and sizes that change no result.
"""

from __future__ import annotations

import ast

_PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
)
NEIGHBOUR = {
    **dict(_PAIRS),
    **{second: first for first, second in _PAIRS},
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
DROPPED = (ast.Not, ast.Invert, ast.USub)
TINY = 1e-4  # below it, a tolerance: twice as much changes no result, and none at all is a guard left out


def places(source: str) -> list[str]:
    """Every bug that can be put into a file: its line, and what becomes of what.

    >>> places("def f(a, b):\\n    return a < b + 1\\n")
    ['line 2: a < b + 1 -> a <= b + 1', 'line 2: b + 1 -> b - 1', 'line 2: 1 -> 2']
    """
    return _Planter(-1).planted(source)[1]


def planted(source: str, place: int) -> str:
    """The file with one of these bugs in it.

    >>> print(planted("def f(a, b):\\n    return a < b + 1\\n", 1))
    def f(a, b):
        return a < b - 1
    """
    return _Planter(place).planted(source)[0]


class _Planter(ast.NodeTransformer):
    """Counts the places in the order of the text, and changes the one that is wanted."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.found: list[str] = []
        self.same: set[int] = set()  # numbers that may grow without any effect

    def planted(self, source: str) -> tuple[str, list[str]]:
        tree = ast.parse(source)
        inside = (ast.FunctionDef, ast.ClassDef)
        tree.body = [self.visit(part) if isinstance(part, inside) else part for part in tree.body]
        return ast.unparse(ast.fix_missing_locations(tree)), self.found

    def _offer(self, node: ast.expr | ast.stmt, other: ast.AST) -> ast.AST:
        """The place is counted before those inside it, and is left as it is unless it is the wanted one."""
        self.found.append(f"line {node.lineno}: {ast.unparse(node)} -> {ast.unparse(other)}")
        return other if len(self.found) - 1 == self.wanted else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        swap = NEIGHBOUR.get(type(node.ops[0]))
        if swap is None:
            return self.generic_visit(node)
        return self._offer(node, ast.Compare(node.left, [swap(), *node.ops[1:]], node.comparators))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        swap = NEIGHBOUR.get(type(node.op))
        if swap is None:
            return self.generic_visit(node)
        return self._offer(node, ast.BinOp(node.left, swap(), node.right))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self._offer(node, ast.BoolOp(NEIGHBOUR[type(node.op)](), node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self._offer(node, node.operand) if isinstance(node.op, DROPPED) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        swap = NEIGHBOUR.get(type(node.op))
        if swap is None:
            return self.generic_visit(node)
        return self._offer(node, ast.AugAssign(node.target, swap(), node.value))

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if id(node) in self.same:
            return node
        if isinstance(value, bool):
            return self._offer(node, ast.Constant(not value))
        if isinstance(value, int):
            return self._offer(node, ast.Constant(value + 1))
        if isinstance(value, float):
            other = 2 * value if value >= TINY else float(not value)
            return self._offer(node, ast.Constant(other))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return self._offer(node, ast.Pass()) if isinstance(node.value, ast.Call) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        words = ast.unparse(node)
        if ast.unparse(node.func).endswith(".reshape"):  # -2 means there what -1 does
            self.same |= {id(part.operand) for part in node.args if isinstance(part, ast.UnaryOp)}
        if not (words.startswith("zip(") and words.endswith("strict=True)")):
            return self.generic_visit(node)
        node.args = [self.visit(value) for value in node.args]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        node.body = [self.visit(part) for part in node.body]
        return node

    def _left_alone(self, node: ast.AST) -> ast.AST:
        return node

    visit_Assert = visit_Raise = visit_JoinedStr = _left_alone
