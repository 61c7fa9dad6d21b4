#!/usr/bin/env python3
"""Takes one batch of rows from standard input, one JSON object a line, and writes it to out/alerts.

Sluice starts this once per batch and takes exit code 0 for "accepted", 75 for "try again" and any other for "stop the
flow". A batch whose answer got lost comes again under the same number, with the same rows; so the file is called by
that number, and writing it twice is writing it once.
"""
import json
import os
import sys

name = "{SLUICE_FLOW}-{SLUICE_GENERATION}-{SLUICE_BATCH}.txt".format(**os.environ)
lines = []
for text in sys.stdin:
    row = json.loads(text)
    lines.append(f"{row['ts']}  {row['symbol']}: {row['volume']} shares at {row['close']}\n")

if len(lines) != int(os.environ["SLUICE_ROWS"]):
    sys.exit(75)  # the daemon was killed while it wrote: the whole batch comes again

if lines:
    os.makedirs("out/alerts", exist_ok=True)
    path = os.path.join("out/alerts", name)
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.writelines(lines)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".part", path)
    print(f"{len(lines)} alerts in {path}", file=sys.stderr)
