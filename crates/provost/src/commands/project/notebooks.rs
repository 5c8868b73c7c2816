//! `provost notebook`: lists, creates, shows, imports, exports and runs notebooks.

mod files;
mod parameters;
mod run;
mod run_report;

use std::process::ExitCode;

use provost_proto::notebook::{
    Cell, CreateNotebookRequest, CreatedNotebook, ImportNotebookRequest, MimeData, Notebook,
    NotebookDetail, NotebookList, OutputContent,
};
use serde::Serialize;

use crate::args::{NotebookProjectArgs, NotebookSubcommand};
use crate::client::DaemonClient;
use crate::commands::lookup::{find_by_short_id, resolve_project};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_lines, sanitize_text};

pub(crate) async fn run(what: NotebookSubcommand, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    match what {
        NotebookSubcommand::List { project, json } => {
            let notebooks = list_notebooks(&client, &project).await?;
            if !json.json && notebooks.is_empty() {
                print_line("No notebooks. `provost notebook new TITLE` creates one.")?;
            }
            print_or_json(json.json, &notebooks, |notebooks| {
                notebooks.iter().try_for_each(|notebook| print_line(&format_row(notebook)))
            })?;
        }
        NotebookSubcommand::New { title, language, project, json } => {
            let project = resolve_project(project.project.as_deref(), &client).await?;
            let path = format!("/api/projects/{}/notebooks", project.id.uuid());
            let request = CreateNotebookRequest { title, language, slots: None };
            let created: CreatedNotebook = client.post(&path, &request).await?;
            print_or_json(json.json, &created.notebook, |notebook| {
                print_line(&format!("Created: {}", format_row(notebook)))
            })?;
        }
        NotebookSubcommand::Import { file, title, project, json } => {
            let project = resolve_project(project.project.as_deref(), &client).await?;
            let content = files::read_file(&file)?;
            let title = title.or_else(|| files::title_of_file(&file, &content));
            let request = ImportNotebookRequest { title, content };
            let imported = files::import_content(&client, &project, &request).await?;
            print_or_json(json.json, &imported, |imported| {
                files::print_repaired(&imported.repaired);
                print_line(&format!("Imported: {}", format_row(&imported.notebook)))
            })?;
        }
        NotebookSubcommand::Export { notebook, output, project } => {
            let notebook = find_notebook(&client, &project, &notebook).await?;
            files::export(&client, &notebook, output.as_ref()).await?;
        }
        NotebookSubcommand::Run(args) => return Box::pin(run::run(args, &client)).await,
        NotebookSubcommand::Show { notebook, project, json } => {
            let notebook = find_notebook(&client, &project, &notebook).await?;
            let path = format!("/api/notebooks/{}", notebook.id.uuid());
            let detail: NotebookDetail = client.get(&path).await?;
            print_or_json(json.json, &detail, print_detail)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_or_json<T: Serialize>(
    json: bool,
    value: &T,
    print: impl FnOnce(&T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if json { output::print_json(value) } else { print(value) }
}

async fn list_notebooks(
    client: &DaemonClient,
    project: &NotebookProjectArgs,
) -> anyhow::Result<Vec<Notebook>> {
    let project = resolve_project(project.project.as_deref(), client).await?;
    let path = format!("/api/projects/{}/notebooks", project.id.uuid());
    let NotebookList { notebooks } = client.get(&path).await?;
    Ok(notebooks)
}

/// The notebook with this title, if one has it; else the one with this id.
pub(crate) async fn find_notebook(
    client: &DaemonClient,
    project: &NotebookProjectArgs,
    wanted: &str,
) -> anyhow::Result<Notebook> {
    let mut notebooks = list_notebooks(client, project).await?;
    let mut titled = (0..notebooks.len()).filter(|n| notebooks[*n].title == wanted);
    match (titled.next(), titled.next()) {
        (Some(only), None) => Ok(notebooks.swap_remove(only)),
        (None | Some(_), _) => {
            find_by_short_id("notebook", wanted, notebooks, |notebook| notebook.id.to_string())
        }
    }
}

fn format_row(notebook: &Notebook) -> String {
    let Notebook { id, title, language, created_at, .. } = notebook;
    let about =
        format!("{}  {id}  created {}", sanitize_text(language), output::format_time(*created_at));
    format!("{}  {}", bold(&sanitize_text(title)), faint(&about))
}

fn print_detail(detail: &NotebookDetail) -> anyhow::Result<()> {
    print_line(&format_row(&detail.notebook))?;
    for cell in &detail.cells {
        print_line("")?;
        print_line(&faint(&describe_cell(detail, cell)))?;
        print_line(&sanitize_lines(&cell.source))?;
        let pages = detail.outputs.iter().filter(|page| Some(page.execution) == cell.execution);
        for part in pages.flat_map(|page| &page.parts) {
            print_line(&sanitize_lines(&describe_output(&part.content)))?;
        }
    }
    Ok(())
}

fn describe_cell(detail: &NotebookDetail, cell: &Cell) -> String {
    let kind = format!("{:?}", cell.kind).to_lowercase();
    let execution = detail.executions.iter().find(|execution| Some(execution.id) == cell.execution);
    match execution {
        None => format!("[ ] {kind}"),
        Some(execution) => {
            let status = match execution.outcome {
                Some(outcome) => format!("{outcome:?}").to_lowercase(),
                None => format!("{:?}", execution.status).to_lowercase(),
            };
            format!("[{}] {kind}, {status}", execution.count)
        }
    }
}

/// An output as text, or what it is if it is not text.
fn describe_output(content: &OutputContent) -> String {
    match content {
        OutputContent::Stream { text, .. } | OutputContent::Markdown { text } => {
            text.trim_end().to_owned()
        }
        OutputContent::Error { name, value, .. } => format!("{name}: {value}"),
        OutputContent::Display { data, .. } | OutputContent::Result { data, .. } => {
            let plain = data.get("text/plain").map(|data| match data {
                MimeData::Inline(serde_json::Value::String(text)) => text.clone(),
                MimeData::Inline(value) => value.to_string(),
                MimeData::Artifact { size, .. } => {
                    format!("({size} bytes of text)")
                }
            });
            let types = || data.keys().cloned().collect::<Vec<_>>().join(", ");
            plain.unwrap_or_else(|| format!("({})", types()))
        }
    }
}
