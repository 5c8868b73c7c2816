//! Events as rows of the database.

use provost_proto::{Hash, Seq, Stream, UnixMicros};
use rusqlite::Row;

use crate::{RecordedEvent, StoreError};

/// The columns of an event, with the hash of the one before it.
macro_rules! select_events {
    ($rest:literal) => {
        concat!(
            "SELECT e.seq, s.name, coalesce(p.hash, (SELECT hash FROM segments WHERE last = e.seq \
             - 1)), e.hash, e.record ",
            $rest
        )
    };
}
pub(super) use select_events;

/// The hashes of the blobs that a record refers to. Text in a body cannot look like a reference,
/// because its quotes are escaped; an object in a body can, which is harmless.
pub(super) fn blob_references(record: &[u8]) -> impl Iterator<Item = Hash> {
    const MARK: &[u8] = b"\"$blob\":\"";
    memchr::memmem::find_iter(record, MARK).filter_map(|at| {
        let hex = record.get(at + MARK.len()..at + MARK.len() + 64)?;
        std::str::from_utf8(hex).ok()?.parse().ok()
    })
}

/// The time of a record, without decoding the rest of it. Its keys are sorted, so that the text of
/// the actor is all that is before the time, and quotes in that text are escaped.
pub(super) fn record_time(record: &[u8]) -> Option<UnixMicros> {
    const MARK: &[u8] = b"\"at\":";
    let start = memchr::memmem::find(record, MARK)? + MARK.len();
    let rest = record.get(start..)?;
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..n_digits)?).ok()?.parse().ok()
}

/// Decodes one row of [`select_events`].
pub(super) fn decode_event_row(row: &Row<'_>) -> Result<RecordedEvent, StoreError> {
    let seq: Seq = row.get(0)?;
    let damaged = |what: &str| StoreError::Damaged(format!("event {seq}: {what}"));
    let stream: Stream = row
        .get_ref(1)?
        .as_str()
        .ok()
        .and_then(|name| name.parse().ok())
        .ok_or_else(|| damaged("its stream has no name"))?;
    let prev = match row.get_ref(2)?.as_blob_or_null() {
        Ok(Some(bytes)) => {
            Hash::try_from(bytes).map_err(|_| damaged("the one before has no hash"))?
        }
        Ok(None) => Hash::ZERO,
        Err(_) => return Err(damaged("the one before has no hash")),
    };
    let hash = row.get_ref(3)?.as_blob().ok().and_then(|bytes| Hash::try_from(bytes).ok());
    let hash = hash.ok_or_else(|| damaged("it has no hash"))?;
    let record = row.get_ref(4)?.as_blob().map_err(|_| damaged("it is not bytes"))?.to_vec();
    Ok(RecordedEvent::new(seq, stream, prev, hash, record))
}

#[cfg(test)]
mod tests {
    use super::record_time;

    #[test]
    fn the_time_of_a_record_is_read_without_the_rest_of_it() {
        let time = |text: &str| record_time(text.as_bytes());
        assert_eq!(time(r#"{"actor":"cli","at":17,"body":{"at":3}}"#), Some(17));
        assert_eq!(time(r#"{"actor":"agent:\"at\":9","at":17,"body":{}}"#), Some(17));
        assert_eq!(time(r#"{"actor":"cli","at":"late"}"#), None);
        assert_eq!(time(""), None);
    }
}
