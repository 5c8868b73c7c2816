//! Redaction of secrets in what is logged and in what callers are told.

use provost_core::action::Action;
use provost_core::decide::BoundAction;
use provost_core::redact::{Redactor, Secrets, TooManySecrets, find_action_secrets};
use provost_proto::kernel::{ErrorInfo, OutputChunk, OutputData};
use provost_proto::{ApprovalPrompt, Code, Fact};
use provost_store::{AppendRequest, StoreError};
use serde_json::Value;

use super::EventLog;
use crate::GatewayError;

impl EventLog {
    pub(super) fn redact_append(
        &self,
        mut append: AppendRequest,
    ) -> Result<AppendRequest, StoreError> {
        let params_redactor = build_params_redactor(
            append.events.iter().filter_map(|event| find_fact_params(&event.fact)),
        )?;
        for event in &mut append.events {
            redact_fact(&self.redactor, &mut event.fact)?;
            if let Some(params_redactor) = &params_redactor {
                redact_fact(params_redactor, &mut event.fact)?;
            }
        }
        Ok(append)
    }

    /// An approval prompt as the log would hold it.
    pub(crate) fn redact_prompt(
        &self,
        prompt: ApprovalPrompt,
    ) -> Result<ApprovalPrompt, StoreError> {
        let invalid = |error: serde_json::Error| StoreError::NotCanonical(error.to_string());
        let params_redactor = build_params_redactor(std::iter::once(&prompt.params))?;
        let mut value = serde_json::to_value(prompt).map_err(invalid)?;
        self.redactor.redact_json(&mut value);
        if let Some(params_redactor) = params_redactor {
            params_redactor.redact_json(&mut value);
        }
        serde_json::from_value(value).map_err(invalid)
    }

    /// Whether an action holds a secret, so that the log cannot hold it unchanged.
    pub(crate) fn holds_secret(&self, action: &Action) -> bool {
        let mut params = action.params();
        self.redactor.redact_json(&mut params) > 0
            || !find_action_secrets(&params).known().is_empty()
    }

    /// A copy of the action, if the log cannot hold it unchanged.
    pub(crate) fn extract_secret_action(&self, bound_action: &BoundAction) -> Option<Action> {
        let action = &bound_action.request().action;
        self.holds_secret(action).then(|| action.clone())
    }

    /// Redacts an error before a caller sees it.
    pub(crate) fn redact_error(&self, error: GatewayError) -> GatewayError {
        let message = error.to_string();
        let mut fault = if let GatewayError::Fault(fault) = error {
            fault
        } else if matches!(error, GatewayError::BadAction(_))
            && self.redactor.may_contain_secret(message.as_bytes())
        {
            // These errors quote the request.
            ErrorInfo { code: Code::InvalidAction, message, details: None }
        } else {
            return error;
        };
        self.redactor.redact_string(&mut fault.message);
        if let Some(details) = &mut fault.details {
            self.redactor.redact_json(details);
        }
        GatewayError::Fault(fault)
    }
}

/// The parameters of an action that a fact contains.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other facts hold no parameters")]
fn find_fact_params(fact: &Fact) -> Option<&Value> {
    match fact {
        Fact::ActionRequested { params, .. } | Fact::ActionRead { params, .. } => Some(params),
        Fact::ApprovalAsked { question: prompt, .. } => Some(&prompt.params),
        _ => None,
    }
}

/// A redactor for the secrets that the parameters themselves contain, if there are any.
fn build_params_redactor<'a>(
    params: impl Iterator<Item = &'a Value>,
) -> Result<Option<Redactor>, StoreError> {
    let mut known =
        params.flat_map(|params| find_action_secrets(params).known().to_vec()).peekable();
    if known.peek().is_none() {
        return Ok(None);
    }
    let invalid = |error: TooManySecrets| StoreError::NotCanonical(error.to_string());
    Redactor::new(&Secrets::new(known)).map(Some).map_err(invalid)
}

/// Redacts a fact in its serialized form, so that no field is missed. The fact is only
/// parsed again if something was found.
fn redact_fact(redactor: &Redactor, fact: &mut Fact) -> Result<(), StoreError> {
    if let Fact::ActionOutput { output, .. } = fact {
        // The kernel has redacted the stream across chunks; this is a second line of defense.
        redact_output(redactor, output);
        return Ok(());
    }
    if let Fact::ProjectOpened { .. } = fact {
        // The path identifies the project, and a person chose it.
        return Ok(());
    }
    let invalid = |error: serde_json::Error| {
        StoreError::NotCanonical(format!("cannot redact a secret in the event: {error}"))
    };
    let text = serde_json::to_vec(&*fact).map_err(invalid)?;
    if !redactor.may_contain_secret(&text) {
        return Ok(());
    }
    let mut value = serde_json::to_value(&*fact).map_err(invalid)?;
    if redactor.redact_json(&mut value) > 0 {
        *fact = serde_json::from_value(value).map_err(invalid)?;
    }
    Ok(())
}

fn redact_output(redactor: &Redactor, output: &mut OutputChunk) {
    if let OutputData::Bytes(bytes) = &output.data
        && let Some((redacted, _)) = redactor.try_redact(bytes)
    {
        output.data = redacted.into();
    }
}
