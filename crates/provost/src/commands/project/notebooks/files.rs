//! `provost notebook import` and `export`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use provost_proto::Project;
use provost_proto::notebook::{ImportNotebookRequest, ImportedNotebook, Notebook};
use serde_json::Value;

use crate::client::DaemonClient;
use crate::output::{faint, print_bytes, print_line, print_stderr, sanitize_text};

/// Reads a notebook file.
pub(super) fn read_file(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is not a notebook file: it is not JSON", path.display()))
}

/// The title of a file that has none.
pub(super) fn title_of_file(path: &Path, content: &Value) -> Option<String> {
    let own = content.pointer("/metadata/title").and_then(Value::as_str);
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    own.map(str::to_owned).or_else(stem)
}

/// Creates a notebook with the content of a file.
pub(super) async fn import_content(
    client: &DaemonClient,
    project: &Project,
    request: &ImportNotebookRequest,
) -> anyhow::Result<ImportedNotebook> {
    client.post(&format!("/api/projects/{}/notebooks/import", project.id.uuid()), request).await
}

pub(super) fn print_repaired(repaired: &[String]) {
    for repair in repaired {
        print_stderr(&faint(&format!("Repaired: {}.", sanitize_text(repair))));
    }
}

/// Writes a notebook to a file, or to standard output.
pub(super) async fn export(
    client: &DaemonClient,
    notebook: &Notebook,
    output: Option<&PathBuf>,
) -> anyhow::Result<()> {
    let content: Value =
        client.get(&format!("/api/notebooks/{}/ipynb", notebook.id.uuid())).await?;
    match output {
        None => print_bytes(&format_file(&content)?),
        Some(path) => {
            write_file(path, &content)?;
            print_line(&format!("Exported to {}.", path.display()))
        }
    }
}

/// Writes a notebook file, all of it or nothing.
pub(super) fn write_file(path: &Path, content: &Value) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
        .with_context(|| format!("cannot write {}", path.display()))?;
    std::io::Write::write_all(&mut file, &format_file(content)?)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(file.path(), mode)?;
    file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// As Jupyter writes it: one space of indentation, a line break at the end.
fn format_file(content: &Value) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    serde::Serialize::serialize(content, &mut serializer)?;
    text.push(b'\n');
    Ok(text)
}
