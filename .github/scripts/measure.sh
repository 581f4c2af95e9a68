# How a row of the matrix is measured, on either side. To be sourced.

# measure REPORTS [OPTION…]: the clone in the current folder. Failed cases are in the report, and are
# no error here: what the base branch can do no better is no regression.
measure() {
    local reports=$1 code=0
    shift
    rm -rf "$reports"
    cargo xtask kernels --backends "$BACKEND" --precision "$PRECISION" --iters "$ITERATIONS" \
        --output-dir "$reports" "$@" || code=$?
    if [[ $code == 1 && -e $reports/summary.json ]]; then
        echo "::warning::$BACKEND $PRECISION: some cases failed, see $reports/summary.md"
        return 0
    fi
    return "$code"
}
