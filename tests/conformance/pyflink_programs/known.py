"""Programs whose result differs from PyFlink's on purpose, each with words of its line in docs/differences.md."""

from __future__ import annotations

_NONE = "None is an element like any other"
_NO_TIME = "An element without a time has the timestamp None"
_TAKEN = "More values are accepted than in PyFlink"
_NOT_RIGHT = "Bugs of PyFlink 2.3 are not reproduced"
_RECORD = "A text, bytes, a dict or a Row that is returned"
_AS_PUT = "State changes only through its methods"

KNOWN: dict[str, str] = {
    "streams/map_to_none": _NONE,
    "streams/flat_map_none": _NONE,
    "streams/process_without_time": _NO_TIME,
    "watermarks/without_assigner": _NO_TIME,
    "watermarks/without_time": _NO_TIME,
    "keyed/sum_text": "`sum` adds numbers only",
    "side_outputs/unread": _NOT_RIGHT,
    "timers/register_in_timer": _NOT_RIGHT,
    "triggers/tumbling_continuous_event_time": _NOT_RIGHT,
    "triggers/session_continuous_event_time": _NOT_RIGHT,
    "triggers/tumbling_continuous_stepwise": _NOT_RIGHT,
    "types_and_rows/float": "FLOAT at collect",
    "types_and_rows/bytes": "PRIMITIVE_ARRAY(BYTE) is `bytes`",
    "types_and_rows/char": _TAKEN,
    "types_and_rows/none_string": _TAKEN,
    "types_and_rows/none_int": _TAKEN,
    "types_and_rows/big_int": _TAKEN,
    "types_and_rows/time": _TAKEN,
    "types_and_rows/timestamp": _TAKEN,
    "types_and_rows/row_of_tuple": _TAKEN,
    "types_and_rows/instant": _TAKEN,
    "state/value_update_none": _AS_PUT,
    "state/changed_before_update": _AS_PUT,
    "state/changed_without_update": _AS_PUT,
    "handled_state/map_none": _NOT_RIGHT,
    "handled_state/list_of_rows": "Typed state has its type at once",
    "handled_state/list_add_none": _TAKEN,
    "returned/reduce_none": _NONE,
    "returned/process_text": _RECORD,
    "returned/process_dict": _RECORD,
    "returned/keyed_process_text": _RECORD,
    "returned/flat_map_text": _RECORD,
    "returned/co_flat_map_text": _RECORD,
    "returned/failing_close": "A failing `close()` fails the job",
    "returned/asks_max_parallelism": "is the number of key groups",
    "rows_asked/types_equal": "Row types with different names are not equal",
    "state/map_put_all": "`put_all` takes a dict",
}
