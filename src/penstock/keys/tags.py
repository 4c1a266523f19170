"""The first byte of every encoded key, and what the two directions share."""

from __future__ import annotations

from datetime import datetime, timedelta

TAG_NONE = 0x01
TAG_INT = 0x02
TAG_BIG_INT = 0x03
TAG_FLOAT = 0x04
TAG_NAN = 0x05
TAG_DECIMAL = 0x06
TAG_STR = 0x07
TAG_BYTES = 0x08
TAG_TUPLE = 0x09
TAG_LIST = 0x0A
TAG_SET = 0x0B
TAG_DICT = 0x0C
TAG_DATETIME = 0x0D
TAG_INSTANT = 0x0E
TAG_DATE = 0x0F
TAG_TIME = 0x10
TAG_TIME_UTC = 0x11
TAG_TIMEDELTA = 0x12
TAG_UUID = 0x13
TAG_ENUM = 0x14
TAG_FLAG = 0x15
TAG_DATACLASS = 0x16
TAG_ROW = 0x17

INT_OFFSET = 2**63  # added to ints of 64 bits, so that they sort as bytes do
LONG_LENGTH = 0xFF  # a length of 255 and more follows in four bytes
MICROSECOND = timedelta(microseconds=1)
FIRST_MOMENT = datetime(1, 1, 1)
