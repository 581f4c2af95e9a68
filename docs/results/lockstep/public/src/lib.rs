//! Nothing but benchmarks.
