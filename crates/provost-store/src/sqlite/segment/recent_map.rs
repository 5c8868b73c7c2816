//! The most recently used values, within a bound.

use std::collections::VecDeque;
use std::sync::Arc;

/// A few values by number, the latest used first.
#[derive(Debug)]
pub(super) struct RecentMap<T> {
    entries: VecDeque<(u64, usize, Arc<T>)>,
    size: usize,
    max_size: usize,
}

impl<T> RecentMap<T> {
    /// A map that holds values of this total size, and at least one.
    pub(super) const fn new(max_size: usize) -> Self {
        Self { entries: VecDeque::new(), size: 0, max_size }
    }

    pub(super) fn get(&mut self, key: u64) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|(found, ..)| *found == key)?;
        let entry = self.entries.remove(at)?;
        let value = Arc::clone(&entry.2);
        self.entries.push_front(entry);
        Some(value)
    }

    pub(super) fn insert(&mut self, key: u64, size: usize, value: Arc<T>) {
        // Another reader may have been as fast.
        self.entries.retain(|(found, ..)| *found != key);
        self.entries.push_front((key, size, value));
        self.size = self.entries.iter().map(|(_, size, _)| size).sum();
        while self.size > self.max_size && self.entries.len() > 1 {
            let Some((_, size, _)) = self.entries.pop_back() else { break };
            self.size -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_values_go_first_and_one_always_stays() {
        let mut map = RecentMap::new(10);
        map.insert(1, 4, Arc::new("a"));
        map.insert(2, 4, Arc::new("b"));
        assert_eq!(map.get(1).as_deref(), Some(&"a"));
        map.insert(3, 4, Arc::new("c"));
        assert_eq!((map.get(1).is_some(), map.get(2).is_some()), (true, false));
        map.insert(4, 99, Arc::new("d"));
        assert_eq!((map.get(1).is_some(), map.get(4).is_some()), (false, true));
    }
}
