//! Which events a reader looks for.

use memchr::memmem;
use provost_proto::{Actor, LogCursor, Principal, Seq, UnixMicros};

use crate::{EventScope, RecordedEvent, StoreError};

/// Where a reader continues, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchFrom {
    /// Events after this one, the oldest first.
    After(LogCursor),
    /// Events from this one on, itself included, the oldest first.
    At(LogCursor),
    /// Events before this one, the newest first.
    Before(LogCursor),
}

/// A page of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchPage {
    /// The events, in the direction of the search.
    pub events: Vec<std::sync::Arc<RecordedEvent>>,
    /// Where to continue; `None` at the end. One call does a bounded amount of work, so there may
    /// be more even if the page is not full.
    pub next: Option<LogCursor>,
}

/// A search.
#[derive(Debug, Clone)]
pub struct EventQuery {
    /// The part of the log.
    pub scope: EventScope,
    /// Where to begin.
    pub from: SearchFrom,
    /// The most events.
    pub limit: usize,
    /// Which events.
    pub filter: EventFilter,
}

/// Which events match. An absent field matches every event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Events of one of these kinds.
    pub kinds: Vec<String>,
    /// Events on this authority.
    pub principal: Option<Principal>,
    /// Events by one of these actors.
    pub actors: Vec<Actor>,
    /// Events at or after this time.
    pub since: Option<UnixMicros>,
    /// Events before this time.
    pub until: Option<UnixMicros>,
    /// Words that all occur in the JSON of the event, in any case; `#12` is the event 12.
    pub words: Vec<String>,
    /// Texts of which one occurs in the JSON of the event.
    pub any_of: Vec<String>,
}

impl EventFilter {
    /// Whether it matches every event.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Splits a text that a person typed into words.
    pub fn split_words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }
}

/// A filter that is prepared for many events.
#[derive(Debug)]
pub struct EventMatcher {
    filter: EventFilter,
    words: Vec<SearchWord>,
    any_of: Vec<Vec<u8>>,
    kinds: Vec<Vec<u8>>,
    actors: Vec<Vec<u8>>,
    principal: Option<Vec<u8>>,
}

#[derive(Debug)]
struct SearchWord {
    text: Vec<u8>,
    seq: Option<Seq>,
}

impl EventMatcher {
    /// Prepares a filter.
    pub fn new(filter: EventFilter) -> Self {
        let word = |text: &String| SearchWord {
            text: searched_text(text),
            seq: text.strip_prefix('#').and_then(|number| number.parse().ok()),
        };
        let field = |name: &str, value: &str| format!("\"{name}\":{}", quote(value)).into_bytes();
        Self {
            words: filter.words.iter().map(word).collect(),
            any_of: filter.any_of.iter().map(|text| searched_text(text)).collect(),
            kinds: filter.kinds.iter().map(|kind| field("kind", kind)).collect(),
            actors: filter.actors.iter().map(|actor| field("actor", &actor.to_string())).collect(),
            principal: filter.principal.as_ref().map(|by| field("principal", by)),
            filter,
        }
    }

    /// Whether it matches every event.
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Whether an event matches. `load_blob` is called for a body that is stored as a blob, if the
    /// text of the event matters.
    pub(crate) fn matches(
        &self,
        seq: Seq,
        record: &[u8],
        load_blob: impl FnOnce() -> Result<Option<Vec<u8>>, StoreError>,
    ) -> Result<bool, StoreError> {
        if self.is_empty() {
            return Ok(true);
        }
        if !self.may_match_fields(record) || !self.matches_fields(record)? {
            return Ok(false);
        }
        if self.words.is_empty() && self.any_of.is_empty() {
            return Ok(true);
        }
        let text = record.to_ascii_lowercase();
        if self.matches_text(seq, &[&to_lower(&text)]) {
            return Ok(true);
        }
        if memmem::find(record, b"\"$blob\":").is_none() {
            return Ok(false);
        }
        let blob = load_blob()?.unwrap_or_default();
        Ok(self.matches_text(seq, &[&to_lower(&text), &to_lower(&blob)]))
    }

    /// Finds most events that do not match without decoding them.
    fn may_match_fields(&self, record: &[u8]) -> bool {
        let has = |field: &Vec<u8>| memmem::find(record, field).is_some();
        (self.kinds.is_empty() || self.kinds.iter().any(has))
            && (self.actors.is_empty() || self.actors.iter().any(has))
            && self.principal.as_ref().is_none_or(has)
    }

    fn matches_fields(&self, record: &[u8]) -> Result<bool, StoreError> {
        let EventFilter { kinds, principal, actors, since, until, .. } = &self.filter;
        let any_field = !kinds.is_empty() || !actors.is_empty();
        if !any_field && principal.is_none() && since.is_none() && until.is_none() {
            return Ok(true);
        }
        // A body may hold fields of the same name.
        let record = provost_core::hash_chain::EventRecord::parse(record)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok((kinds.is_empty() || kinds.contains(&record.kind))
            && (actors.is_empty() || actors.contains(&record.actor))
            && principal.as_ref().is_none_or(|wanted| *wanted == record.principal)
            && since.is_none_or(|since| record.at >= since)
            && until.is_none_or(|until| record.at < until))
    }

    fn matches_text(&self, seq: Seq, texts: &[&[u8]]) -> bool {
        let has = |wanted: &[u8]| texts.iter().any(|text| memmem::find(text, wanted).is_some());
        self.words.iter().all(|word| word.seq == Some(seq) || has(&word.text))
            && (self.any_of.is_empty() || self.any_of.iter().any(|text| has(text)))
    }

    /// Texts that a matching event has in its JSON: each, and of each list one.
    pub(crate) fn required_texts(&self) -> (Vec<&[u8]>, Vec<Vec<&[u8]>>) {
        let words = self.words.iter().filter(|word| word.seq.is_none());
        let all = words.map(|word| word.text.as_slice()).collect();
        let lists = [&self.any_of, &self.kinds, &self.actors];
        let mut lists: Vec<Vec<&[u8]>> = lists
            .into_iter()
            .filter(|list| !list.is_empty())
            .map(|list| list.iter().map(Vec::as_slice).collect())
            .collect();
        lists.extend(self.principal.as_ref().map(|by| vec![by.as_slice()]));
        (all, lists)
    }

    /// The times that matching events have.
    pub(crate) fn times(&self) -> (Option<UnixMicros>, Option<UnixMicros>) {
        (self.filter.since, self.filter.until)
    }

    /// Whether an event matches; `blob` is its body, if that is stored as a blob.
    pub fn matches_recorded(
        &self,
        event: &RecordedEvent,
        blob: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        self.matches(event.seq, event.record_bytes(), || Ok(blob))
    }
}

/// Text as it stands in JSON, in lower case.
fn searched_text(text: &str) -> Vec<u8> {
    let quoted = quote(text);
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    to_lower(inner.unwrap_or(&quoted).as_bytes())
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Lower case of any script, if it is text.
pub(crate) fn to_lower(text: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        Ok(_) | Err(_) => text.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filter: &EventFilter, expected: bool) {
        let record = br#"{"actor":"cli","at":5,"body":{"kind":"x","text":"Caf\u00c9 \"quoted\""},"cause":null,"command":null,"id":"019","kind":"DAEMON_STOPPED","principal":"local:ann","seq":7,"stream":"sys","version":1}"#;
        let record: serde_json::Value = serde_json::from_slice(record).unwrap();
        let mut record = serde_json::to_string(&record).unwrap();
        record = record.replace("\"019\"", "\"019e4a00-0000-7000-8000-000000000001\"");
        let matcher = EventMatcher::new(filter.clone());
        let found = matcher.matches(7, record.as_bytes(), || Ok(None)).unwrap();
        assert_eq!(found, expected, "{filter:?}");
    }

    #[test]
    fn a_filter_matches_fields_exactly_and_words_in_any_case() {
        let words = |text: &str| EventFilter {
            words: EventFilter::split_words(text),
            ..EventFilter::default()
        };
        let kind =
            |kind: &str| EventFilter { kinds: vec![kind.to_owned()], ..EventFilter::default() };
        check(&EventFilter::default(), true);
        check(&words("café"), true);
        check(&words("CAFÉ daemon_stopped"), true);
        check(&words("\"QUOTED\""), true);
        check(&words("cafe"), false);
        check(&words("#7"), true);
        check(&words("#8"), false);
        check(&kind("DAEMON_STOPPED"), true);
        check(&kind("x"), false);
        check(&EventFilter { actors: vec![Actor::Cli], ..EventFilter::default() }, true);
        check(&EventFilter { actors: vec![Actor::Daemon], ..EventFilter::default() }, false);
        check(&EventFilter { since: Some(6), ..EventFilter::default() }, false);
        check(&EventFilter { until: Some(6), ..EventFilter::default() }, true);
    }
}
