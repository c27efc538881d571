#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot_trace.py TRACE OUT.svg: draws what gpusort --trace=TRACE wrote, a row for each thread and for
the GPU. Boxes that are less than a pixel apart become one, as dark as it was busy. Needs Python alone."""

import json
import sys
from html import escape

WIDTH, LEFT, RIGHT, TOP = 960, 90, 12, 12
ROW_HEIGHT, LANE_GAP, AXIS_HEIGHT = 9, 5, 34
LABELLED = ("stage", "start", "kernel")
COLOURS = {
    "start": "#999999", "read": "#1f77b4", "decode": "#17becf", "parse": "#ff7f0e",
    "upload": "#2ca02c", "peer": "#e6ab02", "sort": "#d62728", "kernel": "#d62728", "refine": "#ff7f0e",
    "download": "#2ca02c", "spill": "#8c564b", "merge": "#e377c2", "make": "#bcbd22",
    "encode": "#17becf", "space": "#b0b0b0", "write": "#9467bd",
}


def read_trace(path):
    """The rows, by number: (lane, [(begin, end, name)]), in seconds."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    rows = {}
    for event in events:
        if event["ph"] == "X":
            begin = event["ts"] / 1e6
            row = rows.setdefault(event["tid"], (event["cat"], []))
            row[1].append((begin, begin + event["dur"] / 1e6, event["name"]))
    return [rows[number] for number in sorted(rows)]


def merged(spans, gap):
    """The spans with those that are nearer than `gap` made one: [begin, end, busy, name]."""
    boxes = []
    for begin, end, name in sorted(spans):
        if boxes and begin - boxes[-1][1] < gap and boxes[-1][3] == name:
            boxes[-1][1] = max(boxes[-1][1], end)
            boxes[-1][2] += end - begin
        else:
            boxes.append([begin, end, end - begin, name])
    return boxes


def tick_seconds(seconds):
    """1, 2 or 5 times a power of ten, for some eight ticks."""
    tick = 1e-6
    while True:
        for factor in (1, 2, 5):
            if seconds / (tick * factor) <= 10:
                return tick * factor
        tick *= 10


def row_svg(lane, boxes, top, height, scale):
    """A path for the boxes of one colour and darkness, and the names that there is room for."""
    paths, names = {}, []
    for begin, end, busy, name in boxes:
        left, width = LEFT + begin * scale, max((end - begin) * scale, 0.4)
        darkness = round(4 * busy / (end - begin)) / 4 if end > begin else 1
        look = COLOURS.get(name, COLOURS.get(lane, "#333333")), 0.25 + 0.75 * min(darkness, 1)
        paths.setdefault(look, []).append(f"M{left:.1f} {top}h{width:.1f}v{height}h-{width:.1f}z")
        if lane in LABELLED and width > 7 * len(name):
            names.append(f'<text x="{left + width / 2:.1f}" y="{top + height - 3}" fill="white" '
                         f'text-anchor="middle">{escape(name)}</text>')
    for (colour, opacity), path in paths.items():
        yield f'<path d="{"".join(path)}" fill="{colour}" fill-opacity="{opacity:.2f}"/>'
    yield from names


def draw(rows):
    last = max(span[1] for _, spans in rows for span in spans)
    scale = (WIDTH - LEFT - RIGHT) / last
    top, lane_before, body = TOP, None, []
    for lane, spans in rows:
        height = 14 if lane in LABELLED else ROW_HEIGHT
        if lane != lane_before:
            top += LANE_GAP if lane_before else 0
            count = sum(row[0] == lane for row in rows)
            label = lane if count == 1 else f"{lane} × {count}"
            body.append(f'<text x="{LEFT - 6}" y="{top + height - 2}" text-anchor="end">{label}</text>')
        body += row_svg(lane, merged(spans, 1 / scale), top, height - 1, scale)
        top, lane_before = top + height, lane
    tick = tick_seconds(last)
    for i in range(int(last / tick) + 1):
        x = LEFT + i * tick * scale
        body.append(f'<path d="M{x:.1f} {TOP}V{top + 4}" stroke="#cccccc" stroke-width="0.5"/>')
        body.append(f'<text x="{x:.1f}" y="{top + 16}" text-anchor="middle">{i * tick:.6g} s</text>')
    height = top + AXIS_HEIGHT
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="10">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *body, "</svg>", ""]


if len(sys.argv) != 3:
    sys.exit(f"usage: {sys.argv[0]} TRACE OUT.svg")
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write("\n".join(draw(read_trace(sys.argv[1]))))
