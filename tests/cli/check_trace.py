# SPDX-License-Identifier: Apache-2.0
"""check_trace.py TRACE [KEY=VALUE...]: says what is wrong with a trace that gpusort wrote.

The file must be JSON of Chrome's trace event format, with a name for every row, and the spans of a
row must nest. wall=SECONDS: no span ends later. LANE=BYTES: so many bytes in the spans of the lane,
all rows together. lanes=A,B,...: there are these, and no other, but for that of the output's room,
which is made ahead where processors are idle."""

import json
import sys


def nesting_problems(name, spans):
    # Nanoseconds, so that a span that begins at the end of another is compared exactly.
    open_ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if end < begin:
            yield f"{name}: a span ends before it begins"
        if open_ends and end > open_ends[-1]:
            yield f"{name}: a span from {begin} to {end} ns goes on beyond one around it"
        open_ends.append(end)


def problems(trace, wanted):
    events = trace["traceEvents"]
    if trace["otherData"]["lost_spans"]:
        yield f"{trace['otherData']['lost_spans']} spans are lost"
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans, lane_bytes = {}, {}
    for event in events:
        if event["ph"] == "M":
            continue
        if event["ph"] != "X" or event["tid"] not in names:
            yield f"not a span of a row: {event}"
            continue
        name = names[event["tid"]]
        if name.split()[0] != event["cat"]:
            yield f"{name}: a span of the lane {event['cat']}"
        begin = round(event["ts"] * 1000)
        spans.setdefault(name, []).append((begin, begin + round(event["dur"] * 1000)))
        lane_bytes[event["cat"]] = lane_bytes.get(event["cat"], 0) + event["args"]["bytes"]
    for name, row in spans.items():
        yield from nesting_problems(name, row)
    if len(set(names.values())) != len(names):
        yield f"two rows of one name: {sorted(names.values())}"
    for key, value in wanted.items():
        if key == "lanes":
            if set(value.split(",")) != set(lane_bytes) - {"space"}:
                yield f"lanes {sorted(lane_bytes)}, not {value}"
        elif key == "wall":
            last = max(end for row in spans.values() for _, end in row) / 1e9
            if last > float(value):
                yield f"the last span ends after {last} s, and the command took {value}"
        elif lane_bytes.get(key) != int(value):
            yield f"{lane_bytes.get(key)} bytes in the lane {key}, not {value}"


with open(sys.argv[1], encoding="utf-8") as file:
    for problem in problems(json.load(file), dict(word.split("=", 1) for word in sys.argv[2:])):
        print(problem)
