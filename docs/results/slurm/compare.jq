# How the cases of one run and of a merged one (--slurpfile a and b) differ.
def cases: .[0].cases | map({ key: .full_id, value: . }) | from_entries;
def percent: . * 1000 | round / 10 | tostring + " %";
def median: sort | .[length / 2 | floor];
($a | cases) as $a | ($b | cases) as $b
| ($a | keys) as $ids
| [$ids[] | { id: ., a: $a[.], b: $b[.] }] as $all
| [$all[] | select(.a.measures.speedup.low != null and .b.measures.speedup.low != null)
    | { id, a: .a.measures.speedup, b: .b.measures.speedup }] as $speedups
| "ids in one run and merged: \($ids | length) and \($b | length), the same: \($ids == ($b | keys))",
  "outcomes: \($all | map(.a.record.outcome.status) | group_by(.) | map("\(length) \(.[0])") | join(", ")), the same: \(
    all($all[]; .a.record.outcome == .b.record.outcome))",
  "memory of a step is the same: \(all($all[]; .a.record.measures.memory == .b.record.measures.memory))",
  "speed-ups with an interval on both sides: \($speedups | length)",
  "  intervals that share a value: \([$speedups[] | select(.a.low <= .b.high and .b.low <= .a.high)] | length)",
  "  merged value inside the interval of the one run: \([$speedups[] | select(.a.low <= .b.value and .b.value <= .a.high)] | length)",
  "  difference of the values, median: \([$speedups[] | (.b.value / .a.value - 1 | fabs)] | median | percent)",
  ($speedups[] | select(.a.low > .b.high or .b.low > .a.high)
    | "  apart: \(.id): \(.a.low) to \(.a.high), \(.b.low) to \(.b.high)")
