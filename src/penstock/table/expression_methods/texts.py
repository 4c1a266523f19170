"""Methods of `Expression` on texts, and digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_methods.numbers import one
from penstock.table.expression_methods.term import Term, call_node, term_of

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["TextMethods"]


class TextMethods(Term):
    """Functions of texts."""

    char_length = one("charLength", "CHAR_LENGTH", "How many characters there are.")
    upper_case = one("upper", "UPPER", "The text in capitals.")
    lower_case = one("lower", "LOWER", "The text in small letters.")
    init_cap = one("initCap", "INITCAP", "The text with a capital at the beginning of each word.")
    from_base64 = one("fromBase64", "FROM_BASE64", "The text that is encoded in base 64.")
    to_base64 = one("toBase64", "TO_BASE64", "The text encoded in base 64.")
    ascii = one("ascii", "ASCII", "The code of the first character.")
    chr = one("chr", "CHR", "The character of a code.")
    reverse = one("reverse", "REVERSE", "The text backwards.")
    is_valid_utf8 = one("IS_VALID_UTF8", "IS_VALID_UTF8", "Whether bytes are text in UTF-8.")
    make_valid_utf8 = one("MAKE_VALID_UTF8", "MAKE_VALID_UTF8", "Text in UTF-8, what is none replaced.")
    md5 = one("md5", "MD5", "The MD5 digest in hexadecimal digits.")
    sha1 = one("sha1", "SHA1", "The SHA-1 digest in hexadecimal digits.")
    sha224 = one("sha224", "SHA224", "The SHA-224 digest in hexadecimal digits.")
    sha256 = one("sha256", "SHA256", "The SHA-256 digest in hexadecimal digits.")
    sha384 = one("sha384", "SHA384", "The SHA-384 digest in hexadecimal digits.")
    sha512 = one("sha512", "SHA512", "The SHA-512 digest in hexadecimal digits.")

    def sha2(self, hash_length: Any) -> Expression:
        """The SHA-2 digest of so many bits, in hexadecimal digits."""
        return self._call("sha2", "SHA2", hash_length)

    def concat(self, other: Any) -> Expression:
        """The text with another behind it."""
        return self._call("concat", "CONCAT", other)

    def starts_with(self, start_expr: Any) -> Expression:
        """Whether it begins with another text."""
        return self._call("STARTSWITH", "STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression:
        """Whether it ends with another text."""
        return self._call("ENDSWITH", "ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression:
        """The part from a place on, counted from 1."""
        return self._optional("substring", "SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Expression:
        """The part from a place on, counted from 1."""
        return self._optional("substr", "SUBSTR", begin_index, length)

    def trim_leading(self, character: Any = None) -> Expression:
        """The text without blanks, or other characters, at its beginning."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression:
        """The text without blanks, or other characters, at its end."""
        return self._trimmed("TRAILING", character)

    def trim(self, character: Any = None) -> Expression:
        """The text without blanks, or other characters, at both ends."""
        return self._trimmed("BOTH", character)

    def _trimmed(self, where: str, character: Any) -> Expression:
        cut = term_of(" " if character is None else character)
        sides = f"{str(where != 'TRAILING').lower()}, {str(where != 'LEADING').lower()}"
        node = call_node("TRIM", self._node, cut._node, options=(where,))
        return self._made(node, f"trim({sides}, {cut._text}, {self._text})")

    def replace(self, search: Any = None, replacement: Any = None) -> Expression:
        """The text with each occurrence of another replaced."""
        return self._call("replace", "REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression:
        """The text with characters replaced by those at the same places of another text."""
        return self._call("translate", "TRANSLATE", from_str, to_str)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression:
        """Whether it is like a pattern, in which % stands for any text and _ for any character."""
        return self._optional("LIKE", "LIKE", pattern, escape)

    def similar(self, pattern: Any = None) -> Expression:
        """Whether it matches a regular expression of SQL."""
        return self._call("similar", "SIMILAR TO", pattern)

    def position(self, haystack: Any = None) -> Expression:
        """Where it is in another text, counted from 1; 0 if it is not."""
        return self._call("position", "POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression:
        """The text, brought to a length by another on its left."""
        return self._call("lpad", "LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression:
        """The text, brought to a length by another on its right."""
        return self._call("rpad", "RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression:
        """The text with a part from a place on replaced."""
        return self._optional("overlay", "OVERLAY", new_string, starting, length)

    def regexp(self, regex: Any) -> Expression:
        """Whether a part of it matches a regular expression of Java."""
        return self._call("REGEXP", "REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression:
        """How often a regular expression matches."""
        return self._call("REGEXP_COUNT", "REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression:
        """The text with what a regular expression matches replaced."""
        return self._call("REGEXP_REPLACE", "REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression:
        """What a group of a regular expression matches."""
        return self._optional("REGEXP_EXTRACT", "REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression:
        """All that a group of a regular expression matches."""
        return self._optional("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression:
        """Where a regular expression matches first, counted from 1."""
        return self._call("REGEXP_INSTR", "REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression:
        """What a regular expression matches first."""
        return self._call("REGEXP_SUBSTR", "REGEXP_SUBSTR", regex)

    def decode(self, charset: Any) -> Expression:
        """Text of bytes in a character set."""
        return self._call("decode", "DECODE", charset)

    def encode(self, charset: Any) -> Expression:
        """Bytes of a text in a character set."""
        return self._call("encode", "ENCODE", charset)

    def left(self, length: Any) -> Expression:
        """The first characters."""
        return self._call("left", "LEFT", length)

    def right(self, length: Any) -> Expression:
        """The last characters."""
        return self._call("right", "RIGHT", length)

    def instr(self, s: Any) -> Expression:
        """Where another text is in it, counted from 1; 0 if it is not."""
        return self._call("instr", "INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Expression:
        """Where it is in another text, from a place on, counted from 1."""
        return self._optional("locate", "LOCATE", s, pos)

    def url_decode(self) -> Expression:
        """Text of a URL, decoded."""
        return self._call("URL_DECODE", "URL_DECODE")

    def url_encode(self) -> Expression:
        """Text, encoded for a URL."""
        return self._call("URL_ENCODE", "URL_ENCODE")

    def inet_aton(self) -> Expression:
        """The number of an IP address."""
        return self._call("INET_ATON", "INET_ATON")

    def inet_ntoa(self) -> Expression:
        """The IP address of a number."""
        return self._call("INET_NTOA", "INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression:
        """A part of a URL: HOST, PATH, QUERY (with a key), REF, PROTOCOL, AUTHORITY, FILE, USERINFO."""
        return self._optional("parseUrl", "PARSE_URL", part_to_extract, key)

    def printf(self, *obj: Any) -> Expression:
        """Values written by this pattern, as Java's String.format does."""
        return self._call("PRINTF", "PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression:
        """The text without blanks, or other characters, on its left."""
        return self._optional("ltrim", "LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Expression:
        """The text without blanks, or other characters, on its right."""
        return self._optional("rtrim", "RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Expression:
        """The text without blanks, or other characters, on both sides."""
        return self._optional("BTRIM", "BTRIM", trim_str)

    def repeat(self, n: Any) -> Expression:
        """The text so many times."""
        return self._call("repeat", "REPEAT", n)

    def split_index(self, separator: Any, index: Any) -> Expression:
        """A part of the text between separators, counted from 0."""
        return self._call("splitIndex", "SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression:
        """A map of a text like `a=1,b=2`."""
        if list_delimiter is None or key_value_delimiter is None:
            return self._call("strToMap", "STR_TO_MAP")
        return self._call("strToMap", "STR_TO_MAP", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Expression:
        """That of the others whose number it is, counted from 1."""
        return self._call("ELT", "ELT", expr, *exprs)

    def split(self, delimiter: Any) -> Expression:
        """The parts between delimiters, as an array."""
        return self._call("SPLIT", "SPLIT", delimiter)
