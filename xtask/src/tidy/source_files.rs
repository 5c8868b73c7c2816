//! The source files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::root;

/// Folders with Rust sources.
pub(crate) const RUST_FOLDERS: &[&str] = &["crates", "examples", "xtask"];

/// Folders with TypeScript and Svelte sources.
const WEB_FOLDERS: &[&str] = &["examples", "web/e2e", "web/scripts", "web/src"];

/// Folders with documents.
const DOCUMENT_FOLDERS: &[&str] = &["crates", "docs", "examples", "web", "xtask"];

/// Folders that hold no sources of ours.
const SKIPPED_FOLDERS: &[&str] = &["target", "node_modules", "dist"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    TypeScript,
    Svelte,
    Markdown,
}

pub(crate) struct SourceFile {
    /// Path below the root of the workspace.
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) text: String,
}

/// All Rust sources.
pub(crate) fn read_rust() -> Result<Vec<SourceFile>> {
    read_folders(RUST_FOLDERS, &[("rs", Language::Rust)])
}

/// All Rust, TypeScript and Svelte sources.
pub(crate) fn read_all() -> Result<Vec<SourceFile>> {
    let web =
        [("ts", Language::TypeScript), ("mts", Language::TypeScript), ("svelte", Language::Svelte)];
    let mut files = read_rust()?;
    files.extend(read_folders(WEB_FOLDERS, &web)?);
    Ok(files)
}

/// The documents: those of all folders, and those at the root of the workspace.
pub(crate) fn read_documents() -> Result<Vec<SourceFile>> {
    let mut files = read_folders(DOCUMENT_FOLDERS, &[("md", Language::Markdown)])?;
    for entry in fs::read_dir(root())? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            files.push(read_file(&path, Language::Markdown)?);
        }
    }
    Ok(files)
}

fn read_folders(folders: &[&str], extensions: &[(&str, Language)]) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    for folder in folders {
        find_files(&root().join(folder), &mut paths)
            .with_context(|| format!("cannot list the files of {folder}"))?;
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let known = extensions.iter().find(|(name, _)| extension == Some(name));
        let Some((_, language)) = known else { continue };
        files.push(read_file(&path, *language)?);
    }
    Ok(files)
}

fn read_file(path: &Path, language: Language) -> Result<SourceFile> {
    let text = fs::read_to_string(path)?;
    let name = path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned();
    Ok(SourceFile { name, language, text })
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !path.is_dir() {
            files.push(path);
        } else if !SKIPPED_FOLDERS.contains(&name) {
            find_files(&path, files)?;
        }
    }
    Ok(())
}
