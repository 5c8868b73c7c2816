//! Execution of the daemon's requests.

use std::sync::Arc;
use std::time::Instant;

use provost_core::action::{Action, BytesEncoding, FileAction, RuntimeAction};
use provost_core::policy::PathVisibility;
use provost_core::redact::Redactor;
use provost_proto::kernel::{Method, Preconditions, VisibilityRule};
use provost_proto::{ActionId, Code};
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};

use super::file_actions::{WriteApproval, run_file_action};
use crate::host::KernelHost;
use crate::host::redaction::{redact_partial_content, redact_result};
use crate::{ActionError, files};

/// Executes one request that is not answered by the connection itself.
pub(super) async fn handle_request(
    host: &Arc<KernelHost>,
    method: Method,
) -> Result<Value, ActionError> {
    match method {
        Method::Execute {
            id,
            action,
            params,
            visibility_rules,
            preconditions,
            approved,
            readable,
        } => {
            let action = parse_action(&action, params)?;
            if matches!(action, Action::Process(_) | Action::Runtime(_)) {
                host.commands.sandboxes.set_readable(readable);
            }
            let approval = WriteApproval::new(approved, preconditions.as_ref());
            execute_action(host, id, action, &visibility_rules, preconditions, approval).await
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
    approval: WriteApproval,
) -> Result<Value, ActionError> {
    host.check_project_dir()?;
    let redactor = host.shared_redactor.redactor()?;
    let visibility = match visibility_rules {
        [] => None,
        rules => Some(parse_visibility(rules)?),
    };
    match action {
        Action::File(action) => {
            run_file_action(host, id, action, visibility, preconditions, approval, &redactor).await
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
pub(super) fn root_for_action(host: &KernelHost, preconditions: Option<&Preconditions>) -> RootDir {
    match preconditions {
        Some(preconditions) => files::restrict_root_links(&host.root, preconditions),
        None => host.root.clone_handle(),
    }
}

/// Compiles the rules; a rule that cannot be parsed fails the action.
fn parse_visibility(rules: &[VisibilityRule]) -> Result<PathVisibility, ActionError> {
    PathVisibility::new(rules).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
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

pub(super) fn to_json_value(value: &impl serde::Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(value).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}
