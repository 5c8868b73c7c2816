//! The answer "always": a rule in the owner's `policy.toml`.
//!
//! The rule is checked before the answer is recorded and written after it: there must be no
//! rule that nobody answered for, while a missing rule only requires another approval.

use std::path::{Path, PathBuf};

use provost_proto::{Approval, ProjectId};
use provost_sandbox::root_dir::{self, RootDir};

use super::Approvals;
use crate::GatewayError;
use crate::project::governance::GovernanceGuard;
use crate::project::governance::trusted_files::bad_governance_error;

impl Approvals {
    /// The owner's `policy.toml` with one more rule. Fails if the rule does not allow the
    /// action, or if the file cannot be written.
    pub(super) async fn prepare_user_rule(
        &self,
        approval: &Approval,
        rule: String,
    ) -> Result<PendingPolicyEdit, GatewayError> {
        let user = self.governance.user_rules();
        if !user.errors.is_empty() {
            return Err(bad_governance_error(user.errors.join("\n")));
        }
        let text = append_rule_text(&user.text, &rule);
        self.decisions.check_rules_allow(approval, &user.file, &text).await?;
        let edit = PendingPolicyEdit { file: user.file.clone(), before: user.text.clone(), text };
        let prepare = move || {
            prepare_policy_folder(&edit.file, &edit.before)?;
            Ok(edit)
        };
        tokio::task::spawn_blocking(prepare).await.map_err(|_| GatewayError::Stopping)?
    }

    /// Writes the rule. Its answer is in the log.
    pub(super) async fn persist_user_rule(
        &self,
        edit: PendingPolicyEdit,
        project: ProjectId,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let write = move || write_policy_file(&edit.file, &edit.before, &edit.text);
        let written =
            tokio::task::spawn_blocking(write).await.map_err(|_| GatewayError::Stopping)?;
        written.map_err(|error| {
            bad_governance_error(format!(
                "the action runs once, but the rule could not be written: {error}"
            ))
        })?;
        self.governance.refresh(project, guard).await?;
        Ok(())
    }
}

/// The owner's rules with one more, not written yet.
pub(super) struct PendingPolicyEdit {
    file: PathBuf,
    before: String,
    text: String,
}

/// Appends a rule to the text of a policy.
fn append_rule_text(text: &str, rule: &str) -> String {
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{text}{gap}{}\n", rule.trim_end())
}

/// Creates the folder of the owner's rules. Fails if the rules changed meanwhile.
fn prepare_policy_folder<'a>(file: &'a Path, before: &str) -> Result<&'a Path, GatewayError> {
    let shown = file.display();
    let no_folder = || bad_governance_error(format!("{shown} has no parent folder"));
    let folder = file.parent().ok_or_else(no_folder)?;
    let now = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => {
            read.map_err(|error| bad_governance_error(format!("cannot read {shown}: {error}")))?
        }
    };
    if now != before {
        return Err(bad_governance_error(format!(
            "{shown} was changed by someone else just now; try again"
        )));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        bad_governance_error(format!("cannot create the folder of {shown}: {error}"))
    })?;
    Ok(folder)
}

/// Writes the owner's rules. Fails if they changed meanwhile.
fn write_policy_file(file: &Path, before: &str, text: &str) -> Result<(), GatewayError> {
    let shown = file.display();
    let folder = prepare_policy_folder(file, before)?;
    let name = file.file_name().unwrap_or_default();
    let failed = |error: root_dir::RootDirError| {
        bad_governance_error(format!("cannot write {shown}: {error}"))
    };
    let root = RootDir::open(folder).map_err(failed)?;
    root.write(Path::new(name), text.as_bytes(), root_dir::FileWriteMode::Overwrite).map_err(failed)
}
