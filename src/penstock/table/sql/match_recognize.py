"""The grammar of MATCH_RECOGNIZE: its clauses, and row patterns such as `A B+? C{2,}`."""

from __future__ import annotations

from typing import Any

from sqlglot import exp, parser
from sqlglot.tokenizer_core import TokenType

from penstock.table.sql.nodes import (
    FinalOrRunning,
    MatchClause,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternGroup,
    PatternPermutation,
    PatternRepetition,
    SkipTo,
)

__all__ = ["MatchRecognizeParser"]

SEMANTICS = ("FINAL", "RUNNING")
MARKS = {TokenType.STAR: (0, None), TokenType.PLUS: (1, None), TokenType.PLACEHOLDER: (0, 1), TokenType.DQMARK: (0, 1)}


class MatchRecognizeParser(parser.Parser):
    """Reads MATCH_RECOGNIZE (...). What Flink's grammar reads is read here, whether it can be run or not."""

    _match_depth = 0
    """How many MATCH_RECOGNIZE clauses are around: FINAL and RUNNING are words only inside."""

    def _parse_match_recognize(self) -> exp.MatchRecognize | None:
        if not self._match(TokenType.MATCH_RECOGNIZE):
            return None
        word = self._prev
        self._match_l_paren()
        self._match_depth += 1
        try:
            parts = self._match_parts()
        finally:
            self._match_depth -= 1
        self._match_r_paren()
        clause = self.expression(MatchClause(**parts, alias=self._parse_table_alias()))
        clause.update_positions(word)
        return clause

    def _match_parts(self) -> dict[str, Any]:
        """The clauses in their order; PATTERN and DEFINE must be there."""
        parts: dict[str, Any] = {"partition_by": self._parse_partition_by(), "order": self._parse_order()}
        if self._match_text_seq("MEASURES"):
            parts["measures"] = self._parse_csv(self._match_measure)
        parts["rows"] = self._rows_per_match()
        parts["after"] = self._after_match()
        if not self._match_text_seq("PATTERN"):
            self.raise_error("Expected PATTERN (...) in MATCH_RECOGNIZE")
        parts["pattern"] = self._parse_wrapped(self._pattern_alternation)
        if self._match_text_seq("WITHIN"):
            parts["within"] = self._parse_interval()
            if parts["within"] is None:
                self.raise_error("Expected an INTERVAL after WITHIN, such as INTERVAL '10' MINUTE")
        if self._match_text_seq("SUBSET"):
            parts["subset"] = self._parse_csv(self._match_subset)
        if not self._match_text_seq("DEFINE"):
            self.raise_error("Expected DEFINE and the conditions of pattern variables in MATCH_RECOGNIZE")
        parts["define"] = self._parse_csv(self._match_definition)
        return parts

    def _match_measure(self) -> exp.Expr:
        value = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS and the name of the measure")
        return self.expression(exp.Alias(this=value, alias=self._parse_id_var(any_token=True)))

    def _match_definition(self) -> exp.Expr:
        name = self._parse_id_var(any_token=True)
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS and the condition of the pattern variable")
        return self.expression(exp.Alias(this=self._parse_disjunction(), alias=name))

    def _match_subset(self) -> exp.Expr | None:
        name = self._parse_id_var(any_token=True)
        self._match(TokenType.EQ)
        self._parse_wrapped_csv(self._parse_id_var)
        return name

    def _rows_per_match(self) -> exp.Expr | None:
        if self._match_text_seq("ONE", "ROW", "PER", "MATCH"):
            return exp.var("ONE ROW PER MATCH")
        if self._match_text_seq("ALL", "ROWS", "PER", "MATCH"):
            return exp.var("ALL ROWS PER MATCH")
        return None

    def _after_match(self) -> exp.Expr | None:
        if not self._match_text_seq("AFTER", "MATCH", "SKIP"):
            return None
        if self._match_text_seq("PAST", "LAST", "ROW"):
            return self.expression(SkipTo(where="PAST LAST ROW"))
        if self._match_text_seq("TO", "NEXT", "ROW"):
            return self.expression(SkipTo(where="TO NEXT ROW"))
        if not self._match_text_seq("TO"):
            self.raise_error("Expected PAST LAST ROW, TO NEXT ROW, or TO and a pattern variable")
        is_word = self._next.token_type not in (TokenType.VAR, TokenType.IDENTIFIER) or self._next.text.upper() in (
            "PATTERN",
        )
        where = "LAST"
        if not is_word and self._match_texts(("FIRST", "LAST")):
            where = self._prev.text.upper()
        return self.expression(SkipTo(where=where, this=self._pattern_variable()))

    # ---- row patterns ----

    def _pattern_alternation(self) -> exp.Expr:
        parts = [self._pattern_concatenation()]
        while self._match(TokenType.PIPE):
            parts.append(self._pattern_concatenation())
        return parts[0] if len(parts) == 1 else self.expression(PatternAlternation(expressions=parts))

    def _pattern_concatenation(self) -> exp.Expr:
        parts = [self._pattern_factor()]
        ends = (TokenType.R_PAREN, TokenType.PIPE, TokenType.DASH, TokenType.COMMA)
        while self._curr and self._curr.token_type not in ends:
            parts.append(self._pattern_factor())
        return parts[0] if len(parts) == 1 else self.expression(PatternConcatenation(expressions=parts))

    def _pattern_factor(self) -> exp.Expr:
        repeated = self._pattern_repeated()
        bounds = self._pattern_bounds()
        if bounds is None:
            return repeated
        least, most, is_reluctant = bounds
        return self.expression(PatternRepetition(this=repeated, least=least, most=most, is_reluctant=is_reluctant))

    def _pattern_repeated(self) -> exp.Expr:
        if self._match(TokenType.L_PAREN):
            inner = self._pattern_alternation()
            self._match_r_paren()
            return self.expression(PatternGroup(this=inner))
        if self._curr.text.upper() == "PERMUTE" and self._next.token_type == TokenType.L_PAREN:
            word = self._curr
            self._advance()
            permuted = self.expression(
                PatternPermutation(expressions=self._parse_wrapped_csv(self._pattern_alternation))
            )
            permuted.update_positions(word)
            return permuted
        if self._match(TokenType.L_BRACE):
            if not self._match(TokenType.DASH):
                self.raise_error("A quantifier stands behind a pattern variable")
            inner = self._pattern_alternation()
            if not self._match(TokenType.DASH) or not self._match(TokenType.R_BRACE):
                self.raise_error("Expected -} at the end of an exclusion")
            return self.expression(PatternExclusion(this=inner))
        return self._pattern_variable()

    def _pattern_variable(self) -> exp.Expr:
        if self._curr and (self._curr.token_type == TokenType.CARET or self._curr.text == "$"):
            self.raise_error("The anchors ^ and $ have no meaning in a stream, and Flink has none; leave them out")
        name = self._parse_id_var(any_token=False)
        if name is None:
            self.raise_error("Expected a pattern variable")
            raise AssertionError
        return name

    def _pattern_bounds(self) -> tuple[int, int | None, bool] | None:
        """How often, and whether reluctantly."""
        mark = MARKS.get(self._curr.token_type) if self._curr else None
        if mark is not None:
            is_double = self._curr.token_type == TokenType.DQMARK
            self._advance()
            return (*mark, is_double or bool(self._match(TokenType.PLACEHOLDER)))
        if not self._curr or self._curr.token_type != TokenType.L_BRACE or self._next.token_type == TokenType.DASH:
            return None
        self._advance()
        least = self._pattern_count()
        most = least
        if self._match(TokenType.COMMA):
            most = self._pattern_count()
        if not self._match(TokenType.R_BRACE):
            self.raise_error("Expected a quantifier such as {2}, {2,}, {,3} or {2,3}")
        return least or 0, most, bool(self._match(TokenType.PLACEHOLDER))

    def _pattern_count(self) -> int | None:
        return int(self._prev.text) if self._match(TokenType.NUMBER) else None

    # ---- FINAL and RUNNING ----

    def _parse_column(self) -> exp.Expr | None:
        is_word = self._match_depth > 0 and self._curr and self._curr.token_type == TokenType.VAR
        if not is_word or self._curr.text.upper() not in SEMANTICS or self._next.token_type == TokenType.L_PAREN:
            return super()._parse_column()
        if self._next.token_type not in self.FUNC_TOKENS:
            return super()._parse_column()
        word = self._curr
        self._advance()
        made = self.expression(FinalOrRunning(this=super()._parse_column(), word=word.text.upper()))
        made.update_positions(word)
        return made
