"""The programs that are not passed, by the reason, among the two thirds that `extract_programs.sh` writes."""

from __future__ import annotations

NOT_PASSED: dict[str, list[str]] = {
    "written in Java's Table API, which the dump cannot hold": [
        "FromChangelogTestPrograms.from-changelog-table-api-default",
        "ProcessTableFunctionTestPrograms.process-optional-partition-by-table-api",
        "ProcessTableFunctionTestPrograms.process-row-table-api",
        "ProcessTableFunctionTestPrograms.process-row-table-api-inline",
        "ProcessTableFunctionTestPrograms.process-scalar-args-table-api",
        "ProcessTableFunctionTestPrograms.process-set-table-api",
        "ProcessTableFunctionTestPrograms.process-time-conversions-table-api",
        "ProcessTableFunctionTestPrograms.process-typed-row-table-api",
        "QueryOperationTestPrograms.aggregate-query-no-group-by-operation",
        "QueryOperationTestPrograms.aggregate-query-operation",
        "QueryOperationTestPrograms.filter-query-operation",
        "QueryOperationTestPrograms.group-window-aggregate-hop-event-time",
        "QueryOperationTestPrograms.inline-function-serialization",
        "QueryOperationTestPrograms.join-non-window-inner-join",
        "QueryOperationTestPrograms.join-query-operation",
        "QueryOperationTestPrograms.order-by-query-operation",
        "QueryOperationTestPrograms.over-window-lag",
        "QueryOperationTestPrograms.over-window-range",
        "QueryOperationTestPrograms.over-window-rows",
        "QueryOperationTestPrograms.over-window-rows-unbounded-no-partition",
        "QueryOperationTestPrograms.ptf-typed-set-semantic-table",
        "QueryOperationTestPrograms.sort-limit-desc",
        "QueryOperationTestPrograms.source-query-operation",
        "QueryOperationTestPrograms.sql-query-operation",
        "QueryOperationTestPrograms.union-all-query-operation",
        "QueryOperationTestPrograms.values-query-operation",
    ],
    "a Java function": [
        "AsyncCalcTestPrograms.async-calc-complex",
        "AsyncCalcTestPrograms.async-calc-condition",
        "AsyncCalcTestPrograms.async-calc-nested",
        "AsyncCalcTestPrograms.async-calc-simple",
        "AsyncCorrelateTestPrograms.async-correlate-left-join",
        "AsyncCorrelateTestPrograms.async-correlate-system-func",
        "CalcTestPrograms.calc-udf-simple",
        "CorrelateTestPrograms.correlate-catalog-func",
        "CorrelateTestPrograms.correlate-join-filter",
        "CorrelateTestPrograms.correlate-left-join",
        "CorrelateTestPrograms.correlate-system-func",
        "GroupAggregateTestPrograms.group-aggregate-udf-with-merge",
        "OverAggregateTestPrograms.over-aggregate-bounded-non-partitioned-rows",
        "OverAggregateTestPrograms.over-aggregate-bounded-partitioned-preceding-rows",
        "OverAggregateTestPrograms.over-aggregate-bounded-partitioned-rows-with-out-of-order-records",
        "OverAggregateTestPrograms.over-aggregate-unbounded-partitioned-rows",
        "OverAggregateTestPrograms.over-aggregate-unbounded-partitioned-rows-with-out-of-order-records",
        "ProcessTableFunctionTestPrograms.process-chained-time",
        "ProcessTableFunctionTestPrograms.process-clearing-state",
        "ProcessTableFunctionTestPrograms.process-context",
        "ProcessTableFunctionTestPrograms.process-interval-day-args",
        "ProcessTableFunctionTestPrograms.process-interval-year-args",
        "ProcessTableFunctionTestPrograms.process-invalid-row-kind",
        "ProcessTableFunctionTestPrograms.process-invalid-row-semantic-table-timers",
        "ProcessTableFunctionTestPrograms.process-late-events",
        "ProcessTableFunctionTestPrograms.process-late-events-restore",
        "ProcessTableFunctionTestPrograms.process-multi-input-order-by",
        "ProcessTableFunctionTestPrograms.process-multi-input-order-by-restore",
        "ProcessTableFunctionTestPrograms.process-multi-input-restore",
        "ProcessTableFunctionTestPrograms.process-optional-on-time",
        "ProcessTableFunctionTestPrograms.process-order-by",
        "ProcessTableFunctionTestPrograms.process-order-by-restore",
        "ProcessTableFunctionTestPrograms.process-order-by-table-api",
        "ProcessTableFunctionTestPrograms.process-partitioned-named-timers",
        "ProcessTableFunctionTestPrograms.process-partitioned-unnamed-timers",
        "ProcessTableFunctionTestPrograms.process-pojo-args",
        "ProcessTableFunctionTestPrograms.process-pojo-state",
        "ProcessTableFunctionTestPrograms.process-pojo-state-time",
        "ProcessTableFunctionTestPrograms.process-regular-timestamp",
        "ProcessTableFunctionTestPrograms.process-row",
        "ProcessTableFunctionTestPrograms.process-row-semantic-table-restore",
        "ProcessTableFunctionTestPrograms.process-scalar-args",
        "ProcessTableFunctionTestPrograms.process-set",
        "ProcessTableFunctionTestPrograms.process-set-pass-through",
        "ProcessTableFunctionTestPrograms.process-state-ttl",
        "ProcessTableFunctionTestPrograms.process-stateful-multi-input-with-timeout",
        "ProcessTableFunctionTestPrograms.process-typed-row",
        "ProcessTableFunctionTestPrograms.process-typed-set",
        "ProcessTableFunctionTestPrograms.process-updating-input-enforced-retract",
        "ProcessTableFunctionTestPrograms.process-updating-input-partial-deletes",
        "ProcessTableFunctionTestPrograms.process-updating-input-upsert",
        "ProcessTableFunctionTestPrograms.process-updating-multi-input",
        "ProcessTableFunctionTestPrograms.process-updating-output-retract",
        "ProcessTableFunctionTestPrograms.process-updating-output-upsert-restore",
        "QueryOperationTestPrograms.group-aggregate-udf-with-merge",
        "QueryOperationTestPrograms.lateral-join-query-operation",
        "QueryOperationTestPrograms.ptf-order-by",
    ],
    "an ML model": [
        "MLPredictTestPrograms.async-ml-predict-model-api",
        "MLPredictTestPrograms.async-ml-predict-table-api",
        "MLPredictTestPrograms.async-ml-predict-table-api-map-expression-config",
        "MLPredictTestPrograms.async-unordered-ml-predict",
        "MLPredictTestPrograms.sync-ml-predict-with-runtime-options",
        "QueryOperationTestPrograms.async-ml-predict-model-api",
        "QueryOperationTestPrograms.async-ml-predict-table-api-map-expression-config",
    ],
    "VECTOR_SEARCH": [
        "VectorSearchTestPrograms.async-vector-search",
        "VectorSearchTestPrograms.sync-vector-search",
    ],
    "batch mode: a window on a column that is no time attribute": [
        "WindowTableFunctionTestPrograms.window-table-function-tumble-tvf-union-all",
    ],
    "type BITMAP": [
        "BitmapSemanticTest.bitmap-as-distinct-key",
        "BitmapSemanticTest.bitmap-as-group-by-key",
        "BitmapSemanticTest.bitmap-as-order-by-key",
        "BitmapSemanticTest.bitmap-as-udaf-arg",
        "BitmapSemanticTest.bitmap-as-udtf-arg",
        "BitmapSemanticTest.builtin-agg",
        "BitmapSemanticTest.builtin-agg-with-retraction",
    ],
    "where mini-batches of a DISTINCT aggregate are cut": [
        "GroupAggregateTestPrograms.group-aggregate-distinct-mini-batch",
    ],
    "a temporal table function of the Table API": [
        "TemporalJoinTestPrograms.temporal-join-temporal-function",
    ],
    "type VARIANT": [
        "VariantSemanticTest.builtin-agg",
        "VariantSemanticTest.builtin-agg-with-retraction",
        "VariantSemanticTest.parse-json-fail-malformed-json",
        "VariantSemanticTest.try-parse-json-handle-malformed-json",
        "VariantSemanticTest.variant-array-access",
        "VariantSemanticTest.variant-array-access-with-different-index-types",
        "VariantSemanticTest.variant-as-agg-key",
        "VariantSemanticTest.variant-as-udaf-arg",
        "VariantSemanticTest.variant-nested-access",
        "VariantSemanticTest.variant-object-access",
        "VariantSemanticTest.variant-object-error-access",
    ],
}
"""Their keys, by what they need."""

REASONS = {key: reason for reason, keys in NOT_PASSED.items() for key in keys}


def disagreements(outcomes: dict[str, str | None]) -> list[str]:
    """Where outcomes (None, or why a program failed) and the list differ."""
    passed = [key for key, problem in outcomes.items() if problem is None]
    failed = {key: problem for key, problem in outcomes.items() if problem is not None}
    stale = [f"{key} passes: take it off the list of not_passed.py" for key in passed if key in REASONS]
    new = [
        f"{key} fails and is not on the list of not_passed.py: {why}"
        for key, why in failed.items()
        if key not in REASONS
    ]
    return stale + new
