//! "Always": a rule in the person's own `policy.toml`.
//!
//! It is checked before the answer is recorded and written after it: a rule that
//! nobody answered for must not be there, one that is missing only asks again.

use std::path::{Path, PathBuf};

use provost_proto::ProjectId;
use provost_sandbox::root_dir::{self, RootDir};

use crate::project::governance::GovernanceGuard;
use crate::project::governance::changes::bad_governance_error;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// The person's own `policy.toml` with a rule more, if it is one that allows
    /// this, and if it can be written.
    pub(crate) async fn prepare_user_rule(
        &self,
        approval: &provost_proto::Approval,
        rule: String,
    ) -> Result<PendingPolicyEdit, GatewayError> {
        let user = self.governance.user_rules();
        if !user.errors.is_empty() {
            return Err(bad_governance_error(user.errors.join("\n")));
        }
        let text = append_rule_text(&user.text, &rule);
        self.check_rules_allow(approval, &user.file, &text).await?;
        let added = PendingPolicyEdit { file: user.file.clone(), before: user.text.clone(), text };
        let try_it = move || {
            prepare_policy_folder(&added.file, &added.before)?;
            Ok(added)
        };
        tokio::task::spawn_blocking(try_it).await.map_err(|_| GatewayError::Stopping)?
    }

    /// Writes the rule. The answer that it is for is in the log.
    pub(crate) async fn persist_user_rule(
        &self,
        added: PendingPolicyEdit,
        project: ProjectId,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let write = move || write_policy_file(&added.file, &added.before, &added.text);
        let written =
            tokio::task::spawn_blocking(write).await.map_err(|_| GatewayError::Stopping)?;
        written.map_err(|error| {
            bad_governance_error(format!(
                "it runs this once, but the rule could not be written: {error}"
            ))
        })?;
        self.refresh_governance(project, guard).await?;
        Ok(())
    }
}

/// The person's own rules with one more, not yet written.
pub(crate) struct PendingPolicyEdit {
    file: PathBuf,
    before: String,
    text: String,
}

/// The text with a rule behind it, all else as it was.
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

/// The folder for the person's own rules, if those are still what they were.
fn prepare_policy_folder<'a>(file: &'a Path, before: &str) -> Result<&'a Path, GatewayError> {
    let shown = file.display();
    let no_place = || bad_governance_error(format!("{shown} is no place for rules"));
    let folder = file.parent().ok_or_else(no_place)?;
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
    std::fs::create_dir_all(folder)
        .map_err(|error| bad_governance_error(format!("cannot make {shown}: {error}")))?;
    Ok(folder)
}

/// Writes the person's own rules, if they are still what they were.
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
