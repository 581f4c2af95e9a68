//! The link flags of libtorch, which no dependency can give to this package's tests.

fn main() {
    libtorch::find::link_all();
}
