//! Execution of the daemon's requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use provost_core::action::{
    Action, BytesEncoding, FileAction, RelPath, RuntimeAction, WriteMode, protection_reason,
};
use provost_core::policy::PathVisibility;
use provost_core::quarantine::build_files::is_build_file;
use provost_core::quarantine::env_files::is_env_file;
use provost_core::quarantine::git_entries::is_git_entry_name;
use provost_core::redact::Redactor;
use provost_proto::kernel::{Method, Preconditions, VisibilityRule};
use provost_proto::{ActionId, Code, Hash};
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};

use crate::host::KernelHost;
use crate::host::redaction::{redact_partial_content, redact_result};
use crate::quarantine::Quarantine;
use crate::{ActionError, files};

/// Executes one request that is not answered by the connection itself.
pub(super) async fn handle_request(
    host: &Arc<KernelHost>,
    method: Method,
) -> Result<Value, ActionError> {
    match method {
        Method::Execute { id, action, params, visibility_rules, preconditions, readable } => {
            let action = parse_action(&action, params)?;
            if matches!(action, Action::Process(_) | Action::Runtime(_)) {
                host.commands.sandboxes.set_readable(readable);
            }
            execute_action(host, id, action, &visibility_rules, preconditions).await
        }
        Method::Cancel { id } => {
            let found = host.commands.processes.cancel(id) || host.runtime.cancel(id);
            Ok(json!({ "found": found }))
        }
        Method::Outcomes { ids, wait: false } => {
            Ok(json!(host.commands.processes.find_outcomes(&ids)))
        }
        Method::Outcomes { ids, wait: true } => Ok(json!(host.wait_for_outcomes(&ids).await)),
        Method::Shutdown {} => {
            host.stop_all().await;
            host.end.notify_one();
            Ok(Value::Null)
        }
        Method::Logs { after, limit } => to_json_value(&host.runtime.read_log_page(after, limit)?),
        Method::Runtime {} => {
            let mut snapshot = host.runtime.snapshot();
            // The offset changes with every byte, so no report carries it.
            snapshot.runtime.terminal.offset = host.terminal.view().offset;
            to_json_value(&snapshot)
        }
        Method::Terminal { .. } => {
            let message = "`terminal` must be the first request of a connection after `hello`";
            Err(ActionError::new(Code::InvalidRequest, message))
        }
        Method::Hello { .. }
        | Method::Secrets { .. }
        | Method::Ping {}
        | Method::Attach { .. }
        | Method::Acknowledge { .. } => Ok(Value::Null),
    }
}

/// Whether an action is so short that it is executed on the connection's task: a
/// task or a thread would cost more than the action.
pub(super) fn is_quick(action: &str) -> bool {
    matches!(action, "fs.readFile" | "fs.stat")
}

/// The result of a quick action.
pub(super) enum ReadOutcome {
    /// A file that contains no secret, as most do.
    Plain(files::ReadFileResult),
    /// Any other result, redacted.
    Redacted(Value),
}

/// Executes a quick action, see [`is_quick`].
pub(super) fn execute_read(
    host: &KernelHost,
    name: &str,
    params: Value,
    preconditions: Option<&Preconditions>,
) -> Result<ReadOutcome, ActionError> {
    let action = parse_action(name, params)?;
    host.check_project_dir()?;
    let redactor = host.shared_redactor.redactor()?;
    let Action::File(action) = action else {
        return Err(ActionError::new(
            Code::Internal,
            "only file reads are executed on the connection's task",
        ));
    };
    let root = root_for_action(host, preconditions);
    let result = if let FileAction::ReadFile(read) = &action {
        match files::read_file_content(&root, read) {
            Ok(content) if content.length < content.size => {
                let redacted = redact_partial_content(&redactor, &root, &read.path, content);
                match redacted.map_err(|error| error.with_path(&read.path)) {
                    Ok((content, 0)) => return Ok(ReadOutcome::Plain(content)),
                    Ok((content, n_secrets)) => {
                        to_json_value(&content).map(|value| with_redaction_count(value, n_secrets))
                    }
                    Err(error) => Err(error),
                }
            }
            Ok(content) if has_no_secrets(&redactor, &content) => {
                return Ok(ReadOutcome::Plain(content));
            }
            content => content.and_then(|content| to_json_value(&content)),
        }
    } else {
        files::execute_file_action(&root, &action, &|| false)
    };
    redact_result(&redactor, result).map(ReadOutcome::Redacted)
}

/// Adds the number of redacted secrets to a result.
fn with_redaction_count(mut result: Value, n_secrets: usize) -> Value {
    result["redacted"] = n_secrets.into();
    result
}

/// Whether the content of a file needs no redaction. The other fields are numbers.
fn has_no_secrets(redactor: &Redactor, content: &files::ReadFileResult) -> bool {
    content.encoding == BytesEncoding::Utf8
        && !redactor.may_contain_secret(content.content.as_bytes())
}

fn parse_action(name: &str, params: Value) -> Result<Action, ActionError> {
    Action::parse(name, params)
        .map_err(|error| ActionError::new(Code::InvalidAction, error.to_string()))
}

async fn execute_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    action: Action,
    visibility_rules: &[VisibilityRule],
    preconditions: Option<Preconditions>,
) -> Result<Value, ActionError> {
    host.check_project_dir()?;
    let redactor = host.shared_redactor.redactor()?;
    let visibility = match visibility_rules {
        [] => None,
        rules => Some(parse_visibility(rules)?),
    };
    match action {
        Action::File(action) => {
            run_file_action(host, id, action, visibility, preconditions, &redactor).await
        }
        Action::Runtime(action) => {
            // The command was read from these files when the action was decided.
            host.commands.verify_pins(&preconditions.unwrap_or_default())?;
            run_runtime_action(host, id, action, visibility, &redactor).await
        }
        Action::Process(action) => {
            let preconditions = preconditions.unwrap_or_default();
            let result = host.commands.execute(id, action, preconditions, visibility).await;
            redact_result(&redactor, result)
        }
    }
}

/// The project's folder; with preconditions, only symlinks that they list are followed.
fn root_for_action(host: &KernelHost, preconditions: Option<&Preconditions>) -> RootDir {
    match preconditions {
        Some(preconditions) => files::restrict_root_links(&host.root, preconditions),
        None => host.root.clone_handle(),
    }
}

/// Compiles the rules; a rule that cannot be parsed fails the action.
fn parse_visibility(rules: &[VisibilityRule]) -> Result<PathVisibility, ActionError> {
    PathVisibility::new(rules).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}

async fn run_file_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    action: FileAction,
    visibility: Option<PathVisibility>,
    preconditions: Option<Preconditions>,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let root = root_for_action(host, preconditions.as_ref());
    let mut holds_guard = None;
    let is_write = files::is_write_action(&action);
    if preconditions.is_some() && is_write {
        files::reject_protected_paths(&root, &action)?;
        // Held until the action ends, so that no command starts meanwhile.
        let holds = holds_guard.insert(host.commands.holds.read().await);
        holds.reject_held_paths(&root, &action)?;
    }
    let started_at = Instant::now();
    let cancelled = host.commands.processes.begin_action(id);
    let quarantine = is_write.then(|| Arc::clone(&host.commands.quarantine));
    let task = tokio::task::spawn_blocking(move || {
        let cancelled = || cancelled.load(std::sync::atomic::Ordering::Relaxed);
        let run = |action: &FileAction| {
            files::execute_with_visibility(&root, action, visibility.as_ref(), &cancelled)
        };
        match quarantine {
            Some(quarantine) => run_watched(&quarantine, &root, action, run),
            None => run(&action),
        }
    });
    let result = task.await.unwrap_or_else(|error| {
        Err(ActionError::new(Code::Internal, format!("the action panicked: {error}")))
    });
    drop(holds_guard);
    let result = redact_result(redactor, result);
    host.commands.processes.finish_action(id, &result, started_at.elapsed());
    result
}

/// Executes a file action that writes. What it was allowed to write stays; what it made of other
/// files, such as a folder that became a repository, is set aside.
fn run_watched(
    quarantine: &Arc<Quarantine>,
    root: &RootDir,
    mut action: FileAction,
    run: impl FnOnce(&FileAction) -> Result<Value, ActionError>,
) -> Result<Value, ActionError> {
    let named = Action::File(action.clone()).paths();
    let links = root.allowed_links();
    let real = named.iter().filter_map(|path| {
        let real = links?.resolve(path.as_ref());
        RelPath::new(real.to_str()?).ok()
    });
    let paths: Vec<RelPath> = named.iter().cloned().chain(real).collect();
    let to_path = |path: &RelPath| PathBuf::from(path.as_str());
    let is_protected = |path: &&RelPath| protection_reason(path).is_some();
    let allowed: Vec<PathBuf> = paths.iter().filter(is_protected).map(to_path).collect();
    // The project is only looked at where the action can have made something that runs.
    let is_relevant = !allowed.is_empty()
        || matches!(action, FileAction::MoveFile(_))
        || paths.iter().any(|path| path.components().any(is_git_entry_name))
        || paths.iter().filter_map(RelPath::name).any(is_judged_name)
        || quarantine.is_referenced(&paths.iter().map(to_path).collect::<Vec<_>>());
    if !is_relevant {
        return run(&action);
    }
    let watch = quarantine.begin_action(true);
    if let Some(path) = allowed.last() {
        require_known_content(&mut action, quarantine.required_hash(path));
    }
    let mut result = run(&action);
    if !allowed.is_empty() {
        let written = result.as_ref().ok().and_then(|result| result["hash"].as_str()?.parse().ok());
        quarantine.adopt_paths(&allowed, written);
    }
    let report = watch.settle();
    if let (Ok(Value::Object(result)), false) = (&mut result, report.is_empty()) {
        result.insert("setAside".to_owned(), to_json_value(&report)?);
    }
    result
}

/// Whether a file of this name is judged by its content, or by the files beside it.
fn is_judged_name(name: &str) -> bool {
    is_build_file(name) || is_env_file(name)
}

/// Makes a change depend on the content that the person knows: a process of the agent may have
/// replaced it since it was shown.
fn require_known_content(action: &mut FileAction, known: Option<Hash>) {
    match action {
        FileAction::EditFile(edit) if edit.expect_hash.is_none() => edit.expect_hash = known,
        FileAction::WriteFile(write)
            if write.expect_hash.is_none() && write.mode == WriteMode::Append =>
        {
            write.expect_hash = known;
        }
        FileAction::ReadFile(_)
        | FileAction::WriteFile(_)
        | FileAction::EditFile(_)
        | FileAction::ApplyPatch(_)
        | FileAction::ListFiles(_)
        | FileAction::SearchFiles(_)
        | FileAction::Stat(_)
        | FileAction::CreateDir(_)
        | FileAction::MoveFile(_)
        | FileAction::DeleteFile(_) => {}
    }
}

/// Executes an action on the terminal, the dev server, the build or the preview.
async fn run_runtime_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    action: RuntimeAction,
    write_denials: Option<PathVisibility>,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    match action {
        RuntimeAction::OpenTerminal(params) => {
            let started_at = Instant::now();
            drop(host.commands.processes.begin_action(id));
            let opened = match host.commands.sandboxes.sandbox_paths(&[]) {
                Ok(paths) => host.terminal.open(id, &params, &paths).await,
                Err(error) => Err(error),
            };
            let opened = redact_result(redactor, opened);
            host.commands.processes.finish_action(id, &opened, started_at.elapsed());
            opened
        }
        RuntimeAction::ReadTerminal(params) => {
            redact_result(redactor, host.terminal.read(&params, redactor).await)
        }
        RuntimeAction::WriteTerminal(params) => {
            redact_result(redactor, host.terminal.write(&params))
        }
        RuntimeAction::Run(_)
        | RuntimeAction::Stop(_)
        | RuntimeAction::Restart(_)
        | RuntimeAction::Build(_)
        | RuntimeAction::Status(_)
        | RuntimeAction::Logs(_)
        | RuntimeAction::FetchPreview(_) => {
            let started_at = Instant::now();
            let executed = host.runtime.execute(id, action, &host.root, write_denials).await;
            let result = redact_result(redactor, executed);
            // A daemon that reconnects asks for the outcome.
            host.commands.processes.finish_action(id, &result, started_at.elapsed());
            host.runtime.remove_running(id);
            result
        }
    }
}

fn to_json_value(value: &impl serde::Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(value).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}
