# What regressed $first and $again, each a regressions.json: `<id> <kind>`, line by line. In the
# same kind, or by failing: what was slower and cannot even be run now has not recovered.
$first[0].regressions as $first
| [$again[0].regressions[] | {full_id, kind}
    | select(. as $now | any($first[]; .full_id == $now.full_id
        and ($now.kind == "failure" or .kind == $now.kind)))]
| unique[]
| "\(.full_id) \(.kind)"
