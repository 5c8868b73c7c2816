//! The fold of outputs: pages, and places of display names.

use provost_proto::limits;
use provost_proto::notebook::{
    DisplayLocations, MimeBundle, MimeData, NotebookFact, OutputAdded, OutputAppended,
    OutputContent, OutputLocation, OutputPage, OutputPart,
};
use serde_json::Value;

pub(super) fn new_page(fact: &NotebookFact) -> Option<OutputPage> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact creates a page")]
    let (notebook, execution, page, part) = match fact {
        NotebookFact::OutputAdded(added) => {
            (added.notebook, added.execution, added.page, new_part(added))
        }
        NotebookFact::OutputAppended(appended) => {
            (appended.notebook, appended.execution, appended.page, continued_part(appended))
        }
        _ => return None,
    };
    Some(OutputPage { execution, notebook, page, parts: vec![part] })
}

fn new_part(added: &OutputAdded) -> OutputPart {
    let content = added.content.clone();
    OutputPart { output: added.output, ordinal: added.ordinal, continues: false, content }
}

fn continued_part(appended: &OutputAppended) -> OutputPart {
    let content = appended.content.clone();
    OutputPart { output: appended.output, ordinal: appended.ordinal, continues: true, content }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a page")]
pub(super) fn update_page(page: &mut OutputPage, fact: &NotebookFact) {
    match fact {
        NotebookFact::OutputAdded(added) => {
            page.parts.retain(|part| part.ordinal >= added.first);
            page.parts.push(new_part(added));
        }
        NotebookFact::OutputAppended(appended) => match page.parts.last_mut() {
            Some(part) if part.ordinal == appended.ordinal && part.output == appended.output => {
                append_text(&mut part.content, &appended.content);
            }
            // The text continues on a page whose outputs were cleared.
            Some(_) | None => page.parts = vec![continued_part(appended)],
        },
        NotebookFact::OutputReplaced(replaced) => {
            for part in page.parts.iter_mut().filter(|part| part.output == replaced.output) {
                if let OutputContent::Display { data, metadata, .. }
                | OutputContent::Result { data, metadata, .. } = &mut part.content
                {
                    data.clone_from(&replaced.data);
                    metadata.clone_from(&replaced.metadata);
                }
            }
        }
        _ => {}
    }
}

fn append_text(content: &mut OutputContent, appended: &OutputContent) {
    if let (
        OutputContent::Stream { text, .. } | OutputContent::Markdown { text },
        OutputContent::Stream { text: more, .. } | OutputContent::Markdown { text: more },
    ) = (content, appended)
    {
        text.push_str(more);
    }
}

pub(super) fn new_display(fact: &NotebookFact) -> Option<DisplayLocations> {
    let NotebookFact::OutputAdded(added) = fact else { return None };
    let display = display_name(&added.content)?.to_owned();
    Some(DisplayLocations { notebook: added.notebook, display, places: vec![new_place(added)] })
}

const fn new_place(added: &OutputAdded) -> OutputLocation {
    OutputLocation {
        execution: added.execution,
        page: added.page,
        output: added.output,
        ordinal: added.ordinal,
    }
}

pub(super) fn update_display(display: &mut DisplayLocations, fact: &NotebookFact) {
    let NotebookFact::OutputAdded(added) = fact else { return };
    let is_shown =
        |place: &OutputLocation| place.execution != added.execution || place.ordinal >= added.first;
    display.places.retain(is_shown);
    display.places.push(new_place(added));
    let excess = display.places.len().saturating_sub(limits::MAX_DISPLAY_PLACES);
    display.places.drain(..excess);
}

/// The name under which an output can be replaced.
pub(crate) fn display_name(content: &OutputContent) -> Option<&str> {
    match content {
        OutputContent::Display { display, .. } | OutputContent::Result { display, .. } => {
            display.as_deref()
        }
        OutputContent::Stream { .. }
        | OutputContent::Error { .. }
        | OutputContent::Markdown { .. } => None,
    }
}

/// The size of an output, in bytes: that of its texts, without their escapes.
pub(crate) fn content_bytes(content: &OutputContent) -> usize {
    match content {
        OutputContent::Stream { text, .. } | OutputContent::Markdown { text } => text.len(),
        OutputContent::Display { data, metadata, .. }
        | OutputContent::Result { data, metadata, .. } => {
            let metadata = metadata.iter().map(|(key, value)| key.len() + json_bytes(value));
            bundle_bytes(data) + metadata.sum::<usize>()
        }
        OutputContent::Error { name, value, traceback } => {
            name.len() + value.len() + traceback.iter().map(String::len).sum::<usize>()
        }
    }
}

fn bundle_bytes(data: &MimeBundle) -> usize {
    let sizes = data.iter().map(|(mime, data)| {
        mime.len()
            + match data {
                MimeData::Inline(value) => json_bytes(value),
                MimeData::Artifact { .. } => 80,
            }
    });
    sizes.sum()
}

/// About the size of JSON, in bytes.
pub(crate) fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + json_bytes(value) + 4).sum::<usize>() + 2
        }
    }
}
