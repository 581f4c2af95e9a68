"""Prints what several runs of `recommend` have recommended, and how its prediction of a block held.

Usage: table.py FOLDER, which has a folder MODEL-RUN for each run
"""

import json
import sys
from pathlib import Path


def factor(of):
    return f"{of['speedup_factor']:.2f} [{of['speedup_low']:.2f}, {of['speedup_high']:.2f}]"


def rows():
    yield "run", "baseline", "recommended", "best single recipe", "random", "block", "predicted", "measured", ""
    for file in sorted(Path(sys.argv[1]).glob("*/recommendation.json")):
        document = json.loads(file.read_text())
        totals = {it["name"]: it for it in document["totals"]}
        baseline, recommended = totals.pop("baseline"), totals.pop("recommended")
        best = min(totals.values(), key=lambda it: it["ns"])
        random = baseline["ns"] / document["random_ns"]
        said = [
            file.parent.name,
            f"{baseline['ns'] / 1e9:.2f} s",
            factor(recommended),
            f"{best['name']} {factor(best)}",
            f"{random:.2f}",
        ]
        for block in document["blocks"]:
            phase, why = block["phase"]["name"], block["not_measured"]
            if why:
                yield *said, phase, why, "", ""
            else:
                differs = "differs" if block["differs"] else "as predicted"
                yield *said, phase, factor(block["predicted"]), factor(block["measured"]), differs
            said = [""] * len(said)


table = list(rows())
widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
for row in table:
    print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
