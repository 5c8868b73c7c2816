//! Generated files: `codegen` writes them, `codegen --check` compares them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::shell::root;

fn files() -> Vec<(PathBuf, String)> {
    let typescript = root().join("web/src/proto/generated.ts");
    vec![(typescript, provost_proto::typescript::generate_file())]
}

pub(crate) fn write() -> Result<()> {
    for (path, text) in files() {
        fs::write(&path, text)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

pub(crate) fn check() -> Result<()> {
    for (path, text) in files() {
        if fs::read_to_string(&path).unwrap_or_default() != text {
            bail!("{} is outdated; run `cargo xtask codegen`", path.display());
        }
    }
    println!("generated files are up to date");
    Ok(())
}
