#!/bin/sh
# Starts the runner of this bundle, or says why this host cannot. It needs a shell and nothing else.
self=$0
while [ -h "$self" ]; do
    to=$(readlink -- "$self") || {
        printf 'error: %s is a link\n  help: start what it leads to\n' "$self" >&2
        exit 2
    }
    case $to:$self in
    /*) self=$to ;;
    *:*/*) self=${self%/*}/$to ;;
    *) self=$to ;;
    esac
done
case $self in
*/*) here=${self%/*} ;;
*) here=. ;;
esac
here=$(CDPATH='' cd -- "$here" && pwd -P) || exit 2
runner=$here/bin/torch-bench-run

# refuse WHAT REMEDY
refuse() {
    printf 'error: %s\n  help: %s\n' "$1" "$2" >&2
    exit 2
}

[ -f "$runner" ] || refuse "$runner is missing" 'unpack the bundle again: tar -xf BUNDLE.tar.zst'
machine=$(uname -m 2>/dev/null) || machine=@MACHINE@
[ "$machine" = '@MACHINE@' ] ||
    refuse "this bundle is for @MACHINE@, and this host is $machine" 'make the bundle on a host of that kind'

said=$("$runner" --probe 2>&1)
code=$?
if [ "$code" -ne 0 ]; then
    # A minimal host may lack the compiler's library, which the bundle has.
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib/system
    export LD_LIBRARY_PATH
    said=$("$runner" --probe 2>&1)
    code=$?
fi
if [ "$code" -ne 0 ]; then
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || glibc='no glibc, or one of unknown version'
    newer="run it on a newer system or in a container of one, or make the bundle on an older system"
    case $code:$said in
    *GLIBC_*)
        refuse "this host has $glibc, and the bundle needs glibc @GLIBC@ or newer" "$newer"
        ;;
    126:*)
        refuse "$runner cannot be executed: $said" \
            'copy the bundle to a drive that is not mounted with `noexec`'
        ;;
    132:*)
        refuse 'this processor lacks instructions that the runner was built for' \
            'install cargo-torch-bench without `-C target-cpu` in RUSTFLAGS, and make the bundle with it'
        ;;
    *)
        refuse "$runner cannot be started on this host, which has $glibc (exit code $code): $said" \
            'the bundle needs glibc @GLIBC@ or newer, which Alpine does not have: use a container of Debian or Ubuntu'
        ;;
    esac
fi
TORCH_BENCH_BUNDLE=$here
export TORCH_BENCH_BUNDLE
exec "$runner" "$@"
