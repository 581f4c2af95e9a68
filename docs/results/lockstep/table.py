"""Counts what comparisons with planted changes have found: python3 table.py FOLDER

python3 table.py --times ROUND prints how often each case does its work in the second revision of a round."""

import json
import math
import re
import statistics
import sys
from pathlib import Path

CASES = Path(__file__).parent / "public/benches/cases/mod.rs"
IDS = re.findall(r'case\("([^"]+)"', CASES.read_text())
LEVELS = (0, 1, 2, 5, 10)
# 1 % of 7 degrees of freedom, both sides.
STUDENT = 3.4995
# Differences up to this do not matter: of compare-branches, criterion and tango alike.
THRESHOLD = 0.01


def planted(round_, id_):
    """Percent that a case has more to do in the second revision."""
    case = IDS.index(id_)
    return LEVELS[(case + case // 5 + round_) % 5]


def verdict(ratio, is_sure):
    if not is_sure or abs(ratio - 1) <= THRESHOLD:
        return "left"
    return "longer" if ratio > 1 else "shorter"


# Criterion's words and ours.
SAID = {"regressed": "longer", "improved": "shorter"}


def lockstep(file):
    for case in json.loads(file.read_text())["cases"]:
        time = next((it for it in case["measures"] if it["measure"] == "time"), None)
        if time and time["ratio"] is not None:
            yield case["full_id"], SAID.get(case["verdict"], "left"), (time["low"], time["high"])
        else:
            yield case["full_id"], "left", None


def baseline(file):
    id_ = None
    for line in file.read_text().splitlines():
        id_ = next((it for it in IDS if re.match(rf"{re.escape(it)}(\s|$)", line)), id_)
        interval = re.search(r"\[([+-−][\d.]+)% \S+% ([+-−][\d.]+)%\] \(p", line)
        if interval:
            bounds = [1 + float(it.replace("−", "-")) / 100 for it in interval.groups()]
        if line.strip().startswith(("Performance has", "No change", "Change within")):
            word = next((SAID[it] for it in SAID if it in line), "left")
            yield id_, word, bounds


def sixteen(folder):
    for id_ in IDS:
        case = folder / id_.replace("/", "_")
        median = lambda name: json.loads((case / name / "estimates.json").read_text())["median"]["point_estimate"]
        logs = [math.log(median(f"planted@{it}") / median(f"base@{it}")) for it in range(8)]
        mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(8)
        bounds = [math.exp(mean - 2.365 * error), math.exp(mean + 2.365 * error)]
        yield id_, verdict(math.exp(mean), abs(mean) > STUDENT * error), bounds


def tango(file):
    for line in file.read_text().splitlines():
        found = re.match(r"(?:.*\x1b\[2K)?(\S+) +\[.*\] +([+-][\d.]+)%(\*?)", re.sub(r"\x1b\[\d+m", "", line))
        if found:
            id_, percent, star = found.groups()
            yield id_, verdict(1 + float(percent) / 100, bool(star)), None


READERS = {"lockstep": lockstep, "nothing": lockstep, "baseline": baseline, "sixteen": sixteen, "tango": tango}


def rows(data):
    """Method, planted percent, verdict and interval of each case."""
    for path in sorted(data.iterdir()):
        method, number = path.stem.rsplit("-", 1)
        if path.suffix == ".seconds":
            continue
        kind = method.split("-")[0]
        for id_, word, bounds in READERS[kind](path):
            yield method, 0 if kind == "nothing" else planted(int(number), id_), word, bounds


def main():
    if sys.argv[1] == "--times":
        print(", ".join(str(100 + planted(int(sys.argv[2]), id_)) for id_ in IDS))
        return
    data = Path(sys.argv[1])
    found = list(rows(data))
    methods = list(dict.fromkeys(method for method, *_ in found))
    print(f"{'method':15} {'planted':>8} {'cases':>6} {'longer':>7} {'shorter':>8} {'held':>6}")
    for method in methods:
        for level in LEVELS:
            of = [(word, bounds) for name, percent, word, bounds in found if (name, percent) == (method, level)]
            if not of:
                continue
            words = [word for word, _ in of]
            bounds = [it for _, it in of if it]
            held = sum(low <= 1 + level / 100 <= high for low, high in bounds)
            share = f"{held / len(bounds):6.0%}" if bounds else "     –"
            print(f"{method:15} {level:7}% {len(of):6} {words.count('longer'):7} {words.count('shorter'):8} {share}")
    for method in methods:
        seconds = [int(it.read_text()) for it in data.glob(f"{method}-*.seconds")]
        print(f"{method}: {len(seconds)} comparisons of {len(IDS)} cases, {statistics.mean(seconds) / 60:.1f} min each")


main()
