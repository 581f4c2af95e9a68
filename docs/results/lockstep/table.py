"""Counts what comparisons with planted changes have found: python3 table.py FOLDER"""

import json
import sys
from pathlib import Path

PLANTED = {"memchr/memmem", "aho-corasick/build", "regex/class", "serde_json/parse"}
SHARE = {"p0": 0.0, "moved": 0.0, "p1": 0.01, "p2": 0.02, "p5": 0.05, "p10": 0.10}


def cases(folder):
    """Level, planted share, verdict, ratio and bounds of each case."""
    for file in sorted(folder.glob("*.json")):
        level = file.stem.rsplit("-", 1)[0]
        for case in json.loads(file.read_text())["cases"]:
            share = SHARE[level] if case["full_id"] in PLANTED else 0.0
            time = next((it for it in case["measures"] if it["measure"] == "time"), None)
            if time and time["ratio"] is not None:
                yield level, share, case["verdict"], time["ratio"], time["low"], time["high"]


def row(name, rows):
    count = len(rows)
    if not count:
        return
    verdicts = [row[2] for row in rows]
    held = sum(low <= 1 + share <= high for _, share, _, _, low, high in rows)
    words = ["regressed", "improved", "equivalent", "inconclusive"]
    print(f"{name:24} {count:5}", *(f"{verdicts.count(word):12}" for word in words), f"{held / count:9.0%}")


def main():
    found = list(cases(Path(sys.argv[1])))
    print(f"{'planted':24} {'cases':>5} {'regressed':>12} {'improved':>12} {'equivalent':>12} {'inconclusive':>12} {'held':>9}")
    row("nothing", [it for it in found if it[1] == 0 and it[0] != "moved"])
    row("functions moved", [it for it in found if it[0] == "moved"])
    for share in (0.01, 0.02, 0.05, 0.10):
        row(f"{share:.0%} longer", [it for it in found if it[1] == share])


main()
