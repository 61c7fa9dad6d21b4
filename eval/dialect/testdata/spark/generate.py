"""Writes queries of functions and operators that docs/sql.md calls exact, over values at the edges of their types.

    python3 generate.py SEED COUNT > random.txt     # beside the other golden files
    make golden FILES=eval/dialect/testdata/spark/random.txt
    go test ./eval/dialect ./eval -run 'Spark.*/random'

compares types, values and errors. What differs becomes a block of another golden file and is mended or refused; random.txt is not
kept. Of no account are: years outside 1 to 9999 and the order of a map's entries, which Python does not keep, and results that
docs/sql.md names as different.
"""
import random
import sys

seed, count = int(sys.argv[1]), int(sys.argv[2])
pick = random.Random(seed)

VALUES = {
    "tinyint": ["0Y", "1Y", "-1Y", "127Y", "-128Y"],
    "smallint": ["0S", "7S", "32767S", "-32768S"],
    "int": ["0", "1", "-1", "3", "-7", "31", "2147483647", "-2147483648"],
    "bigint": ["0L", "1L", "-1L", "100L", "9223372036854775807L", "-9223372036854775808L", "253402300799L"],
    "float": ["CAST(%s AS FLOAT)" % v for v in ("0.0D", "'-0'", "1.5", "-2.5", "'NaN'", "'Infinity'", "'-Infinity'", "3.4028235e38", "1.4e-45", "0.1", "16777217")],
    "double": ["0.0D", "-0.0D", "1.5D", "-2.5D", "double('NaN')", "double('Infinity')", "double('-Infinity')", "1.7976931348623157e308D", "4.9e-324D", "0.1D", "1e15D", "-1e-7D", "9007199254740993D", "123456.789D"],
    "dec52": ["CAST(%s AS DECIMAL(5,2))" % v for v in ("0", "999.99", "-999.99", "0.01", "-0.05", "2.5", "-1.005")],
    "dec380": ["CAST('%s' AS DECIMAL(38,0))" % v for v in ("0", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "5", "-15")],
    "dec1810": ["CAST('%s' AS DECIMAL(18,10))" % v for v in ("0", "99999999.9999999999", "-0.0000000001", "1.5", "-2.0000000005")],
    "dec3838": ["CAST('%s' AS DECIMAL(38,38))" % v for v in ("0", "0.99999999999999999999999999999999999999", "-0.00000000000000000000000000000000000001", "0.5")],
    "string": ["''", "' '", "'a'", "'Abc'", "'abc,def,,'", "'e\\u0301x'", "'\\u00df\\u0130'", "'\\ud83d\\ude00z'", "'a\\nb'", "'%_\\\\\\\\'", "'12'", "' -7 '", "'1.5e3'", "'NaN'", "'true'", "'2024-02-29'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'2024-03-31 02:30:00'", "'A1b2\\tC'", "'zażółć'", "'\\uff21\\u01c5'", "'\\u0000'", "'aaa'"],
    "binary": ["X''", "X'00'", "X'616263'", "X'C3A9'", "X'7F41'"],
    "boolean": ["true", "false"],
    "date": ["DATE'%s'" % v for v in ("0001-01-01", "9999-12-31", "1970-01-01", "1969-12-31", "2024-02-29", "1900-03-01", "2023-12-31", "1582-10-15")],
    "timestamp": ["TIMESTAMP'%s'" % v for v in ("0001-01-02 00:00:00", "9999-12-30 23:59:59.999999", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-03-31 01:59:59", "2024-03-31 03:00:00", "2024-10-27 02:30:00", "2024-02-29 12:34:56.123456", "1883-11-18 12:00:00")],
    "ntz": ["TIMESTAMP_NTZ'%s'" % v for v in ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", "2024-03-31 02:30:00", "2024-10-27 02:30:00")],
    "ints": ["array()", "array(1)", "array(3, 1, NULL, 2, 1)", "array(NULL)", "array(2147483647, -2147483648)"],
    "doubles": ["array(0.0D, -0.0D)", "array(double('NaN'), NULL, 1.5D, double('NaN'))", "array(-0.0D)", "array(double('-Infinity'), 0.0D, double('Infinity'))"],
    "texts": ["array('')", "array('b', NULL, 'a', 'b')", "array('e\\u0301', '\\u00e9')", "array('A', 'a', '\\ud83d\\ude00', '\\uff21')"],
    "nested": ["array(array(1, NULL), NULL, array())", "array(array(1), array(1), array(0))"],
    "structs": ["array(named_struct('k', 1, 'v', 'x'), NULL, named_struct('k', NULL, 'v', 'y'))", "array(named_struct('k', 1, 'v', 'x'), named_struct('k', 1, 'v', 'x'))"],
    "map": ["map()", "map('a', 1)", "map('', NULL, 'b', 2)", "map('e\\u0301', -1, '\\u00e9', 1)"],
    "struct": ["named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', '')"],
}
DDL = {"dec52": "DECIMAL(5,2)", "dec380": "DECIMAL(38,0)", "dec1810": "DECIMAL(18,10)", "dec3838": "DECIMAL(38,38)", "ntz": "TIMESTAMP_NTZ", "ints": "ARRAY<INT>", "doubles": "ARRAY<DOUBLE>",
       "texts": "ARRAY<STRING>", "nested": "ARRAY<ARRAY<INT>>", "structs": "ARRAY<STRUCT<k: INT, v: STRING>>", "map": "MAP<STRING, INT>", "struct": "STRUCT<a: INT, b: STRING>"}
KINDS = {
    "whole": ["tinyint", "smallint", "int", "bigint"], "decimal": ["dec52", "dec380", "dec1810", "dec3838"], "real": ["float", "double"],
    "small": ["tinyint", "smallint", "int"], "time": ["date", "timestamp", "ntz"], "array": ["ints", "doubles", "texts", "nested", "structs"], "flat": ["ints", "doubles", "texts"],
}
KINDS["number"] = KINDS["whole"] + KINDS["decimal"] + KINDS["real"]
KINDS["atomic"] = KINDS["number"] + ["string", "binary", "boolean"] + KINDS["time"]
KINDS["sorted"] = KINDS["number"] + ["string", "boolean", "date", "timestamp"]
KINDS["any"] = KINDS["atomic"] + KINDS["array"] + ["map", "struct"]

# A call: its text, and the types or kinds of its arguments. A kind with a number (any1) is the same type wherever it stands.
CALLS = """
{} + {}|number number
{} - {}|number number
{} * {}|number number
{} / {}|number number
{} DIV {}|number number
{} % {}|number number
-{}|number
{} + {}|number1 number1
{} * {}|decimal decimal
{} / {}|decimal decimal
{} & {}|whole whole
{} | {}|whole whole
{} ^ {}|whole whole
~{}|whole
{} << {}|whole small
{} >> {}|whole small
{} >>> {}|whole small
{} || {}|atomic atomic
{} = {}|any1 any1
{} = {}|number number
{} < {}|number number
{} <= {}|sorted1 sorted1
{} <=> {}|any1 any1
{} <=> {}|number number
{} = {}|string number
{} > {}|string time
{} BETWEEN {} AND {}|sorted1 sorted1 sorted1
{} IN ({}, NULL)|any1 any1
{} LIKE 'a%'|string
{} RLIKE '^[a-z]+$'|string
{} IS NULL|any
CASE WHEN {} THEN {} ELSE {} END|boolean number number
CASE {} WHEN {} THEN 1 ELSE 2 END|number number
{} + INTERVAL 1 MONTH|time
{} - INTERVAL '1 2:03:04' DAY TO SECOND|time
{} + INTERVAL 1 DAY|time
{}[{}]|array small
{}[{}]|map string
CAST({} AS STRING)|any
CAST({} AS INT)|number
CAST({} AS INT)|string
CAST({} AS BIGINT)|number
CAST({} AS TINYINT)|number
CAST({} AS DOUBLE)|number
CAST({} AS FLOAT)|number
CAST({} AS DOUBLE)|string
CAST({} AS DECIMAL(5,2))|number
CAST({} AS DECIMAL(38,10))|number
CAST({} AS DECIMAL(10,3))|string
CAST({} AS BOOLEAN)|string
CAST({} AS BOOLEAN)|number
CAST({} AS DATE)|string
CAST({} AS DATE)|time
CAST({} AS TIMESTAMP)|string
CAST({} AS TIMESTAMP)|time
CAST({} AS TIMESTAMP_NTZ)|time
CAST({} AS BINARY)|string
CAST({} AS INT)|boolean
CAST({} AS BIGINT)|timestamp
CAST({} AS DOUBLE)|timestamp
CAST({} AS ARRAY<STRING>)|flat
CAST({} AS ARRAY<DOUBLE>)|ints
TRY_CAST({} AS INT)|string
TRY_CAST({} AS TINYINT)|number
TRY_CAST({} AS TIMESTAMP)|string
TRY_CAST({} AS DECIMAL(5,2))|number
coalesce({}, {})|number number
nvl({}, {})|any1 any1
nullif({}, {})|any1 any1
nullif({}, {})|number number
if({}, {}, {})|boolean any1 any1
nullifzero({})|number
zeroifnull({})|number
equal_null({}, {})|any1 any1
greatest({}, {})|sorted1 sorted1
greatest({}, {}, {})|number number number
least({}, {})|number number
isnan({})|number
nanvl({}, {})|real real
abs({})|number
sign({})|number
ceil({})|number
floor({})|number
ceil({}, 1)|number
floor({}, -1)|number
ceil({}, 0)|number
round({})|number
round({}, 1)|number
round({}, -1)|number
round({}, 3)|decimal
bround({}, 1)|number
bround({}, -1)|number
rint({})|number
pmod({}, {})|number number
mod({}, {})|number number
try_add({}, {})|number number
try_subtract({}, {})|number number
try_multiply({}, {})|number number
try_divide({}, {})|number number
try_mod({}, {})|number number
sqrt({})|number
degrees({})|number
radians({})|number
bit_get({}, {})|whole small
bit_count({})|whole
shiftleft({}, {})|whole small
shiftright({}, {})|whole small
shiftrightunsigned({}, {})|whole small
bin({})|whole
hex({})|atomic
conv({}, 10, 16)|string
conv({}, 16, -10)|string
factorial({})|small
upper({})|string
lower({})|string
initcap({})|string
length({})|string
length({})|binary
octet_length({})|string
bit_length({})|string
trim({})|string
ltrim({}, {})|string string
btrim({}, {})|string string
trim(BOTH 'a' FROM {})|string
substring({}, {}, {})|string small small
substring({}, {})|string small
left({}, {})|string small
right({}, {})|string small
concat({}, {})|atomic atomic
concat({}, {})|array1 array1
concat_ws({}, {}, {})|string string texts
replace({}, {}, {})|string string string
translate({}, {}, {})|string string string
lpad({}, 5, {})|string string
rpad({}, 5, {})|string string
instr({}, {})|string string
locate({}, {}, {})|string string small
startswith({}, {})|string string
endswith({}, {})|string string
contains({}, {})|string string
split({}, ',')|string
split({}, '')|string
split({}, '', 2)|string
split({}, '[ab]', 2)|string
regexp_replace({}, '([a-z])', '<$1>')|string
regexp_extract_all({}, '[0-9a]', 0)|string
regexp_count({}, '.')|string
regexp_substr({}, '[^a]+')|string
reverse({})|string
reverse({})|array
split_part({}, ',', {})|string small
substring_index({}, ',', {})|string small
overlay({}, {}, {})|string string small
levenshtein({}, {})|string string
find_in_set({}, {})|string string
soundex({})|string
chr({})|whole
space({})|tinyint
repeat({}, 2)|string
ascii({})|string
base64({})|binary
unbase64({})|string
unhex({})|string
md5({})|string
sha1({})|binary
sha2({}, 256)|string
crc32({})|string
hash({})|atomic
hash({}, {})|any any
xxhash64({})|atomic
xxhash64({}, {})|array struct
date_add({}, {})|date small
date_sub({}, {})|date small
datediff({}, {})|date time
add_months({}, {})|date tinyint
months_between({}, {})|time time
timestampadd(MONTH, {}, {})|tinyint timestamp
timestampadd(HOUR, {}, {})|smallint timestamp
timestampdiff(DAY, {}, {})|time time
timestampdiff(MONTH, {}, {})|timestamp timestamp
timestampdiff(SECOND, {}, {})|timestamp ntz
next_day({}, 'MO')|date
dayname({})|time
monthname({})|time
last_day({})|time
year({})|time
quarter({})|time
month({})|time
weekofyear({})|time
dayofyear({})|time
dayofweek({})|time
weekday({})|time
hour({})|time
minute({})|timestamp
second({})|time
extract(SECOND FROM {})|timestamp
extract(YEAROFWEEK FROM {})|time
extract(DOW FROM {})|date
date_trunc('WEEK', {})|time
date_trunc('HOUR', {})|timestamp
date_trunc('QUARTER', {})|time
trunc({}, 'MM')|date
trunc({}, 'WEEK')|date
to_date({})|string
to_timestamp({})|string
try_to_timestamp({})|string
to_date({}, 'yyyy-MM-dd')|string
date_format({}, 'yyyy-MM-dd HH:mm:ss.SSS E a')|time
date_format({}, 'G y D Q')|time
unix_timestamp({})|time
from_unixtime({})|int
unix_seconds({})|timestamp
unix_millis({})|timestamp
unix_micros({})|timestamp
unix_date({})|date
timestamp_seconds({})|int
timestamp_millis({})|int
timestamp_micros({})|int
date_from_unix_date({})|smallint
make_date({}, {}, {})|smallint tinyint tinyint
make_timestamp(2024, 3, 31, {}, 30, {})|tinyint dec52
from_utc_timestamp({}, 'America/New_York')|timestamp
to_utc_timestamp({}, 'Asia/Kathmandu')|timestamp
array({}, {})|any1 any1
array({}, {})|number number
map({}, {})|sorted any
struct({}, {})|any any
size({})|array
size({})|map
element_at({}, {})|array small
element_at({}, {})|map string
try_element_at({}, {})|array small
get({}, {})|array small
array_contains({}, {})|ints whole
array_contains({}, {})|doubles real
array_contains({}, {})|texts string
map_keys({})|map
map_values({})|map
map_contains_key({}, {})|map string
array_append({}, {})|ints small
array_append({}, {})|doubles double
array_prepend({}, {})|texts string
array_compact({})|array
array_distinct({})|array
array_except({}, {})|array1 array1
array_intersect({}, {})|array1 array1
array_union({}, {})|array1 array1
array_union({}, {})|ints doubles
arrays_overlap({}, {})|array1 array1
array_insert({}, {}, {})|ints small int
array_join({}, {})|flat string
array_join({}, {}, {})|texts string string
array_max({})|array
array_min({})|array
array_position({}, {})|doubles double
array_position({}, {})|ints whole
array_remove({}, {})|doubles double
array_repeat({}, 2)|any
array_size({})|array
array_sort({})|array
sort_array({})|array
sort_array({}, false)|array
arrays_zip({}, {})|array array
flatten({})|nested
sequence({}, {}, 40000000)|int int
sequence({}, {}, INTERVAL 400 YEAR)|date date
slice({}, {}, {})|array small tinyint
map_concat({}, {})|map map
map_entries({})|map
map_from_arrays({}, {})|texts ints
map_from_entries({})|structs
str_to_map({})|string
transform({}, x -> x + 1)|ints
transform({}, x -> -x)|doubles
transform({}, (x, i) -> concat(x, i))|texts
filter({}, x -> x > 0)|doubles
filter({}, x -> x IS NULL)|array
exists({}, x -> x = 1)|ints
forall({}, x -> x < 2)|ints
aggregate({}, 0.0D, (s, x) -> s + x)|doubles
zip_with({}, {}, (x, y) -> x)|array array
map_filter({}, (k, v) -> v > 0)|map
transform_values({}, (k, v) -> concat(k, v))|map
transform_keys({}, (k, v) -> upper(k))|map
to_json({})|array
to_json({})|map
to_json({})|struct
to_json(struct({}, {}))|atomic atomic
to_csv(struct({}, {}))|atomic sorted
get_json_object({}, '$.a')|string
typeof({})|any
from_json(to_json(struct({} AS a)), 'a STRING')|any
from_json(to_json(struct({} AS a)), 'a DOUBLE')|real
from_json(to_json(struct({} AS a)), 'a TIMESTAMP, b INT')|timestamp
stack(2, {}, {})|any1 any1
max({})|sorted
min({})|sorted
sum({})|whole
sum({})|decimal
avg({})|dec52
count(DISTINCT {})|any
collect_set({})|sorted
collect_list({})|any
first({})|any
max_by({}, {})|any sorted
median({})|number
percentile({}, 0.3)|number
bit_xor({})|whole
count_if({})|boolean
bool_and({})|boolean
""".strip().split("\n")


def known(kind, chosen):
    """The type that a kind stands for, the same each time where the kind has a number."""
    name = kind.rstrip("0123456789") if kind.rstrip("0123456789") in KINDS else kind
    if kind not in chosen or name == kind:
        chosen[kind] = pick.choice(KINDS.get(name, [name]))
    return chosen[kind]


def query():
    text, kinds = pick.choice(CALLS).rsplit("|", 1)
    chosen, columns, arguments = {}, [], []
    for kind in kinds.split():
        typ = known(kind, chosen)
        value = pick.choice(VALUES[typ]) if pick.random() > 0.1 else "CAST(NULL AS %s)" % DDL.get(typ, typ)
        if typ in ("ints", "map") and value.endswith("()"):
            value = "CAST(%s AS %s)" % (value, DDL[typ])
        if pick.random() < 0.8:
            columns.append(value)
            value = "c%d" % len(columns)
        arguments.append(value)
    for argument in arguments:
        text = text.replace("{}", argument, 1)
    if not columns:
        return "SELECT " + text
    return "SELECT %s FROM VALUES (%s) t(%s)" % (text, ", ".join(columns), ", ".join("c%d" % (i + 1) for i in range(len(columns))))


queries = []
while len(queries) < count:
    if (q := query()) not in queries:
        queries.append(q)
print("\n\n".join(queries))
