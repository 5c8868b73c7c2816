//! The fold of what a running command prints. Only the end is kept, and nothing once the command
//! has ended: the log has the whole.

use provost_proto::kernel::{OutputChunk, OutputData};
use provost_proto::{CommandOutput, Fact, limits};

use super::ViewDocument;

pub(super) fn fold_output(doc: Option<ViewDocument>, fact: &Fact) -> Option<ViewDocument> {
    let known = doc.and_then(ViewDocument::into_output);
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about output")]
    let output = match fact {
        Fact::ActionOutput { action, project, output, .. } => {
            let mut known = known.unwrap_or_else(|| CommandOutput {
                action: *action,
                project: *project,
                text: String::new(),
                omitted: 0,
            });
            append_chunk(&mut known, output);
            known
        }
        Fact::ActionFinished { .. } => CommandOutput { text: String::new(), omitted: 0, ..known? },
        _ => known?,
    };
    Some(ViewDocument::Output(Box::new(output)))
}

fn append_chunk(output: &mut CommandOutput, chunk: &OutputChunk) {
    output.text.push_str(&chunk_text(chunk));
    let excess = output.text.len().saturating_sub(limits::MAX_COMMAND_OUTPUT_BYTES);
    if excess > 0 {
        let cut = output.text.ceil_char_boundary(excess);
        output.text.drain(..cut);
        output.omitted = output.omitted.saturating_add(u64::try_from(cut).unwrap_or(u64::MAX));
    }
}

/// A chunk as text for people.
pub fn chunk_text(chunk: &OutputChunk) -> String {
    let gap = match chunk.dropped {
        0 => String::new(),
        dropped => format!("… {dropped} bytes were dropped …\n"),
    };
    match &chunk.data {
        OutputData::Bytes(bytes) => gap + &String::from_utf8_lossy(bytes),
        OutputData::Blob(blob) => format!("{gap}… {} bytes not shown here …\n", blob.size),
    }
}
