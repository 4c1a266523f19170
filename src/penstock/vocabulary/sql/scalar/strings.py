"""Functions of strings. Positions count characters from 1."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import EvaluationError
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.common_types import common_type
from penstock.vocabulary.sql.scalar.kinds import BIGINT, BOOLEAN, BYTES, INT, STRING, array, char, map_of, varchar
from penstock.vocabulary.sql.scalar.parameters import (
    A_BIGINT,
    A_STRING,
    AN_INT,
    ANYTHING,
    BINARY,
    Parameter,
    of_kinds,
)
from penstock.vocabulary.sql.scalar.printf import java_format
from penstock.vocabulary.sql.scalar.registry import strict_function
from penstock.vocabulary.sql.scalar.regular_expressions import java_pattern
from penstock.vocabulary.sql.typed_expressions import Call

__all__: list[str] = []

_CHARSETS = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16")


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    if length is not None and length < 0:
        return None
    size = len(text)
    begin = start - 1 if start > 0 else size + start if start < 0 else 0
    end = size if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)] if begin < size else ""


def _overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    length = len(new) if length is None else length
    if start <= 0 or start > len(text):
        return text
    # As in Flink, a length of 0 drops the rest.
    end = start - 1 + length if length > 0 else len(text)
    return text[: start - 1] + new + text[end:]


def _instr(text: str, part: str, start: int = 1, nth: int = 1) -> int:
    if nth <= 0:
        raise EvaluationError(f"the occurrence that INSTR looks for must be positive, and is {nth}")
    if start == 0:
        return 0
    if start > 0:
        at = start - 2
        for _ in range(nth):
            at = text.find(part, at + 1)
            if at < 0:
                return 0
        return at + 1
    at = len(text) + start + 1
    for _ in range(nth):
        at = text.rfind(part, 0, max(at - 1 + len(part), 0))
        if at < 0:
            return 0
    return at + 1


def _locate(part: str, text: str, start: int = 1) -> int:
    return text.find(part, start - 1) + 1 if start > 0 else 0


def _right(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) :] if count > 0 else ""


def _java_length(text: str) -> int:
    """The length in Java, where characters of the higher planes count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _pad(is_left: bool) -> Callable[[str, int, str], str | None]:
    def pad(text: str, length: int, filler: str) -> str | None:
        if length < 0 or not filler:
            return None
        missing = length - _java_length(text)
        if missing <= 0:
            return text[:length]
        filling = (filler * (missing // len(filler) + 1))[:missing]
        return filling + text if is_left else text + filling

    return pad


def _initcap(text: str) -> str:
    return re.sub("[A-Za-z0-9]+", lambda found: found[0][0].upper() + found[0][1:].lower(), text)


def _concat_ws(separator: str | None, *parts: str | None) -> str | None:
    return None if separator is None else separator.join([each for each in parts if each is not None])


def _ascii(text: str) -> int:
    return (text.encode()[0] ^ 128) - 128 if text else 0


def _chr(code: int) -> str:
    if code < 0:
        return ""
    return chr(code & 255) if code & 255 else "\0"


def _encode(text: str, charset: str) -> bytes:
    encoded = text.encode(_charset(charset), "replace")
    return encoded if charset.upper() != "UTF-16" else b"\xfe\xff" + text.encode("utf-16-be")


def _decode(data: bytes, charset: str) -> str:
    return data.decode(_charset(charset), "replace")


def _charset(name: str) -> str:
    if name.upper() not in _CHARSETS:
        raise EvaluationError(f"there is no character set {name!r}: use one of {', '.join(_CHARSETS)}")
    return name


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text.encode(), validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise EvaluationError(f"the text {text!r} is no base64") from None


def _hex(value: int | str) -> str:
    if isinstance(value, str):
        return value.encode().hex().upper()
    return f"{value & (1 << 64) - 1:X}"


def _unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex("0" * (len(text) % 2) + text) if " " not in text else None
    except ValueError:
        return None


def _split_index(text: str, separator: str | int, index: int) -> str | None:
    if index < 0 or separator == "":
        return None
    parts = text.split(separator if isinstance(separator, str) else chr(separator)) if text else []
    return parts[index] if index < len(parts) else None


def _split(text: str, separator: str) -> tuple[str, ...]:
    if not text:
        return ()
    return tuple(text.split(separator) if separator else list(text))


def _str_to_map(text: str, pairs: str = ",", keys: str = "=") -> dict[str, str | None]:
    made: dict[str, str | None] = {}
    if not text:
        return made
    for part in java_pattern(pairs).split(text):
        key, *value = java_pattern(keys).split(part, 1)
        made[key] = value[0] if value else None
    return made


def _translate(text: str, of: str, to: str) -> str:
    table: dict[int, str | None] = {}
    for at, letter in enumerate(of):
        table.setdefault(ord(letter), to[at] if at < len(to) else None)
    return text.translate(table)


def _elt(index: int, *values: str) -> str | None:
    return values[index - 1] if 0 < index <= len(values) else None


def _url_encode(text: str) -> str:
    return urllib.parse.quote_plus(text, safe="*-._").replace("~", "%7E")


def _url_decode(text: str) -> str | None:
    if re.search(r"%(?![0-9a-fA-F]{2})", text):
        return None
    return urllib.parse.unquote_plus(text)


def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    split = urllib.parse.urlsplit(url)
    if not split.scheme:
        return None
    if part == "QUERY" and key is not None:
        found = re.search(f"(?:^|&){re.escape(key)}=([^&]*)", split.query)
        return found[1] if found else None
    host, user = split.netloc.rpartition("@")[2], split.netloc.rpartition("@")[0]
    parts = {
        "HOST": re.sub(r":\d*$", "", host),
        "PATH": split.path,
        "QUERY": split.query or None,
        "REF": split.fragment or None,
        "PROTOCOL": split.scheme,
        "AUTHORITY": split.netloc,
        "FILE": split.path + (f"?{split.query}" if split.query else ""),
        "USERINFO": user or None,
    }
    return parts.get(part)


def _trim(side: str) -> Callable[..., str]:
    if side == "LEADING":
        return lambda text, letters=" ": text.lstrip(letters) if letters else text
    if side == "TRAILING":
        return lambda text, letters=" ": text.rstrip(letters) if letters else text
    return lambda text, letters=" ": text.strip(letters) if letters else text


def _make_trim(call: Call, writer: CodeWriter) -> Callable[..., Any]:
    return _trim(call.options[0] if call.options else "BOTH")


def _is_decimal(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def _inet_aton(text: str) -> int | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"\d{1,10}", each, re.ASCII) for each in parts):
        return None
    *firsts, last = map(int, parts)
    if any(each > 255 for each in firsts) or last >= 256 ** (4 - len(firsts)):
        return None
    return sum([each << 8 * (3 - at) for at, each in enumerate(firsts)]) + last


def _inet_ntoa(value: int) -> str | None:
    return ".".join([str(value >> shift & 255) for shift in (24, 16, 8, 0)]) if 0 <= value < 1 << 32 else None


def _same(types: Sequence[LogicalType]) -> LogicalType:
    return types[0]


def _within(types: Sequence[LogicalType]) -> LogicalType:
    """The type of a part of a text."""
    return varchar(types[0].precision)


def _overlaid(types: Sequence[LogicalType]) -> LogicalType:
    return varchar(min(types[0].precision + types[1].precision, MAX_LENGTH))


def _joined(types: Sequence[LogicalType]) -> LogicalType:
    is_fixed = all(each.kind is Kind.CHAR for each in types)
    return char(_overlaid(types).precision) if is_fixed else _overlaid(types)


_NUMBER_OR_STRING = of_kinds(
    "a whole number or a string", Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.CHAR, Kind.VARCHAR
)
_SEPARATOR = of_kinds("a string or a character's number", Kind.CHAR, Kind.VARCHAR, Kind.INTEGER)
_S: Parameter = A_STRING

strict_function("UPPER", [_S], _same, "{0}.upper()", aliases=["UCASE"])
strict_function("LOWER", [_S], _same, "{0}.lower()", aliases=["LCASE"])
strict_function("INITCAP", [_S], _same, _initcap)
strict_function("CHAR_LENGTH", [_S], INT, "len({0})", aliases=["CHARACTER_LENGTH"])
strict_function("TRIM", [_S, _S], _within, make=_make_trim, optional=1)
strict_function("LTRIM", [_S, _S], _within, _trim("LEADING"), optional=1)
strict_function("RTRIM", [_S, _S], _within, _trim("TRAILING"), optional=1)
strict_function("BTRIM", [_S, _S], STRING, _trim("BOTH"), optional=1)
strict_function("POSITION", [_S, _S, AN_INT], INT, _locate, optional=1)
strict_function("LOCATE", [_S, _S, AN_INT], INT, _locate, optional=1)
strict_function("INSTR", [_S, _S, AN_INT, AN_INT], INT, _instr, optional=2)
strict_function("LEFT", [_S, AN_INT], _within, lambda text, count: text[: max(count, 0)], may_be_null=True)
strict_function("RIGHT", [_S, AN_INT], _within, _right, may_be_null=True)
strict_function("LPAD", [_S, AN_INT, _S], STRING, _pad(True))
strict_function("RPAD", [_S, AN_INT, _S], STRING, _pad(False))
strict_function("REPEAT", [_S, AN_INT], STRING, "({0} * {1})")
strict_function("REVERSE", [_S], STRING, "{0}[::-1]", may_be_null=True)
strict_function("REPLACE", [_S, _S, _S], STRING, "{0}.replace({1}, {2})")
strict_function("OVERLAY", [_S, _S, AN_INT, AN_INT], _overlaid, _overlay, optional=1)
strict_function(
    "SUBSTRING", [_S, AN_INT, AN_INT], _within, _substring, optional=1, may_be_null=True, aliases=["SUBSTR"]
)
strict_function("||", [_S, _S], _joined, "({0} + {1})")
strict_function("CONCAT", [_S], STRING, lambda *parts: "".join(parts), variadic=True)
strict_function("CONCAT_WS", [_S, _S], STRING, _concat_ws, variadic=True, takes_null=True, optional=1)
strict_function("ASCII", [_S], INT, _ascii)
strict_function("CHR", [A_BIGINT], STRING, _chr, may_be_null=True)
strict_function("TO_BASE64", [_S], STRING, lambda text: base64.b64encode(text.encode()).decode())
strict_function("FROM_BASE64", [_S], STRING, _from_base64)
strict_function("ENCODE", [_S, _S], BYTES, _encode)
strict_function("DECODE", [BINARY, _S], STRING, _decode)
strict_function("HEX", [_NUMBER_OR_STRING], STRING, _hex)
strict_function("UNHEX", [_S], BYTES, _unhex, may_be_null=True)
strict_function("BIN", [A_BIGINT], STRING, lambda value: f"{value & (1 << 64) - 1:b}")
strict_function("SPLIT_INDEX", [_S, _SEPARATOR, AN_INT], STRING, _split_index, may_be_null=True)
strict_function("SPLIT", [_S, _S], array(STRING), _split)
strict_function("STR_TO_MAP", [_S, _S, _S], map_of(STRING, STRING), _str_to_map, optional=2, may_be_null=True)
strict_function("STARTSWITH", [_S, _S], BOOLEAN, "{0}.startswith({1})")
strict_function("ENDSWITH", [_S, _S], BOOLEAN, "{0}.endswith({1})")
strict_function("TRANSLATE", [_S, _S, _S], STRING, _translate)
strict_function("ELT", [AN_INT, _S], lambda types: common_type(types[1:]), _elt, variadic=True, may_be_null=True)
strict_function("URL_ENCODE", [_S], STRING, _url_encode, may_be_null=True)
strict_function("URL_DECODE", [_S], STRING, _url_decode, may_be_null=True)
strict_function("PARSE_URL", [_S, _S, _S], STRING, _parse_url, optional=1, may_be_null=True)
strict_function(
    "PRINTF",
    [_S, ANYTHING],
    STRING,
    make=lambda call, writer: java_format([each.type for each in call.arguments[1:]]),
    variadic=True,
    optional=1,
    takes_null=True,
    may_be_null=True,
)
strict_function("IS_ALPHA", [_S], BOOLEAN.not_null(), lambda text: bool(text) and text.isalpha(), takes_null=True)
strict_function("IS_DIGIT", [_S], BOOLEAN.not_null(), lambda text: bool(text) and text.isdigit(), takes_null=True)
strict_function("IS_DECIMAL", [_S], BOOLEAN.not_null(), _is_decimal, takes_null=True)
strict_function("INET_ATON", [_S], BIGINT, _inet_aton, may_be_null=True)
strict_function("INET_NTOA", [A_BIGINT], STRING, _inet_ntoa, may_be_null=True)
