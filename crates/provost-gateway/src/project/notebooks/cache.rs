//! The notebooks in memory, each behind a lock of its own. Bounded: the one that was used least
//! recently makes room.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use provost_proto::NotebookId;

use super::loaded::LoadedNotebook;

/// The most notebooks in memory that nobody uses right now.
const MAX_IDLE_NOTEBOOKS: usize = 64;

/// A notebook behind its lock. What is appended to its stream is appended by the holder of the
/// lock. `None` if it is to be read anew.
pub(super) type NotebookEntry = tokio::sync::Mutex<Option<LoadedNotebook>>;

/// The notebooks in memory.
#[derive(Debug, Default)]
pub(super) struct NotebookCache(Mutex<CachedNotebooks>);

#[derive(Debug, Default)]
struct CachedNotebooks {
    by_id: HashMap<NotebookId, (Arc<NotebookEntry>, u64)>,
    n_uses: u64,
}

impl NotebookCache {
    /// The entry of a notebook.
    pub(super) fn entry(&self, id: NotebookId) -> Arc<NotebookEntry> {
        let mut cache = self.0.lock();
        cache.n_uses += 1;
        let now = cache.n_uses;
        if let Some((entry, used)) = cache.by_id.get_mut(&id) {
            *used = now;
            return Arc::clone(entry);
        }
        while cache.by_id.len() >= MAX_IDLE_NOTEBOOKS {
            let idle = cache.by_id.iter().filter(|(_, (entry, _))| Arc::strong_count(entry) == 1);
            let Some(oldest) = idle.min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id) else {
                break;
            };
            cache.by_id.remove(&oldest);
        }
        let entry = Arc::default();
        cache.by_id.insert(id, (Arc::clone(&entry), now));
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_in_use() {
        let cache = NotebookCache::default();
        let id = |n| NotebookId::new(uuid::Uuid::from_u128(n));
        let held = cache.entry(id(0));
        for n in 1..1000 {
            drop(cache.entry(id(n)));
        }
        assert!(cache.0.lock().by_id.len() <= MAX_IDLE_NOTEBOOKS);
        assert!(Arc::ptr_eq(&held, &cache.entry(id(0))), "two entries would be two locks");
    }
}
