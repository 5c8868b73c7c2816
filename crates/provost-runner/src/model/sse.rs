//! Server-sent events, from bytes cut anywhere.
//!
//! Lines end with CR, LF or both, and a chunk may end between the two. An event without an
//! empty line at the end of the stream is returned by [`SseParser::finish`]: some servers omit
//! that line, and the event's JSON shows whether it is complete.

use super::ModelError;

/// The longest event. Encrypted reasoning and images are long, but not that long.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The field `event`; empty if there was none.
    pub event: String,
    /// The lines of data, joined.
    pub data: String,
}

/// Parses events from chunks of bytes.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    /// The last byte was a CR, so a LF now belongs to it.
    after_cr: bool,
    /// The first line is behind us; only it may begin with a BOM.
    has_started: bool,
}

impl SseParser {
    /// One at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the events that these bytes complete. Those before an error are added too.
    pub fn push_bytes(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), ModelError> {
        let mut rest = bytes;
        if self.after_cr && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        self.after_cr = self.after_cr && bytes.is_empty();
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.line.extend_from_slice(&rest[..end]);
            self.check_size()?;
            events.extend(self.process_line());
            let both = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
            self.after_cr = rest[end] == b'\r' && end + 1 == rest.len();
            rest = &rest[end + 1 + usize::from(both)..];
        }
        self.line.extend_from_slice(rest);
        self.check_size()
    }

    /// The last event, if no empty line ended it.
    pub fn finish(mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            // An empty line cannot come of it, so no event is lost here.
            drop(self.process_line());
        }
        self.dispatch()
    }

    fn check_size(&self) -> Result<(), ModelError> {
        if self.line.len() + self.data.as_ref().map_or(0, String::len) > MAX_EVENT_BYTES {
            return Err(ModelError::Protocol(format!(
                "an event is longer than {MAX_EVENT_BYTES} bytes"
            )));
        }
        Ok(())
    }

    fn process_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.has_started, true) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // A comment (an empty field), or a field that means nothing here.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| SseEvent { event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut sse = SseParser::new();
        let mut events = Vec::new();
        for chunk in chunks {
            sse.push_bytes(chunk, &mut events).unwrap();
        }
        events.extend(sse.finish());
        events.into_iter().map(|event| (event.event, event.data)).collect()
    }

    const STREAM: &str = "\u{feff}: hello\r\n\r\nevent: a\rdata: 1\r\ndata:  2\n\ndata\n\r\
        event: alone\n\nid: 7\nretry: 3\ndata: ü…🙂\r\r\ndata: last";

    #[test]
    fn every_cut_gives_the_same_events() {
        let pair = |event: &str, data: &str| (event.to_owned(), data.to_owned());
        let expected = vec![pair("a", "1\n 2"), pair("", ""), pair("", "ü…🙂"), pair("", "last")];
        let bytes = STREAM.as_bytes();
        assert_eq!(read(&[bytes]), expected);
        for cut in 0..=bytes.len() {
            assert_eq!(read(&[&bytes[..cut], &bytes[cut..]]), expected, "cut at {cut}");
            assert_eq!(read(&[&bytes[..cut], b"", &bytes[cut..]]), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), expected);
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_fills_memory() {
        let mut sse = SseParser::new();
        let chunk = vec![b'x'; 1024 * 1024];
        let refused = (0..100).any(|_| sse.push_bytes(&chunk, &mut Vec::new()).is_err());
        assert!(refused && sse.line.len() <= MAX_EVENT_BYTES + chunk.len());
    }
}
