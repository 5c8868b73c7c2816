//! Redaction of secrets from all that leaves the kernel.

use parking_lot::RwLock;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_core::action::{BytesEncoding, RelPath};
use provost_core::redact::{Redactor, Secrets};
use provost_proto::Code;
use provost_proto::kernel::{ErrorInfo, KnownSecret};
use provost_sandbox::root_dir::RootDir;
use serde_json::{Map, Value};

use crate::ActionError;
use crate::error::from_io;
use crate::files::ReadFileResult;

/// The redactor, once a daemon has sent the secrets.
#[derive(Debug, Default)]
pub(super) struct SharedRedactor(RwLock<Option<Arc<Redactor>>>);

impl SharedRedactor {
    /// Replaces the secrets of an earlier daemon.
    pub(super) fn set_secrets(&self, values: Vec<KnownSecret>) -> Result<(), ActionError> {
        let redactor = Redactor::new(&Secrets::new(values))
            .map_err(|error| ActionError::new(Code::Internal, error.to_string()))?;
        *self.0.write() = Some(Arc::new(redactor));
        Ok(())
    }

    /// The current redactor. Nothing is executed before there is one.
    pub(super) fn redactor(&self) -> Result<Arc<Redactor>, ActionError> {
        let redactor = self.0.read().clone();
        redactor.ok_or_else(|| {
            let message = "the kernel has not received the secrets to redact; restart the daemon";
            ActionError::new(Code::Unavailable, message)
        })
    }
}

/// Redacts the result of an action. A result says how many secrets were removed, so
/// that nobody mistakes it for the real content.
pub(super) fn redact_result(
    redactor: &Redactor,
    result: Result<Value, ActionError>,
) -> Result<Value, ActionError> {
    match result {
        Ok(Value::Object(mut members)) => {
            let n_marks = redact_members(redactor, &mut members);
            if n_marks > 0 {
                members.insert("redacted".to_owned(), n_marks.into());
            }
            Ok(Value::Object(members))
        }
        Ok(mut value) => {
            redactor.redact_json(&mut value);
            Ok(value)
        }
        Err(mut error) => {
            redactor.redact_string(&mut error.message);
            if let Some(details) = &mut error.details {
                redactor.redact_json(details);
            }
            Err(error)
        }
    }
}

/// Redacts a part of a file, and counts the secrets. Reads the surroundings too, so
/// that a secret that the part cuts off is redacted as well.
pub(super) fn redact_partial_content(
    redactor: &Redactor,
    root: &RootDir,
    path: &RelPath,
    content: ReadFileResult,
) -> Result<(ReadFileResult, usize), ActionError> {
    let max_match = redactor.max_match_bytes() as u64;
    let file = root.open_read(path.as_ref())?.file;
    let begin = content.offset.saturating_sub(max_match);
    let before = read_surrounding(&file, begin, content.offset - begin)?;
    let after = read_surrounding(&file, content.offset.saturating_add(content.length), max_match)?;
    let part = match content.encoding {
        BytesEncoding::Utf8 => content.content.clone().into_bytes(),
        BytesEncoding::Base64 => STANDARD.decode(&content.content).unwrap_or_default(),
    };
    let (start, end) = (before.len(), before.len() + part.len());
    let all = [before, part, after].concat();
    let (mut pieces, n_marks) = redactor.redact_pieces(&all, &[start, end]);
    let redacted = pieces.pop().unwrap_or_default();
    if all.get(start..end) == Some(&redacted[..]) {
        return Ok((content, 0));
    }
    let text = match content.encoding {
        BytesEncoding::Utf8 => String::from_utf8_lossy(&redacted).into_owned(),
        BytesEncoding::Base64 => STANDARD.encode(redacted),
    };
    // A secret that begins before the part is counted there.
    let (_, n_before) = redactor.redact_pieces(&all, &[start]);
    Ok((ReadFileResult { content: text, ..content }, (n_marks - n_before).max(1)))
}

fn read_surrounding(mut file: &File, offset: u64, length: u64) -> Result<Vec<u8>, ActionError> {
    let io = |error| from_io("read the file", &error);
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Base64 content is decoded first.
fn redact_members(redactor: &Redactor, members: &mut Map<String, Value>) -> usize {
    let encoded = members.get("encoding").is_some_and(|encoding| encoding == "base64");
    let content = members.get("content").and_then(Value::as_str).filter(|_| encoded);
    let bytes = content.and_then(|content| STANDARD.decode(content).ok());
    let replaced = bytes.and_then(|bytes| redactor.try_redact(&bytes));
    let mut n_marks = 0;
    if let Some((bytes, n_inside)) = replaced {
        members.insert("content".to_owned(), STANDARD.encode(bytes).into());
        n_marks = n_inside;
    }
    n_marks + members.values_mut().map(|member| redactor.redact_json(member)).sum::<usize>()
}

/// Redacts the message and details of a failure.
pub(super) fn redact_fault(redactor: &Redactor, mut fault: ErrorInfo) -> ErrorInfo {
    redactor.redact_string(&mut fault.message);
    if let Some(details) = &mut fault.details {
        redactor.redact_json(details);
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const VALUE: &str = "s3cr3t-Value-42";

    fn redactor() -> Arc<Redactor> {
        let known = SharedRedactor::default();
        assert_eq!(
            known.redactor().unwrap_err().code,
            Code::Unavailable,
            "no secrets were set yet"
        );
        let secret = KnownSecret { name: "API_KEY".to_owned(), value: VALUE.to_owned() };
        known.set_secrets(vec![secret]).unwrap();
        known.redactor().unwrap()
    }

    #[test]
    fn a_result_says_how_much_of_it_was_redacted() {
        let result = json!({ "content": format!("a={VALUE}\nb={VALUE}"), "encoding": "utf8" });
        let result = redact_result(&redactor(), Ok(result)).unwrap();
        assert_eq!(result["content"], "a=[redacted: API_KEY]\nb=[redacted: API_KEY]");
        assert_eq!(result["redacted"], 2);
        let plain = json!({ "content": "plain" });
        assert_eq!(redact_result(&redactor(), Ok(plain.clone())).unwrap(), plain);
    }

    #[test]
    fn content_in_base64_can_still_be_decoded() {
        let content = STANDARD.encode([b"\xff\x00", VALUE.as_bytes(), b"!"].concat());
        let result = json!({ "content": content, "encoding": "base64" });
        let result = redact_result(&redactor(), Ok(result)).unwrap();
        let bytes = STANDARD.decode(result["content"].as_str().unwrap()).unwrap();
        assert_eq!(bytes, b"\xff\x00[redacted: API_KEY]!");
        assert_eq!(result["redacted"], 1);
    }

    #[test]
    fn a_failure_lets_nothing_out_either() {
        let error = ActionError::new(Code::NotFound, format!("no {VALUE}"))
            .with_details(json!({ "path": VALUE }));
        let error = redact_result(&redactor(), Err(error)).unwrap_err();
        assert_eq!(error.message, "no [redacted: API_KEY]");
        assert_eq!(error.details, Some(json!({ "path": "[redacted: API_KEY]" })));
    }

    #[test]
    fn of_a_secret_that_is_cut_off_nothing_is_let_out() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("ä first\nkey {VALUE} end\n{}", "x".repeat(500));
        std::fs::write(folder.path().join("a"), &text).unwrap();
        let (root, redactor) = (RootDir::open(folder.path()).unwrap(), redactor());
        let start = text.find(VALUE).unwrap();
        let end = start + VALUE.len();
        for (offset, length) in (0..60).flat_map(|from| (1..40).map(move |n| (from, n))) {
            let params =
                json!({ "path": "a", "offset": offset, "length": length, "encoding": "base64" });
            let action = provost_core::action::Action::parse("fs.readFile", params).unwrap();
            let provost_core::action::Action::File(provost_core::action::FileAction::ReadFile(
                wanted,
            )) = action
            else {
                panic!("no read")
            };
            let content = crate::files::read_file_content(&root, &wanted).unwrap();
            let (part, n_secrets) =
                redact_partial_content(&redactor, &root, &wanted.path, content).unwrap();
            let to = offset + length;
            let mut expected = text.as_bytes()[offset..to.min(start).max(offset)].to_vec();
            if (offset..to).contains(&start) {
                expected.extend_from_slice(b"[redacted: API_KEY]");
            }
            expected.extend_from_slice(&text.as_bytes()[offset.max(end).min(to)..to]);
            assert_eq!(STANDARD.decode(part.content).unwrap(), expected, "{offset} {length}");
            assert_eq!(n_secrets, usize::from(offset < end && to > start), "{offset} {length}");
        }
    }
}
