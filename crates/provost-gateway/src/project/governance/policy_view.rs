//! The rules of a project, as people see them.

use provost_core::diff::whole_diff;
use provost_core::policy::{Policy, PolicyRule, PolicyTrust, RuleEffect};
use provost_proto::{GovernanceFileKind, PolicyLayer, PolicyView, Project, RuleView};

use super::files::{POLICY_PATH, PolicyFile, trust_from_flag};
use super::trusted_files::bad_governance_error;
use super::{Governance, ProjectGovernance};
use crate::GatewayError;

impl Governance {
    /// The rules of a project, of all layers.
    pub async fn get_policy_view(&self, project: &Project) -> Result<PolicyView, GatewayError> {
        let governance = self.load_current(project.id).await?;
        let builtin = builtin_policy()?;
        let user = self.user_rules();
        let user_policy = user.policy.as_ref();
        let mut layers = vec![
            PolicyLayer {
                layer: "builtin".to_owned(),
                file: None,
                hash: None,
                trusted: true,
                diff: None,
                rules: build_rule_views(&builtin, true),
                errors: Vec::new(),
            },
            PolicyLayer {
                layer: "user".to_owned(),
                file: Some(user.file.display().to_string()),
                hash: user.hash,
                trusted: true,
                diff: None,
                rules: user_policy.map(|policy| build_rule_views(policy, true)).unwrap_or_default(),
                errors: user.errors.clone(),
            },
        ];
        let file = governance.files.as_ref().and_then(|files| files.policy.as_ref());
        layers.extend(file.map(|file| build_project_layer(&governance, file)));
        Ok(PolicyView { layers })
    }
}

/// The built-in rules.
pub(crate) fn builtin_policy() -> Result<Policy, GatewayError> {
    Policy::builtin().map_err(|errors| bad_governance_error(errors.to_string()))
}

/// The rules of a project as they are now, if they can be read.
pub(crate) fn find_project_rules(governance: &ProjectGovernance) -> Option<(Policy, PolicyTrust)> {
    let file = governance.files.as_ref()?.policy.as_ref()?;
    let trusted = governance
        .find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH)
        .map(|trusted| trusted.hash);
    Some((file.parsed.as_ref().ok()?.clone(), trust_from_flag(trusted == Some(file.hash))))
}

fn build_project_layer(governance: &ProjectGovernance, file: &PolicyFile) -> PolicyLayer {
    let before = governance.find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH);
    let trusted = before.is_some_and(|before| before.hash == file.hash);
    let old = before.map_or("", |before| &before.text);
    let parsed = file.parsed.as_ref();
    PolicyLayer {
        layer: "project".to_owned(),
        file: Some(POLICY_PATH.to_owned()),
        hash: Some(file.hash),
        trusted,
        diff: (!trusted).then(|| whole_diff(old, &file.text, POLICY_PATH)),
        rules: parsed.map(|policy| build_rule_views(policy, trusted)).unwrap_or_default(),
        errors: parsed.err().cloned().unwrap_or_default(),
    }
}

fn build_rule_views(policy: &Policy, trusted: bool) -> Vec<RuleView> {
    let view = |rule: &PolicyRule| RuleView {
        id: rule.id().to_owned(),
        effect: rule.effect().as_str().to_owned(),
        text: rule.to_toml(),
        reason: rule.reason().map(str::to_owned),
        active: trusted || rule.effect() != RuleEffect::Allow,
    };
    policy.rules().iter().map(view).collect()
}
