//! All views in memory, for tests and for readers without a database.

use std::collections::BTreeMap;

use provost_proto::{Event, Fact, Hash};

use super::{DocumentKey, EventMetadata, ViewDocument, ViewKind, affected_documents, fold_fact};
use crate::canonical::{self, NotCanonical};
use crate::hash_chain;

/// All views in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryViews {
    docs: BTreeMap<DocumentKey, ViewDocument>,
}

impl MemoryViews {
    /// Folds one event. An unknown kind changes nothing.
    pub fn apply(&mut self, event: &Event) {
        if let Some(fact) = event.fact() {
            self.apply_fact(EventMetadata::from_event(event), &fact);
        }
    }

    /// Folds one fact.
    pub fn apply_fact(&mut self, metadata: EventMetadata<'_>, fact: &Fact) {
        for (key, _) in affected_documents(fact) {
            if let Some(doc) = fold_fact(key.view, self.docs.remove(&key), metadata, fact) {
                self.docs.insert(key, doc);
            }
        }
    }

    /// The documents of a view, in the order of their keys.
    pub fn docs(&self, view: ViewKind) -> impl Iterator<Item = (&DocumentKey, &ViewDocument)> {
        self.docs.iter().filter(move |(key, _)| key.view == view)
    }

    /// One hash of all views: equal states have equal hashes, natively and in WebAssembly.
    pub fn hash(&self) -> Result<Hash, NotCanonical> {
        let list: Vec<_> =
            self.docs.iter().map(|(key, doc)| (key.view.name(), &key.key, doc)).collect();
        Ok(hash_chain::digest(&canonical::to_vec(&list)?))
    }
}
