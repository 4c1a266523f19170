"""What `pyflink.table` has and Penstock has not, under its reason; `exclusions` takes it over."""

from __future__ import annotations

TABLE = "pyflink.table"
CATALOG = f"{TABLE}.catalog"
ENVIRONMENT = f"{TABLE}.table_environment:TableEnvironment"
TYPES = f"{TABLE}.types"

_STATISTICS = """get_table_statistics get_table_column_statistics get_partition_statistics bulk_get_partition_statistics
    get_partition_column_statistics bulk_get_partition_column_statistics alter_table_statistics
    alter_table_column_statistics alter_partition_statistics alter_partition_column_statistics"""
_PARTITIONS = "list_partitions get_partition partition_exists create_partition drop_partition alter_partition"
_MODELS = "list_models get_model model_exists drop_model rename_model create_model alter_model"
_TYPE_CLASSES = """AtomicType NullType NumericType IntegralType FractionalType CharType VarCharType BinaryType
    VarBinaryType
    BooleanType TinyIntType SmallIntType IntType BigIntType FloatType DoubleType DecimalType DateType TimeType
    TimestampType LocalZonedTimestampType ZonedTimestampType YearMonthIntervalType DayTimeIntervalType ArrayType
    ListViewType MapType MapViewType MultisetType RowField RowType RawType"""
_COLUMN_METHODS = """physical computed metadata with_comment is_physical is_persisted get_data_type get_name get_comment
    as_summary_string explain_extras copy rename"""
_KINDS_OF_COLUMNS = """PhysicalColumn.with_comment PhysicalColumn.is_physical PhysicalColumn.is_persisted
    PhysicalColumn.explain_extras PhysicalColumn.copy PhysicalColumn.rename ComputedColumn.with_comment
    ComputedColumn.is_physical ComputedColumn.is_persisted ComputedColumn.get_expression ComputedColumn.explain_extras
    ComputedColumn.copy ComputedColumn.rename MetadataColumn.get_metadata_key MetadataColumn.with_comment
    MetadataColumn.is_physical MetadataColumn.is_persisted MetadataColumn.explain_extras MetadataColumn.copy
    MetadataColumn.rename WatermarkSpec.of WatermarkSpec.get_rowtime_attribute
    WatermarkSpec.get_watermark_expression WatermarkSpec.as_summary_string Constraint UniqueConstraint
    ResolvedSchema.of ResolvedSchema.physical ResolvedSchema.get_columns ResolvedSchema.get_column
    ResolvedSchema.get_watermark_specs ResolvedSchema.get_primary_key ResolvedSchema.get_primary_key_indexes
    ResolvedSchema.to_source_row_data_type ResolvedSchema.to_physical_row_data_type
    ResolvedSchema.to_sink_row_data_type"""
_ENTRIES = """CatalogBaseTable CatalogDatabase.create_instance CatalogDatabase.get_properties
    CatalogDatabase.get_comment
    CatalogDatabase.copy CatalogDatabase.get_description CatalogDatabase.get_detailed_description
    CatalogFunction.create_instance CatalogFunction.get_class_name CatalogFunction.copy
    CatalogFunction.get_description CatalogFunction.get_detailed_description CatalogFunction.get_function_language
    CatalogFunction.get_options CatalogDescriptor ObjectPath.compare_to Catalog.alter_database Catalog.alter_table
    Catalog.create_function Catalog.alter_function"""


def _all(prefix: str, names: str) -> set[str]:
    return {f"{prefix}{name}" for name in names.split()}


MISSING: dict[str, set[str]] = {
    "a plan is not kept in Flink's JSON: a query finds its state by what it does": {
        f"{TABLE}:CompiledPlan",
        f"{TABLE}:PlanReference",
        f"{TABLE}.compiled_plan",
        f"{TABLE}.statement_set:StatementSet.compile_plan",
        f"{TABLE}.table_pipeline:TablePipeline.compile_plan",
        *_all(f"{ENVIRONMENT}.", "load_plan compile_plan_sql execute_plan"),
    },
    "models and calls of them are not on Penstock's list": {
        f"{TABLE}.model_descriptor",
        f"{CATALOG}:CatalogModel",
        *_all(f"{CATALOG}:Catalog.", _MODELS),
        *_all(
            f"{ENVIRONMENT}.",
            "list_models list_temporary_models drop_temporary_model drop_model create_model create_temporary_model",
        ),
    },
    "functions and objects of the JVM": {
        *_all(
            f"{ENVIRONMENT}.",
            "create_java_temporary_system_function create_java_function create_java_temporary_function",
        ),
        f"{TABLE}.module:HiveModule",
        f"{TABLE}.resolved_expression",
        f"{CATALOG}:HiveCatalog",
        f"{CATALOG}:JdbcCatalog",
        f"{CATALOG}:Procedure",
        f"{CATALOG}:Catalog.list_procedures",
        f"{CATALOG}:Catalog.get_procedure",
    },
    "there is one module of functions, Flink's core module": {
        *_all(f"{ENVIRONMENT}.", "load_module unload_module use_modules"),
    },
    "materialized tables are not on Penstock's list": {
        f"{ENVIRONMENT}.list_materialized_tables",
        f"{CATALOG}:Catalog.list_materialized_tables",
    },
    "superseded by Schema and TableDescriptor in Flink itself": {f"{TABLE}.descriptors"},
    "empty in PyFlink": {f"{TABLE}.functions"},
    "catalogs keep no statistics and no partitions: Spark and the files know them": {
        *_all(f"{CATALOG}:Catalog.", _STATISTICS),
        *_all(f"{CATALOG}:Catalog.", _PARTITIONS),
        *_all(f"{CATALOG}:", "CatalogPartition CatalogPartitionSpec CatalogTableStatistics CatalogColumnStatistics"),
    },
    "entries of catalogs are plain data here, made by SQL or by TableDescriptor": {
        *_all(f"{CATALOG}:", _ENTRIES),
        *_all(f"{CATALOG}:Column.", _COLUMN_METHODS),
        *_all(f"{CATALOG}:", _KINDS_OF_COLUMNS),
        f"{ENVIRONMENT}.create_catalog",
    },
    "all types of columns are one class, which DataTypes makes": {
        *_all(f"{TYPES}:", _TYPE_CLASSES),
        *_all(f"{TYPES}:DataType.", "type_name need_conversion to_sql_type from_sql_type"),
        f"{TYPES}:Resolution.unit",
        f"{TYPES}:Resolution.IntervalUnit",
        f"{TYPES}:UserDefinedType",
        f"{TABLE}:UserDefinedType",
    },
}
