"""Evaluates the queries of the golden files with PySpark and writes what it gives behind them.

    make golden                       # all files; FILES=eval/dialect/testdata/spark/numbers.txt for one

which is

    pip install pyspark==4.3.0        # Java 19 or newer: older ones write some doubles with too many digits
    python3 golden.py numbers.txt ... # rewrites the files

A file is a list of blocks with an empty line between them. A block is a query, and below it

    : INT, STRING        the types of its columns
    > 1 | "a"            its rows, in order, when the query ends with ORDER BY
    = 1 | "a"            its rows, sorted as text, otherwise
    ! CODE               the error it raises when it runs
    !! CODE              the error that says it is no valid query
    refused CODE         Sluice refuses it, although Spark does not
    differs WHY          Sluice gives another value; docs/sql.md says so

The last two are written by hand and kept. A line "# zone: Europe/Berlin" at the top sets the session's time zone. Times are
printed in UTC, texts as JSON, bytes as X'..'.
"""
import datetime
import decimal
import json
import math
import os
import re
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import types as T  # noqa: E402


def text(v, t):
    """Prints a value of a type so that another program can print the same."""
    if v is None:
        return "NULL"
    if isinstance(t, T.BooleanType):
        return "true" if v else "false"
    if isinstance(t, T.DecimalType):
        return format(v.quantize(decimal.Decimal(1).scaleb(-t.scale), context=decimal.Context(prec=80)), "f")
    if isinstance(t, (T.FloatType, T.DoubleType)):
        if math.isnan(v):
            return "NaN"
        return ("-" if v < 0 else "") + "Infinity" if math.isinf(v) else repr(v)
    if isinstance(t, T.StringType):
        return json.dumps(v, ensure_ascii=True)
    if isinstance(t, T.BinaryType):
        return "X'" + bytes(v).hex().upper() + "'"
    if isinstance(t, (T.TimestampType, T.TimestampNTZType)):
        return v.isoformat(sep=" ", timespec="microseconds")
    if isinstance(t, T.ArrayType):
        return "[" + ", ".join(text(x, t.elementType) for x in v) + "]"
    if isinstance(t, T.MapType):
        return "{" + ", ".join(text(k, t.keyType) + ": " + text(x, t.valueType) for k, x in v.items()) + "}"
    if isinstance(t, T.StructType):
        return "{" + ", ".join(f.name + ": " + text(x, f.dataType) for f, x in zip(t.fields, v)) + "}"
    return str(v)


def ddl(t):
    """Prints a type as Sluice does."""
    if isinstance(t, T.ArrayType):
        return "ARRAY<" + ddl(t.elementType) + ">"
    if isinstance(t, T.MapType):
        return "MAP<" + ddl(t.keyType) + ", " + ddl(t.valueType) + ">"
    if isinstance(t, T.StructType):
        return "STRUCT<" + ", ".join(quoted(f.name) + ": " + ddl(f.dataType) for f in t.fields) + ">"
    return t.simpleString().upper()


def quoted(name):
    return name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def evaluate(spark, query):
    def code(e):
        condition = getattr(e, "getCondition", lambda: None)()
        cause = getattr(e, "java_exception", None)
        while not condition and cause is not None:
            if cause.getClass().getName().startswith("org.apache.spark."):
                condition = cause.getCondition()
            cause = cause.getCause()
        return condition or type(e).__name__

    try:
        frame = spark.sql(query)
        fields = frame.schema.fields
        lines = [": " + ", ".join(ddl(f.dataType) for f in fields)]
    except Exception as e:
        return ["!! " + code(e)]
    try:
        rows = [" | ".join(text(v, f.dataType) for v, f in zip(row, fields)) for row in frame.collect()]
    except Exception as e:
        return lines + ["! " + code(e)]
    ordered = re.search(r"ORDER BY [^()]*$", query)
    return lines + [("> " if ordered else "= ") + r for r in (rows if ordered else sorted(rows))]


def main():
    for path in sys.argv[1:]:
        blocks = open(path, encoding="utf-8").read().strip("\n").split("\n\n")
        zone = "UTC"
        if m := re.match(r"# zone: (\S+)", blocks[0]):
            zone = m.group(1)
        spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
                 .config("spark.sql.session.timeZone", zone).config("spark.sql.shuffle.partitions", "1").getOrCreate())
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.sparkContext.setLogLevel("OFF")
        out = []
        for block in blocks:
            lines = block.split("\n")
            if lines[0].startswith("#"):
                out.append(block)
                continue
            kept = [line for line in lines[1:] if line.startswith(("refused ", "differs "))]
            out.append("\n".join([lines[0]] + evaluate(spark, lines[0]) + kept))
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n\n".join(out) + "\n")


main()
