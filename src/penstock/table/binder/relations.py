"""Binding of FROM: tables, views, subqueries, VALUES, table functions, joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.algebra.lookup_options import NO_OPTIONS
from penstock.table.algebra.nodes import Correlate, Filter, Join, JoinKind, PlanNode
from penstock.table.binder.changelog_functions import CHANGELOG_FUNCTIONS, bind_changelog_function
from penstock.table.binder.conditions import join_of
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.lookup_hints import LookupHints
from penstock.table.binder.match_recognize import bind_match
from penstock.table.binder.queries import QueryBinder, renamed
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.binder.state_hints import StateHints
from penstock.table.binder.subqueries import SubqueryBinder
from penstock.table.binder.tables import resolve_table, scan_of
from penstock.table.binder.temporal_joins import TimeOfJoin, time_join
from penstock.table.binder.user_functions import user_arguments, user_function
from penstock.table.binder.window_functions import WINDOW_FUNCTIONS, bind_window_function
from penstock.table.catalog.entries import CatalogTable, CatalogView
from penstock.table.sql.nodes import BoundTable, TableArgument
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.typed_expressions import Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, FunctionKind

__all__ = ["RelationBinder", "retyped"]

KINDS = {
    "": JoinKind.INNER,
    "INNER": JoinKind.INNER,
    "CROSS": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
}


class RelationBinder:
    """Binds what stands in FROM."""

    def __init__(
        self, queries: QueryBinder, hints: StateHints | None = None, lookups: LookupHints | None = None
    ) -> None:
        self.queries = queries
        self.session = queries.session
        self.hints = hints
        self.lookups = lookups

    def from_clause(self, source: exp.Expr, joins: Sequence[exp.Expr]) -> tuple[PlanNode, Scope]:
        """The plan and the scope of FROM with its joins."""
        first = source.this
        plan, scope = self._item(first, Scope((), self.queries.outer))
        inner_joins = first.args.get("joins") or () if isinstance(first, exp.Table) else ()
        for join in [*inner_joins, *joins]:
            plan, scope = self._join(plan, scope, join)
        return plan, scope

    def _item(self, item: exp.Expr, left: Scope) -> tuple[PlanNode, Scope]:
        plan, path = self.relation(item)
        alias = item.args.get("alias")
        clause = item.args.get("match")
        if clause is not None:
            plan = self._renamed(plan, alias, item)
            plan, path, alias = bind_match(self.session, plan, clause), (), clause.args.get("alias")
        name = alias.name if alias is not None else (path[-1] if path else None)
        plan = self._renamed(plan, alias, item)
        relation = Relation(name or None, plan.names, plan.types, 0, () if alias is not None else path)
        return plan, Scope((relation,), self.queries.outer)

    def _renamed(self, plan: PlanNode, alias: exp.Expr | None, item: exp.Expr) -> PlanNode:
        columns = [each.name for each in (alias.args.get("columns") or ())] if alias is not None else []
        return renamed(plan, columns, self.queries, item) if columns else plan

    def relation(self, item: exp.Expr) -> tuple[PlanNode, tuple[str, ...]]:
        """The plan of one element of FROM, and the full name of a table."""
        if isinstance(item, BoundTable):
            return item.args["plan"], ()
        if isinstance(item, exp.Table):
            return self.table(item)
        if isinstance(item, exp.Subquery):
            if isinstance(item.this, exp.Table):
                return self.from_clause(exp.From(this=item.this), item.this.args.get("joins") or ())[0], ()
            return self.queries.bind(item.this), ()
        if isinstance(item, exp.Values):
            return self.queries.values(item), ()
        if isinstance(item, TableArgument):
            return self.relation(item.this)
        if isinstance(item, (exp.Unnest, exp.Lateral)):
            return self._function_alone(item), ()
        raise self.session.problems.at(item, f"{type(item).__name__.upper()} is not supported in FROM")

    def _function_alone(self, item: exp.Expr) -> PlanNode:
        from penstock.table.binder.queries import one_row

        return self._correlated(one_row(), Scope((), self.queries.outer), item, JoinKind.INNER)[0]

    # ---- tables and views ----

    def table(self, item: exp.Table) -> tuple[PlanNode, tuple[str, ...]]:
        """The plan that reads a table, a view, a name of WITH, or a table function."""
        self._refuse_second_half(item)
        if isinstance(item.this, exp.Func):
            return self._table_function(item), ()
        parts = tuple([part.name for part in item.parts])
        if len(parts) == 1 and parts[0] in self.queries.named:
            return self.queries.named[parts[0]], ()
        try:
            path, entry = self.session.find(parts)
        except PenstockError as error:
            raise self.session.problems.at(item, str(error)) from None
        if isinstance(entry, CatalogView):
            return self._view(path, entry, item), path
        assert isinstance(entry, CatalogTable)
        return scan_of(resolve_table(path, entry, self.session), entry, self.session, _hinted_options(item)), path

    def _refuse_second_half(self, item: exp.Table) -> None:
        if item.args.get("version") is not None:
            raise self.session.problems.at(
                item, "FOR SYSTEM_TIME AS OF is for the right side of a join: JOIN t FOR SYSTEM_TIME AS OF left.time"
            )
        if item.args.get("sample") is not None:
            raise self.session.problems.at(item, "TABLESAMPLE is not supported, as in Flink's streaming mode")

    def _view(self, path: tuple[str, ...], view: CatalogView, item: exp.Expr) -> PlanNode:
        if path in self.session.views:
            raise self.session.problems.at(item, f"View {'.'.join(path)} reads itself")
        if view.query_operation is not None:
            plan = view.query_operation
            plan = plan if isinstance(plan, PlanNode) else plan.plan
        else:
            session = self.session.inside_view(path, view)
            plan = QueryBinder(session).bind(self.session.context.parse_query(view.query))
        return plan if view.column_names is None else renamed(plan, view.column_names, self.queries, item)

    def _table_function(self, item: exp.Table) -> PlanNode:
        call = item.this
        if function_name(call) == "TABLE" and len(call.expressions) == 1:
            call = call.expressions[0]
        name = function_name(call)
        if name in WINDOW_FUNCTIONS:
            return bind_window_function(self, name, call)
        if name in CHANGELOG_FUNCTIONS:
            return bind_changelog_function(self, name, call)
        if user_function(call, self.session) is not None:
            return self._function_alone(exp.Lateral(this=call.copy()))
        raise self.session.problems.at(
            item, f"Table function {name} is not supported; window functions are {', '.join(WINDOW_FUNCTIONS)}"
        )

    # ---- joins ----

    def _join(self, plan: PlanNode, scope: Scope, join: exp.Expr) -> tuple[PlanNode, Scope]:
        side, kind_word = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        word = side or ("" if kind_word == "OUTER" else kind_word)
        if word not in KINDS:
            raise self.session.problems.at(join, f"{word} JOIN is not supported; use IN or EXISTS")
        kind = KINDS[word]
        item = join.this
        if _is_lateral(item):
            plan, scope = self._correlated(plan, scope, item, kind)
            return self._checked_on(plan, scope, join, kind)
        given = self._time_of_join(item, scope)
        right, right_scope = self._item(item if given is None else _without_version(item), scope)
        for inner in item.args.get("joins") or ():
            right, right_scope = self._join(right, right_scope, inner)
        like = None if given is None else time_join(plan, right, kind, given, self.session.problems)
        right = right if like is None else like.right
        both = _side_by_side(scope, right_scope)
        using = self._using(join, scope, right_scope)
        if using is not None:
            return self._join_using(plan, right, kind, both, using, join, like)
        on = join.args.get("on")
        condition = None if on is None else self.queries.expressions(both).condition(on, "ON")
        joined = join_of(plan, right, kind, condition, like)
        if self.hints is not None:
            joined = self.hints.on_join(joined, scope, right_scope)
        return joined, retyped(both, joined)

    def _time_of_join(self, item: exp.Expr, left: Scope) -> TimeOfJoin | None:
        """What FOR SYSTEM_TIME AS OF says, if the right side of a join has it."""
        version = item.args.get("version")
        if version is None or not isinstance(item, exp.Table):
            return None
        alias = item.args.get("alias")
        names = {alias.name} if alias is not None else {item.name, ".".join(part.name for part in item.parts)}
        options = NO_OPTIONS if self.lookups is None else self.lookups.of(names)
        return TimeOfJoin(version, self.queries.expressions(left).bind(version.expression), options)

    def _checked_on(self, plan: PlanNode, scope: Scope, join: exp.Expr, kind: JoinKind) -> tuple[PlanNode, Scope]:
        on = join.args.get("on")
        condition = None if on is None else self.queries.expressions(scope).condition(on, "ON")
        if condition is None or (isinstance(condition, Literal) and condition.value is True):
            return plan, scope
        if kind is not JoinKind.INNER:
            raise self.session.problems.at(on, "LEFT JOIN with a table function or LATERAL needs ON TRUE")
        return Filter(plan, condition), scope

    def _using(self, join: exp.Expr, left: Scope, right: Scope) -> list[str] | None:
        if (join.args.get("method") or "").upper() == "NATURAL":
            return [name for name in dict.fromkeys(left.all_names) if name in right.all_names]
        columns = join.args.get("using")
        return [each.name for each in columns] if columns else None

    def _join_using(
        self,
        plan: PlanNode,
        right: PlanNode,
        kind: JoinKind,
        both: Scope,
        names: list[str],
        join: exp.Expr,
        like: Join | None,
    ) -> tuple[PlanNode, Scope]:
        left_count = len(both.relations) - 1
        left_scope = Scope(both.relations[:left_count], both.outer, both.merged)
        right_scope = Scope(both.relations[left_count:], both.outer)
        parts: list[TypedExpression] = []
        for name in names:
            pair = [self.queries.expressions(each).bind(exp.column(name)) for each in (left_scope, right_scope)]
            parts.append(self.queries.expressions(both).call(join, "=", pair))
        from penstock.table.binder.conditions import conjunction

        joined = join_of(plan, right, kind, conjunction(parts), like)
        scope = retyped(both, joined)
        return joined, self._merged(scope, names, kind, left_count)

    def _merged(self, scope: Scope, names: list[str], kind: JoinKind, left_count: int) -> Scope:
        left, right = Scope(scope.relations[:left_count], None, scope.merged), Scope(scope.relations[left_count:])
        merged = dict(scope.merged)
        for name in names:
            first, second = left.resolve([name])[0], right.resolve([name])[0]
            if kind is JoinKind.FULL:
                merged[name] = self.queries.expressions(scope).call(exp.column(name), "COALESCE", [first, second])
            else:
                merged[name] = second if kind is JoinKind.RIGHT else first
        hidden = frozenset(names)
        relations = [replace(each, hidden=each.hidden | hidden) for each in scope.relations]
        return Scope(tuple(relations), scope.outer, merged)

    # ---- laterals ----

    def _correlated(self, plan: PlanNode, scope: Scope, item: exp.Expr, kind: JoinKind) -> tuple[PlanNode, Scope]:
        if kind not in (JoinKind.INNER, JoinKind.LEFT):
            raise self.session.problems.at(item, "A table function can only be the right side of an inner or LEFT join")
        if isinstance(item, exp.Unnest):
            made = self._unnest(plan, scope, item, kind is JoinKind.LEFT)
        elif isinstance(item, exp.Lateral) and isinstance(item.this, exp.Subquery):
            made = SubqueryBinder(self.queries, scope).lateral(plan, item.this, kind)
        else:
            made = self._lateral_function(plan, scope, item, kind)
        return made, self._with_made(scope, made, len(plan.types), item)

    def _with_made(self, scope: Scope, made: PlanNode, width: int, item: exp.Expr) -> Scope:
        alias = item.args.get("alias")
        names: list[str] = list(made.names[width:])
        given = [each.name for each in (alias.args.get("columns") or ())] if alias is not None else []
        offset = item.args.get("offset")
        if isinstance(offset, exp.Expr):
            given.append(offset.name)
        if given and len(given) != len(names):
            raise self.session.problems.at(
                item, f"{len(given)} column names are given for a table function of {len(names)} columns"
            )
        relation = Relation(
            (alias.name if alias is not None else None) or None, tuple(given or names), made.types[width:], width
        )
        return Scope((*scope.relations, relation), scope.outer, scope.merged)

    def _unnest(self, plan: PlanNode, scope: Scope, item: exp.Unnest, is_left: bool) -> PlanNode:
        if len(item.expressions) != 1:
            raise self.session.problems.at(item, "UNNEST takes one collection")
        value = self.queries.expressions(scope).value(item.expressions[0])
        has_ordinality = bool(item.args.get("offset"))
        function_type = self._unnested_type(value.type, item, has_ordinality)
        options = ("WITH ORDINALITY",) if has_ordinality else ()
        return Correlate(plan, "UNNEST", (value,), function_type, is_left, options)

    def _unnested_type(self, collection: LogicalType, item: exp.Expr, has_ordinality: bool) -> LogicalType:
        names: tuple[str, ...] = ("f0", "f1")
        types = collection.parts
        if collection.kind is Kind.MAP:
            pass
        elif collection.kind in (Kind.ARRAY, Kind.MULTISET):
            (element,) = collection.parts
            is_row = element.kind is Kind.ROW
            names, types = (element.names, element.parts) if is_row else (("f0",), (element,))
            if is_row and element.nullable:
                types = tuple([each.with_nullable(True) for each in types])
        else:
            raise self.session.problems.at(item, f"UNNEST needs an ARRAY, MAP or MULTISET, not {collection}")
        if has_ordinality:
            names, types = (*names, "ORDINALITY"), (*types, LogicalType(Kind.INTEGER, False))
        return row_of(names, types)

    def _lateral_function(self, plan: PlanNode, scope: Scope, item: exp.Expr, kind: JoinKind) -> PlanNode:
        call = item.this
        if function_name(call) == "TABLE" and call.expressions:
            call = call.expressions[0]
        if isinstance(call, exp.Unnest) or function_name(call) == "UNNEST":
            unnest = exp.Unnest(expressions=call.expressions, alias=item.args.get("alias"))
            return self._unnest(plan, scope, unnest, kind is JoinKind.LEFT)
        of_user = user_function(call, self.session)
        if of_user is None or of_user.kind is not FunctionKind.TABLE:
            what = function_name(call) if of_user is None else f"{of_user.name}, which is a {of_user.kind.value},"
            raise self.session.problems.at(
                item,
                f"There is no table function {what} to be used here; make one with udtf()",
            )
        arguments = user_arguments(self.queries.expressions(scope), call, of_user)
        is_left = kind is JoinKind.LEFT
        return Correlate(plan, USER_FUNCTION, arguments, of_user.row_type, is_left, (of_user,))


def _is_lateral(item: exp.Expr) -> bool:
    return isinstance(item, (exp.Unnest, exp.Lateral))


def _without_version(item: exp.Expr) -> exp.Expr:
    bare = item.copy()
    bare.set("version", None)
    return bare


def _side_by_side(left: Scope, right: Scope) -> Scope:
    width = left.width
    moved = [replace(each, offset=each.offset + width) for each in right.relations]
    return Scope((*left.relations, *moved), left.outer, left.merged)


def retyped(scope: Scope, plan: PlanNode) -> Scope:
    """The scope with the types that fields have in a plan of the same width: outer joins make them nullable."""
    relations = []
    for each in scope.relations:
        types = plan.types[each.offset : each.offset + len(each.names)]
        relations.append(replace(each, types=types))
    return Scope(tuple(relations), scope.outer, scope.merged)


def _hinted_options(item: exp.Table) -> dict[str, str]:
    """The options of `/*+ OPTIONS('key' = 'value') */`."""
    options = {}
    for hint in item.args.get("hints") or ():
        for call in hint.expressions:
            if function_name(call) == "OPTIONS":
                options.update({each.this.name: each.expression.name for each in call.expressions})
    return options
