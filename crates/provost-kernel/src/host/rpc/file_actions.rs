//! File actions: what an agent writes that would run elsewhere is set aside, unless a person was
//! shown it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use provost_core::action::{Action, FileAction, RelPath, WriteMode, protection_reason};
use provost_core::policy::PathVisibility;
use provost_core::quarantine::PUT_BACK_HINT;
use provost_core::quarantine::build_files::is_build_file;
use provost_core::quarantine::env_files::is_env_file;
use provost_core::quarantine::git_entries::{EntryType, is_git_entry_name};
use provost_core::quarantine::hidden_names::unknown_name_reason;
use provost_core::redact::Redactor;
use provost_proto::kernel::Preconditions;
use provost_proto::{ActionId, Code, Hash};
use provost_sandbox::root_dir::RootDir;
use serde_json::Value;

use super::dispatch::{root_for_action, to_json_value};
use crate::host::KernelHost;
use crate::host::redaction::redact_result;
use crate::quarantine::{AdoptedContent, Quarantine};
use crate::{ActionError, files};

/// Executes a file action.
pub(super) async fn run_file_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    action: FileAction,
    visibility: Option<PathVisibility>,
    preconditions: Option<Preconditions>,
    approval: WriteApproval,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let root = root_for_action(host, preconditions.as_ref());
    let mut holds_guard = None;
    let is_write = files::is_write_action(&action);
    let is_restore = matches!(action, FileAction::RestoreFile(_));
    if is_restore {
        require_approved_restore(approval)?;
    }
    if preconditions.is_some() && is_write {
        if !is_restore {
            files::reject_protected_paths(&root, &action)?;
        }
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
        match (quarantine, &action) {
            (Some(quarantine), FileAction::RestoreFile(restore)) => {
                let is_persons = approval == WriteApproval::PersonsOwn;
                to_json_value(&quarantine.put_back(restore, is_persons)?)
            }
            (Some(quarantine), _) => run_watched(&quarantine, &root, action, approval, run),
            (None, _) => run(&action),
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

/// What was set aside contains what no agent may write; only an answer puts it back.
fn require_approved_restore(approval: WriteApproval) -> Result<(), ActionError> {
    if approval != WriteApproval::None {
        return Ok(());
    }
    let message = "what was set aside is put back only after a person was shown it";
    Err(ActionError::new(Code::ProtectedPath, message))
}

/// Whether a person knows what a file action writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteApproval {
    /// It is the action of a person.
    PersonsOwn,
    /// A person was shown the action of an agent, and allowed it.
    Shown,
    /// A rule, a grant or a mode allowed it.
    None,
}

impl WriteApproval {
    /// An agent's action has preconditions, a person's own has none.
    pub(super) fn new(approved: bool, preconditions: Option<&Preconditions>) -> Self {
        match (approved, preconditions) {
            (true, None) => Self::PersonsOwn,
            (true, Some(_)) => Self::Shown,
            (false, _) => Self::None,
        }
    }
}

/// Executes a file action that writes. What a person was shown stays; anything else that makes
/// programs run something, such as a folder that became a repository, is set aside.
fn run_watched(
    quarantine: &Arc<Quarantine>,
    root: &RootDir,
    mut action: FileAction,
    approval: WriteApproval,
    run: impl FnOnce(&FileAction) -> Result<Value, ActionError>,
) -> Result<Value, ActionError> {
    let named = Action::File(action.clone()).paths();
    let links = root.allowed_links();
    let real = named.iter().filter_map(|path| {
        let real = links?.resolve(path.as_ref());
        RelPath::new(real.to_str()?).ok()
    });
    let paths: Vec<RelPath> = named.iter().cloned().chain(real).collect();
    let referenced = quarantine.find_referenced(&paths);
    let is_judged = |path: &&RelPath| {
        protection_reason(path).is_some()
            || unknown_name_reason(path).is_some()
            || path.name().is_some_and(is_judged_name)
            || referenced.contains(path)
    };
    let relevant: Vec<&RelPath> = paths.iter().filter(is_judged).collect();
    // The project is only looked at where the action can have made something that runs.
    let is_relevant = !relevant.is_empty()
        || matches!(action, FileAction::MoveFile(_))
        || paths.iter().any(|path| path.components().any(is_git_entry_name));
    if !is_relevant {
        return run(&action);
    }
    let watch = quarantine.begin_action(true);
    if let (Some(path), WriteApproval::PersonsOwn | WriteApproval::Shown) =
        (relevant.last(), approval)
    {
        let known = quarantine.required_hash(Path::new(path.as_str()));
        require_known_content(&mut action, known);
    }
    let mut result = run(&action);
    if let Ok(result) = &result {
        let choose = |path: &&RelPath| {
            Some((path.as_str().into(), choose_adoption(approval, &action, path, result)?))
        };
        quarantine.adopt_paths(&relevant.iter().filter_map(choose).collect());
    }
    let report = watch.settle();
    if let (Ok(Value::Object(result)), false) = (&mut result, report.is_empty()) {
        result.insert("setAside".to_owned(), to_json_value(&report)?);
        result.insert("hint".to_owned(), PUT_BACK_HINT.into());
    }
    result
}

/// What of a path that an action named becomes the person's.
fn choose_adoption(
    approval: WriteApproval,
    action: &FileAction,
    path: &RelPath,
    result: &Value,
) -> Option<AdoptedContent> {
    let written = result["hash"].as_str().and_then(|hash| hash.parse().ok());
    let shown = |hash| AdoptedContent::Shown { kind: EntryType::File, hash, is_executable: None };
    match (approval, action, written) {
        (WriteApproval::PersonsOwn | WriteApproval::Shown, _, Some(hash)) => Some(shown(hash)),
        (WriteApproval::PersonsOwn, _, None) => Some(AdoptedContent::Any),
        (WriteApproval::Shown, FileAction::ApplyPatch(applied), None) => {
            (!applied.renamed_paths().contains(path)).then_some(AdoptedContent::File)
        }
        // Nobody saw the content of what was moved.
        (WriteApproval::Shown | WriteApproval::None, _, _) => None,
    }
}

/// Whether a file of this name is relevant by its content, or by the files beside it.
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
        | FileAction::DeleteFile(_)
        | FileAction::RestoreFile(_) => {}
    }
}
