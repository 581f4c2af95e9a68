# How a row of the matrix is measured, on either side. To be sourced.

# measure REPORTS [OPTION VALUE…] [FILTER]: the clone in the current folder. Failed cases are in
# the report, and are no error here: what the base branch can do no better is no regression. A run
# that did not come to its end is one, whose report says how far it came.
measure() {
    local reports=$1 code=0
    shift
    rm -rf "$reports"
    # Below the timeout of the job, which would leave neither a report nor a word.
    timeout --kill-after=30s "${MEASURING_TAKES_AT_MOST:-45m}" \
        cargo xtask kernels --backends "$BACKEND" --precision "$PRECISION" --iters "$ITERATIONS" \
        --output-dir "$reports" "$@" || code=$?
    if [[ $code != 0 && ! -e $reports/summary.json ]] && ((code == 101 || code >= 124)); then
        report_of "$reports" "$@" || echo "::warning::$BACKEND $PRECISION: no report either"
    fi
    if [[ $code == 1 && -e $reports/summary.json ]] && came_to_its_end "$reports"; then
        echo "::warning::$BACKEND $PRECISION: some cases failed, see $reports/summary.md"
        return 0
    fi
    return "$code"
}

# report_of REPORTS [OPTION VALUE…] [FILTER]: of what was measured before the end.
report_of() {
    local -a options=(--latest --output-dir "$1")
    shift
    while (($#)); do
        case $1 in
            --save-baseline) shift ;;
            --*) options+=("$1" "$2") && shift ;;
            *) options+=(--filter "$1") ;;
        esac
        shift
    done
    cargo criterion-report kernels "${options[@]}"
}

# came_to_its_end REPORTS: no case is left that was never reached.
came_to_its_end() {
    [[ $(jq .missing "$1/summary.json") == 0 ]]
}

# verdict TEXT: the line of this row in the comment; what is said first stands.
verdict() {
    mkdir -p reports
    [[ -e reports/verdict.md ]] || echo "$1" >reports/verdict.md
}
