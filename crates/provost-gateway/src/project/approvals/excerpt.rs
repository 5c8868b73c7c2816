//! A bounded excerpt of an approval for lists: a list of large approvals must not cost as much as
//! all of them together. The whole approval is read by its id.

use provost_proto::{Approval, ApprovalPrompt, TrustPrompt};
use serde_json::Value;

/// The most bytes of one text.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// The most bytes of a diff.
const MAX_DIFF_BYTES: usize = 32 * 1024;

/// The most elements of a list or members of an object.
const MAX_ELEMENTS: usize = 64;

/// The most bytes of all parameters.
const MAX_PARAMS_BYTES: usize = 64 * 1024;

/// The excerpt of an approval, and whether it is less than the approval. Large parts are not
/// copied first.
pub(crate) fn excerpt_approval(approval: &Approval) -> (Approval, bool) {
    let mut cutter = ExcerptCutter { is_cut: false, bytes_left: MAX_PARAMS_BYTES };
    let asked = &approval.question;
    let trust = asked.trust.as_ref().map(|trust| TrustPrompt {
        what: trust.what,
        file: trust.file.clone(),
        hash: trust.hash,
        before: trust.before,
        diff: cutter.cut_text(&trust.diff, MAX_DIFF_BYTES),
    });
    let notes = asked.notes.iter().take(MAX_ELEMENTS);
    let question = ApprovalPrompt {
        name: asked.name.clone(),
        params: cutter.cut_json(&asked.params),
        what: cutter.cut_text(&asked.what, MAX_TEXT_BYTES),
        why: cutter.cut_text(&asked.why, MAX_TEXT_BYTES),
        demands: cutter.cut_list(&asked.demands),
        cwd: asked.cwd.clone(),
        diff: asked.diff.as_ref().map(|diff| cutter.cut_text(diff, MAX_DIFF_BYTES)),
        notes: notes.map(|note| cutter.cut_text(note, MAX_TEXT_BYTES)).collect(),
        profile: asked.profile.clone(),
        network: asked.network,
        rules: cutter.cut_list(&asked.rules),
        gate: asked.gate.clone(),
        pins: cutter.cut_list(&asked.pins),
        choices: asked.choices.clone(),
        trust,
    };
    cutter.is_cut |= asked.notes.len() > MAX_ELEMENTS;
    let excerpt = Approval {
        id: approval.id,
        project: approval.project,
        action: approval.action,
        action_hash: approval.action_hash,
        principal: approval.principal.clone(),
        actor: approval.actor.clone(),
        class: approval.class,
        role: approval.role.clone(),
        session: approval.session,
        question,
        status: approval.status,
        asked_at: approval.asked_at,
        expires_at: approval.expires_at,
        resolved_at: approval.resolved_at,
        resolved_by: approval.resolved_by.clone(),
        scope: approval.scope,
        message: approval.message.clone(),
        resolved_actor: approval.resolved_actor.clone(),
        resolved_command: approval.resolved_command.clone(),
    };
    (excerpt, cutter.is_cut)
}

/// Copies bounded parts.
struct ExcerptCutter {
    is_cut: bool,
    /// Bytes of parameters that may still be copied.
    bytes_left: usize,
}

impl ExcerptCutter {
    fn cut_text(&mut self, text: &str, most: usize) -> String {
        if text.len() <= most {
            return text.to_owned();
        }
        self.is_cut = true;
        let end = text.floor_char_boundary(most);
        format!("{}… ({} more bytes)", &text[..end], text.len() - end)
    }

    fn cut_list<T: Clone>(&mut self, list: &[T]) -> Vec<T> {
        self.is_cut |= list.len() > MAX_ELEMENTS;
        list.iter().take(MAX_ELEMENTS).cloned().collect()
    }

    fn cut_json(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let cut = self.cut_text(text, MAX_TEXT_BYTES.min(self.bytes_left));
                self.bytes_left = self.bytes_left.saturating_sub(cut.len());
                Value::String(cut)
            }
            Value::Array(items) => {
                self.is_cut |= items.len() > MAX_ELEMENTS;
                items.iter().take(MAX_ELEMENTS).map(|item| self.cut_json(item)).collect()
            }
            Value::Object(members) => {
                self.is_cut |= members.len() > MAX_ELEMENTS;
                let some = members.iter().take(MAX_ELEMENTS);
                let cut = some.map(|(name, value)| {
                    (self.cut_text(name, MAX_TEXT_BYTES), self.cut_json(value))
                });
                Value::Object(cut.collect())
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn large_parts_are_cut_and_small_ones_stay() {
        let mut cutter = ExcerptCutter { is_cut: false, bytes_left: MAX_PARAMS_BYTES };
        let small = json!({ "path": "a.txt", "n": [1, null, true] });
        assert_eq!(cutter.cut_json(&small), small);
        assert!(!cutter.is_cut);
        let large = json!({ "path": "a.txt", "content": "é".repeat(8_000_000) });
        let cut = cutter.cut_json(&large);
        assert!(cutter.is_cut);
        assert_eq!(cut["path"], "a.txt");
        assert!(cut["content"].as_str().unwrap().ends_with("more bytes)"));
        assert!(cut.to_string().len() < 5000);
        let many = json!(vec!["x".repeat(4000); 1000]);
        assert!(cutter.cut_json(&many).to_string().len() < 2 * MAX_PARAMS_BYTES);
    }
}
