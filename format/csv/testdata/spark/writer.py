"""Writes what PySpark's CSV writer makes of the rows below, by the options of each case, into writer.txt.

    pip install pyspark==4.3.0
    python3 writer.py

Where Spark loses something by its own options (a backslash as escape, blanks around values, parts of seconds) the case says otherwise.
"""
import datetime
import decimal
import glob
import json
import os
import shutil
import sys
import tempfile
import time

os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession  # noqa: E402

SCHEMA = "s STRING, i INT, d DOUBLE, n DECIMAL(10,2), b BOOLEAN, day DATE, ts TIMESTAMP"
TEXTS = ["plain", "", None, " blanks ", "a,b", "a;b", 'say "x"', '"begins', "back\\slash", "line\nbreak", "cr\rin", "NULL", "#c", "'single'", "tab\tin", "\u00e9\u4e16", "a|b", '""', "-"]
EXACT = {"escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
CASES = [
    {},
    {"header": "true", "sep": ";"},
    {"sep": "\t", "quoteAll": "true"},
    {"quote": "'", "escape": "'"},
    {"escape": "\\", "charToEscapeQuoteEscaping": "\\"},
    {"escapeQuotes": "false"},
    {"emptyValue": "-"},
    {"emptyValue": ""},
    {"nullValue": "nothing", "dateFormat": "dd.MM.yyyy", "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSSXXX"},
    {"sep": "||"},
    {"lineSep": "|"},
]


def main():
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = []
    for n, t in enumerate(TEXTS):
        if n == 2:
            rows.append((t,) + (None,) * 6)
            continue
        rows.append((t, n - 5, n * 1.5 - 3, decimal.Decimal(n) / 4, n % 2 == 0, datetime.date(2024, 2, 1 + n),
                     datetime.datetime(2024, 2, 1 + n, n, 59, 1, n * 1001, tzinfo=datetime.timezone.utc)))
    df = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "writer.txt"), "w", newline="") as out:
        for case in CASES:
            options = dict(EXACT, **case)
            folder = tempfile.mkdtemp()
            df.write.mode("overwrite").options(**options).csv(folder)
            text = "".join(open(f, newline="").read() for f in sorted(glob.glob(folder + "/part-*")))
            shutil.rmtree(folder)
            out.write(json.dumps({"options": {k: v for k, v in options.items() if not k.startswith("ignore")}, "text": text}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
