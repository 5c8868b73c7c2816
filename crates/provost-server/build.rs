//! Notices when the web UI was built anew, and says so when it was not built at
//! all. Never calls npm.

use std::path::Path;

fn main() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    if !built.join("index.html").exists() {
        println!("cargo:warning=the web UI is not built; `cargo xtask ui` builds it");
    }
    println!("cargo:rerun-if-changed=../../web/dist");
}
