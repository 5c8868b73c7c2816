//! Rebuilds when the web UI changes, and warns if it was not built. Never calls npm.

use std::path::Path;

fn main() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    if !built.join("index.html").exists() {
        println!("cargo:warning=the web UI is not built; `cargo xtask ui` builds it");
    }
    println!("cargo:rerun-if-changed=../../web/dist");
}
