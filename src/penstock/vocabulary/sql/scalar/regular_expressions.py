"""REGEXP and its kin: Java's regular expressions on Python's `re`."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

from penstock.vocabulary.sql.scalar.kinds import BOOLEAN, INT, STRING, array
from penstock.vocabulary.sql.scalar.parameters import A_STRING, AN_INT
from penstock.vocabulary.sql.scalar.registry import strict_function

__all__ = ["java_pattern"]

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    "Space": r" \t\n\x0b\f\r",
    "Blank": r" \t",
    "XDigit": "0-9a-fA-F",
    "L": r"^\W\d_",
    "IsAlphabetic": r"^\W\d_",
    "IsLetter": r"^\W\d_",
}
_PROPERTY = re.compile(r"\\p\{(\w+)\}")


@lru_cache(maxsize=1024)
def java_pattern(pattern: str) -> re.Pattern[str]:
    r"""Return Python's form of a Java pattern.

    Classes as `\w` are of ASCII in Java; `(?<name>...)` and `\p{Alpha}` are written otherwise in Python.
    """
    source = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    source = re.sub(r"\\k<(\w+)>", r"(?P=\1)", source)
    source = source.replace(r"\z", r"\Z").replace(r"\h", r"[ \t]").replace(r"\R", r"(?:\r\n|[\n\r])")
    source = _PROPERTY.sub(_property, source)
    return re.compile(source, 0 if "^\\W" in source else re.ASCII)


@lru_cache(maxsize=32)
def _of_category(name: str) -> str:
    """The characters of a category of Unicode, such as `Lu`, as ranges of a class."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    if not ranges:
        raise re.error(f"the property {name} of a Java pattern is not known")
    return "".join([f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges])


def _property(found: re.Match[str]) -> str:
    name = found[1]
    if name in _POSIX:
        return f"[{_POSIX[name]}]"
    if len(name) <= 2:
        return f"[{_of_category(name)}]"
    raise re.error(f"the property {name} of a Java pattern is not known")


def _pattern_or_none(pattern: str) -> re.Pattern[str] | None:
    try:
        return java_pattern(pattern)
    except re.error:
        return None


def _regexp(text: str, pattern: str) -> bool:
    found = _pattern_or_none(pattern)
    return found is not None and bool(pattern) and found.search(text) is not None


def _replace(text: str, pattern: str, replacement: str) -> str | None:
    found = _pattern_or_none(pattern)
    # Flink takes the replacement as it is: `$1` is no group.
    return None if found is None else found.sub(lambda _: replacement, text)


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    compiled = _pattern_or_none(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    found = compiled.search(text)
    return None if found is None else found[group]


def _extract_all(text: str, pattern: str, group: int = 1) -> tuple[str | None, ...] | None:
    compiled = _pattern_or_none(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    return tuple([found[group] for found in compiled.finditer(text)])


def _count(text: str, pattern: str) -> int | None:
    compiled = _pattern_or_none(pattern)
    return None if compiled is None else sum(1 for _ in compiled.finditer(text))


def _position(text: str, pattern: str) -> int | None:
    compiled = _pattern_or_none(pattern)
    if compiled is None:
        return None
    found = compiled.search(text)
    return 0 if found is None else found.start() + 1


_S = A_STRING
strict_function("REGEXP", [_S, _S], BOOLEAN, _regexp)
strict_function("REGEXP_REPLACE", [_S, _S, _S], STRING, _replace)
strict_function("REGEXP_EXTRACT", [_S, _S, AN_INT], STRING, _extract, optional=1, may_be_null=True)
strict_function("REGEXP_EXTRACT_ALL", [_S, _S, AN_INT], array(STRING), _extract_all, optional=1, may_be_null=True)
strict_function("REGEXP_COUNT", [_S, _S], INT, _count, may_be_null=True)
strict_function("REGEXP_INSTR", [_S, _S], INT, _position, may_be_null=True)
strict_function("REGEXP_SUBSTR", [_S, _S], STRING, _extract, may_be_null=True)
