//! Raw bindings to the C++ shim.
