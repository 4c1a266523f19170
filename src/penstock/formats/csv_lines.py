"""A line of CSV as texts, by the rules of Spark's parser."""

from __future__ import annotations

from dataclasses import dataclass

_MEANT = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}
"""What some signs mean behind an escape, as Flink's reader has it; any other means itself."""


@dataclass(frozen=True)
class CsvLayout:
    """The signs of a CSV file, by Spark's names; an empty `quote`, `escape` or `comment` is none.

    `null_value` stands for None beside the empty field; `empty_value` is what quotes without anything between are.
    `literal` is Flink's escape, which Spark does not have: the sign behind it is taken as it is, in quotes and outside.
    """

    sep: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    null_value: str = ""
    empty_value: str = ""
    literal: str = ""

    @classmethod
    def of(cls, options: dict[str, str]) -> CsvLayout:
        """The layout that Spark's options ask for."""
        return cls(
            options.get("sep", ","),
            options.get("quote", '"'),
            options.get("escape", "\\"),
            options.get("comment", ""),
            options.get("nullValue", ""),
            options.get("emptyValue", ""),
        )

    def is_data(self, line: str) -> bool:
        """Whether a line has a record: blank ones and comments have none."""
        return bool(line.strip(" \t\r\n\f\v")) and not (self.comment and line.startswith(self.comment))

    def fields(self, line: str) -> list[str | None]:
        """The fields of a line; None for those that are null."""
        if self.literal and self.literal in line:
            return self._escaped_fields(line)
        if not self.quote or self.quote not in line:
            null = self.null_value
            return [text if text and text != null else None for text in line.split(self.sep)]
        fields: list[str | None] = []
        at = 0
        while True:
            text, at = self._quoted(line, at) if line.startswith(self.quote, at) else self._plain(line, at)
            fields.append(None if text is None or text == self.null_value else text)
            if at >= len(line):
                return fields
            at += len(self.sep)

    def _escaped_fields(self, line: str) -> list[str | None]:
        """The fields of a line in which a sign makes the next one literal."""
        fields: list[str | None] = []
        text: list[str] = []
        at, is_quoted = 0, False
        while at < len(line):
            sign = line[at]
            at += 1
            if sign == self.literal and at < len(line):
                text.append(_MEANT.get(line[at], line[at]))
                at += 1
            elif sign == self.quote and is_quoted and line.startswith(self.quote, at):
                text.append(sign)
                at += 1
            elif sign == self.quote and (is_quoted or not text):
                is_quoted = not is_quoted
            elif not is_quoted and line.startswith(self.sep, at - 1):
                fields.append("".join(text))
                text = []
                at += len(self.sep) - 1
            else:
                text.append(sign)
        fields.append("".join(text))
        return [field if field and field != self.null_value else None for field in fields]

    def _plain(self, line: str, at: int) -> tuple[str | None, int]:
        end = line.find(self.sep, at)
        end = len(line) if end < 0 else end
        return line[at:end] or None, end

    def _quoted(self, line: str, start: int) -> tuple[str | None, int]:
        """A field that begins with a quote; one that goes on behind its closing quote is taken as it stands."""
        quote, escape = self.quote, self.escape
        text: list[str] = []
        at = start + 1
        while at < len(line):
            sign, following = line[at], line[at + 1 : at + 2]
            if sign == escape and following == quote:
                text.append(quote)
                at += 2
            elif sign == escape and following == escape:  # the two are the same only where they are quotes
                text.append(escape)
                at += 2
            elif sign == quote:
                end = self._closed(line, at + 1)
                if end is not None:
                    return "".join(text) or self.empty_value, end
                end = line.find(self.sep, at)
                end = len(line) if end < 0 else end
                return quote + "".join(text) + line[at:end], end
            else:
                text.append(sign)
                at += 1
        return "".join(text) or None, len(line)

    def _closed(self, line: str, at: int) -> int | None:
        """Where the field ends if nothing but blanks follows its closing quote."""
        while at < len(line) and line[at] in " \t" and not line.startswith(self.sep, at):
            at += 1
        return at if at >= len(line) or line.startswith(self.sep, at) else None
