"""Queries and expressions of Flink SQL: what sqlglot's base grammar lacks, without what it knows about other engines.

Functions stay as they were written (`exp.Anonymous`): what they mean is for Penstock's own catalog of functions. Only
those with a grammar of their own, aggregates and window functions become nodes of sqlglot's.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp, parser
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.sql.match_recognize import MatchRecognizeParser
from penstock.table.sql.nodes import (
    DefaultArgument,
    IntervalPrecision,
    MapConstructor,
    ModelArgument,
    TableArgument,
    TemporalLiteral,
)

__all__ = ["FlinkParser", "PlacedParseError"]

KNOWN_FUNCTIONS = frozenset(
    """COUNT SUM AVG MIN MAX ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LEAD LAG FIRST_VALUE LAST_VALUE
    STDDEV_POP STDDEV_SAMP VAR_POP VAR_SAMP COALESCE NULLIF ABS EXISTS GROUPING GROUPING_ID""".split()  # noqa: SIM905
)

OWN_GRAMMAR = ("CAST", "CEIL", "EXTRACT", "FLOOR", "OVERLAY", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")

JSON_FUNCTIONS = (
    "JSON_VALUE",
    "JSON_QUERY",
    "JSON_EXISTS",
    "JSON_OBJECT",
    "JSON_OBJECTAGG",
    "JSON_ARRAY",
    "JSON_ARRAYAGG",
)

JSON_WORDS = tuple(
    """KEY VALUE NULL ABSENT ERROR EMPTY ARRAY OBJECT ON WITH WITHOUT CONDITIONAL UNCONDITIONAL WRAPPER TRUE FALSE
    UNKNOWN""".split()  # noqa: SIM905
)


class PlacedParseError(ParseError):
    """An error of the grammar that knows the token it stands at."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.token = token


class FlinkParser(MatchRecognizeParser):
    """The grammar of queries."""

    STRICT_CAST = True
    SUPPORTS_OMITTED_INTERVAL_SPAN_UNIT = False
    VALUES_FOLLOWED_BY_PAREN = True
    FUNCTIONS = {name: parser.Parser.FUNCTIONS[name] for name in KNOWN_FUNCTIONS if name in parser.Parser.FUNCTIONS}
    FUNCTION_PARSERS = {
        **{name: parser.Parser.FUNCTION_PARSERS[name] for name in OWN_GRAMMAR},
        **{name: (lambda self, name=name: self.parse_json_call(name)) for name in JSON_FUNCTIONS},
        "DESCRIPTOR": lambda self: self.parse_descriptor(),
    }
    NO_PAREN_FUNCTION_PARSERS = {
        name: read for name, read in parser.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("CASE", "ANY")
    }
    # ROW(...) is a constructor; TABLE, SESSION and others are names of functions.
    FUNC_TOKENS = parser.Parser.FUNC_TOKENS | {TokenType.TABLE, TokenType.STRUCT, TokenType.FIRST, TokenType.FILTER}
    PRIMARY_PARSERS = {
        **parser.Parser.PRIMARY_PARSERS,
        TokenType.TABLE: lambda self, _: self.parse_table_argument(),
        TokenType.DEFAULT: lambda self, _: self.expression(DefaultArgument()),
    }
    TYPE_LITERAL_PARSERS = {
        kind: lambda self, this, to: self.expression(TemporalLiteral(this=this, to=to))
        for kind in (exp.DType.DATE, exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPLTZ)
    }
    # A colon or an arrow is never an operator in Flink.
    COLUMN_OPERATORS = {
        token: read for token, read in parser.Parser.COLUMN_OPERATORS.items() if token in (TokenType.DOT,)
    }

    _type_depth = 0

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Stop at the first error; it is told with its place by `penstock.table.sql.parsing`."""
        error = PlacedParseError(message, token or self._curr or self._prev or Token.string(""))
        if self.error_level == ErrorLevel.IGNORE:
            return
        raise error

    # ---- types ----

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        if self._curr and self._curr.token_type == TokenType.STRUCT and not self._is_row_type():
            return None
        if self._curr and self._curr.token_type == TokenType.ARRAY and self._next.token_type == TokenType.L_BRACKET:
            return None  # ARRAY[1, 2] is no type; read as one and then again, it takes twice as long for each level
        self._type_depth += 1
        try:
            this = super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        finally:
            self._type_depth -= 1
        if isinstance(this, exp.DataType):
            self._parse_after_type(this, is_column=schema and self._type_depth == 0)
        return this

    def _parse_after_type(self, this: exp.DataType, is_column: bool) -> None:
        if isinstance(this.this, exp.Interval) and self._match(TokenType.L_PAREN, advance=False):
            self._parse_wrapped(self._parse_number)  # INTERVAL DAY TO SECOND(3)
        if is_column:
            return  # NOT NULL of a column is read with its constraints
        if self._match_pair(TokenType.NOT, TokenType.NULL):
            this.set("nullable", False)
        elif self._type_depth and self._match(TokenType.NULL):
            this.set("nullable", True)

    def _is_row_type(self) -> bool:
        """ROW is a type in ROW<...> and in ROW(name TYPE, ...), a constructor in ROW(1, a)."""
        if self._next.token_type == TokenType.LT:
            return True
        if self._next.token_type != TokenType.L_PAREN:
            return False
        first = self._tokens[self._index + 2 : self._index + 4]
        return (
            len(first) == 2
            and first[0].token_type in self.ID_VAR_TOKENS | {TokenType.IDENTIFIER}
            and first[1].token_type in self.TYPE_TOKENS
        )

    def _parse_struct_types(self, type_required: bool = False) -> exp.Expr | None:
        name = self._parse_id_var()
        kind = self._parse_types()
        comment = self._parse_string()
        constraints = [exp.ColumnConstraint(kind=exp.CommentColumnConstraint(this=comment))] if comment else None
        return self.expression(exp.ColumnDef(this=name, kind=kind, constraints=constraints))

    # ---- expressions ----

    def parse_table_argument(self) -> exp.Expr:
        """What follows TABLE among the arguments of a table function."""
        if self._match(TokenType.L_PAREN, advance=False):
            inner = self._parse_wrapped(lambda: self._parse_select() or self._parse_table())
            this: Any = exp.Subquery(this=inner) if isinstance(inner, exp.Query) else inner
        else:
            this = self._parse_table_parts()
        return self._parse_table_argument_tail(this)

    def _parse_table_argument_tail(self, this: exp.Expr) -> exp.Expr:
        partition: list[Any] | None = None
        order = None
        if self._match(TokenType.PARTITION_BY):
            if self._match(TokenType.L_PAREN, advance=False):
                partition = self._parse_wrapped_csv(self._parse_column)
            else:  # a comma ends the argument
                partition = [self._parse_column()]
        if self._match(TokenType.ORDER_BY):
            if self._match(TokenType.L_PAREN, advance=False):
                ordered: list[Any] = self._parse_wrapped_csv(self._parse_ordered)
            else:
                ordered = [self._parse_ordered()]
            order = self.expression(exp.Order(expressions=ordered))
        return self.expression(TableArgument(this=this, partition_by=partition, order=order))

    def _parse_function_call(
        self,
        functions: Any = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        if self._curr and self._curr.token_type == TokenType.TABLE and self._next.token_type == TokenType.L_PAREN:
            inside = self._tokens[self._index + 2].token_type
            if inside in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
                self._advance()
                return self.parse_table_argument()
        return super()._parse_function_call(functions, anonymous, optional_parens, any_token)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        names = (TokenType.VAR, TokenType.IDENTIFIER)
        if self._curr and self._curr.text.upper() == "MODEL" and self._next.token_type in names:
            self._advance()
            return self.expression(ModelArgument(this=self._parse_table_parts()))
        this = super()._parse_lambda(alias=False)
        if isinstance(this, exp.Subquery) and self._curr.token_type in (TokenType.PARTITION_BY, TokenType.ORDER_BY):
            return self._parse_table_argument_tail(this)
        return this

    def _parse_column(self) -> exp.Expr | None:
        is_map = self._curr and self._curr.token_type == TokenType.MAP and self._next.token_type == TokenType.L_BRACKET
        if not is_map:
            return super()._parse_column()
        self._advance(2)
        entries = [] if self._match(TokenType.R_BRACKET, advance=False) else self._parse_csv(self._parse_disjunction)
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("Expected ] after the entries of a MAP")
        return self._parse_column_ops(self.expression(MapConstructor(expressions=entries)))

    def parse_descriptor(self) -> exp.Expr:
        """The columns of DESCRIPTOR(...), each perhaps with a type."""
        columns = self._parse_csv(self._parse_descriptor_column)
        return self.expression(exp.Anonymous(this="DESCRIPTOR", expressions=columns))

    def _parse_descriptor_column(self) -> exp.Expr | None:
        name = self._parse_id_var()
        kind = self._parse_types() if self._curr.token_type in self.TYPE_TOKENS else None
        return self.expression(exp.ColumnDef(this=name, kind=kind)) if kind else name

    def parse_json_call(self, name: str) -> exp.Expr:
        """Arguments with commas between them as `,`; the clauses (RETURNING, ON EMPTY ...) as words in `clauses`."""
        arguments: list[Any] = []
        clauses: list[Any] = []
        while self._curr and not self._match(TokenType.R_PAREN, advance=False):
            before = self._index
            self._parse_json_part(arguments, clauses)
            if self._index == before:
                self.raise_error(f"Expected an argument of {name}")
        call = self.expression(exp.Anonymous(this=name, expressions=arguments))
        call.set("clauses", clauses or None)
        return call

    def _parse_json_part(self, arguments: list[Any], clauses: list[Any]) -> None:
        if self._match(TokenType.COMMA):
            arguments.append(exp.var(","))
        elif self._match_text_seq("RETURNING"):
            clauses += [exp.var("RETURNING"), self._parse_types()]
        elif self._curr.token_type != TokenType.STRING and self._match_texts(JSON_WORDS):
            word = self._prev.text.upper()
            (arguments if word in ("KEY", "VALUE") else clauses).append(exp.var(word))
        elif self._match(TokenType.DEFAULT):
            clauses += [exp.var("DEFAULT"), self._parse_disjunction()]
        else:
            value = self._parse_disjunction()
            if value is not None:
                arguments.append(value)

    def _parse_interval_span(self, this: exp.Expr, parse_function_unit: bool = True) -> exp.Interval:
        unit: exp.Expr | None = self._parse_var(any_token=True, upper=True)
        if unit and self._match(TokenType.L_PAREN):
            unit = self.expression(IntervalPrecision(this=unit, expression=self._parse_number()))
            self._match_r_paren()
        if self._match_text_seq("TO"):
            last = self._parse_var(any_token=True, upper=True)
            unit = self.expression(exp.IntervalSpan(this=unit, expression=last))
            if self._match(TokenType.L_PAREN):
                unit.set("precision", self._parse_number())
                self._match_r_paren()
        return self.expression(exp.Interval(this=this, unit=unit))

    # ---- tables ----

    def _parse_table_hints(self) -> list[exp.Expr] | None:
        hint = self._parse_hint()
        return [hint] if hint else None

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        table = super()._parse_table(*args, **kwargs)
        if not isinstance(table, exp.Table):
            if isinstance(table, exp.Subquery) and self._match(TokenType.MATCH_RECOGNIZE, advance=False):
                table.set("match", self._parse_match_recognize())
            return table
        if self._curr and self._curr.token_type == TokenType.HINT:
            table.set("hints", self._parse_table_hints())
        if table.args.get("hints") and not table.alias:  # t /*+ OPTIONS(..) */ FOR SYSTEM_TIME AS OF o.ts AS a
            if not table.args.get("version"):
                table.set("version", self._parse_version())
            alias = self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS)
            if alias:
                table.set("alias", alias)
        if not table.args.get("match") and self._match(TokenType.MATCH_RECOGNIZE, advance=False):
            table.set("match", self._parse_match_recognize())
        return table
