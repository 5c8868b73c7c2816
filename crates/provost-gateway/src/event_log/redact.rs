//! Nothing secret reaches the log or a caller: the gateway's one road to the
//! store, and what it tells those who asked.

use provost_core::action::Action;
use provost_core::decide::BoundAction;
use provost_core::redact::{Redactor, Secrets, TooManySecrets, find_action_secrets};
use provost_proto::kernel::{ErrorInfo, OutputChunk, OutputData};
use provost_proto::{ApprovalPrompt, Code, Fact};
use provost_store::{AppendOutcome, AppendRequest, StoreError};
use serde_json::Value;

use crate::{Gateway, GatewayError};

impl Gateway {
    /// Writes to the log, without the secrets that are known.
    pub(crate) async fn append_redacted(
        &self,
        mut append: AppendRequest,
    ) -> Result<AppendOutcome, StoreError> {
        let own = build_params_redactor(
            append.events.iter().filter_map(|event| find_fact_params(&event.fact)),
        )?;
        for event in &mut append.events {
            redact_fact(&self.redactor, &mut event.fact)?;
            if let Some(own) = &own {
                redact_fact(own, &mut event.fact)?;
            }
        }
        self.store.append(append).await
    }

    /// A question as the log would have it.
    pub(crate) fn redact_prompt(
        &self,
        prompt: ApprovalPrompt,
    ) -> Result<ApprovalPrompt, StoreError> {
        let unfit = |error: serde_json::Error| StoreError::NotCanonical(error.to_string());
        let own = build_params_redactor(std::iter::once(&prompt.params))?;
        let mut value = serde_json::to_value(prompt).map_err(unfit)?;
        self.redactor.redact_json(&mut value);
        if let Some(own) = own {
            own.redact_json(&mut value);
        }
        serde_json::from_value(value).map_err(unfit)
    }

    /// Whether the log cannot keep this action as it is.
    pub(crate) fn holds_secret(&self, action: &Action) -> bool {
        let mut params = action.params();
        self.redactor.redact_json(&mut params) > 0
            || !find_action_secrets(&params).known().is_empty()
    }

    /// The action of a question, if the log cannot keep it.
    pub(crate) fn extract_secret_action(&self, bound_action: &BoundAction) -> Option<Action> {
        let action = &bound_action.request().action;
        self.holds_secret(action).then(|| action.clone())
    }

    /// An error on its way to a caller.
    pub(crate) fn redact_error(&self, error: GatewayError) -> GatewayError {
        let said = error.to_string();
        let mut fault = if let GatewayError::Fault(fault) = error {
            fault
        } else if matches!(error, GatewayError::BadAction(_))
            && self.redactor.may_contain_secret(said.as_bytes())
        {
            // What was sent is quoted in these.
            ErrorInfo { code: Code::InvalidAction, message: said, details: None }
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

/// The parameters that a fact tells of.
fn find_fact_params(fact: &Fact) -> Option<&Value> {
    if let Fact::ActionRequested { params, .. } | Fact::ActionRead { params, .. } = fact {
        Some(params)
    } else if let Fact::ApprovalAsked { question: prompt, .. } = fact {
        Some(&prompt.params)
    } else {
        None
    }
}

/// Finds the secrets that actions bring along themselves, if they do.
fn build_params_redactor<'a>(
    params: impl Iterator<Item = &'a Value>,
) -> Result<Option<Redactor>, StoreError> {
    let mut known =
        params.flat_map(|params| find_action_secrets(params).known().to_vec()).peekable();
    if known.peek().is_none() {
        return Ok(None);
    }
    let unfit = |error: TooManySecrets| StoreError::NotCanonical(error.to_string());
    Redactor::new(&Secrets::new(known)).map(Some).map_err(unfit)
}

/// Takes the secrets out of a fact. It is looked at as it will be written, so
/// that no field is forgotten; only if something is found is it taken apart.
fn redact_fact(redactor: &Redactor, fact: &mut Fact) -> Result<(), StoreError> {
    if let Fact::ActionOutput { output, .. } = fact {
        // The kernel has redacted it across its pieces; this is the second line.
        redact_output(redactor, output);
        return Ok(());
    }
    if let Fact::ProjectOpened { .. } = fact {
        // Where a project lies is what it is; a person chose it.
        return Ok(());
    }
    let unfit = |error: serde_json::Error| {
        StoreError::NotCanonical(format!("a secret cannot be taken out of it: {error}"))
    };
    let text = serde_json::to_vec(&*fact).map_err(unfit)?;
    if !redactor.may_contain_secret(&text) {
        return Ok(());
    }
    let mut value = serde_json::to_value(&*fact).map_err(unfit)?;
    if redactor.redact_json(&mut value) > 0 {
        *fact = serde_json::from_value(value).map_err(unfit)?;
    }
    Ok(())
}

fn redact_output(redactor: &Redactor, output: &mut OutputChunk) {
    if let OutputData::Bytes(bytes) = &output.data
        && let Some((kept, _)) = redactor.try_redact(bytes)
    {
        output.data = kept.into();
    }
}
