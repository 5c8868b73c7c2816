//! Chooses what the binary embeds: the built web UI, or, if it was not built, a
//! page that says how to build it. Never calls npm.

use std::path::Path;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = here.join("../../web/dist");
    let web = if built.join("index.html").exists() {
        built
    } else {
        println!("cargo:warning=the web UI is not built; `cargo xtask ui` builds it");
        here.join("placeholder")
    };
    println!("cargo:rerun-if-changed=placeholder");
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rustc-env=PROVOST_WEB={}", web.display());
}
