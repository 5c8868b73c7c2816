//! Keeps an agent that repeats a denied request from filling the log, which is never shortened.
//!
//! Every request is denied in the same way. In the log, the first one of a kind stands by itself;
//! of its repetitions within [`WINDOW`], those that reach a power of ten are recorded with their
//! number. A denial that differs in anything but its id is one of another kind, so none is lost.

use std::collections::HashMap;

use parking_lot::Mutex;
use provost_proto::{Code, Hash, SessionId, UnixMicros};

/// How long repetitions are counted together, in microseconds.
const WINDOW: UnixMicros = 10 * 60_000_000;

/// The most kinds of denials that are counted at a time. Beyond, requests are recorded one by
/// one.
const MAX_COUNTED_KINDS: usize = 1024;

/// What makes two denials the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct DenialKind {
    /// The hash of the action with its principal and project, without its id.
    pub(super) action: Hash,
    pub(super) role: Option<String>,
    pub(super) session: Option<SessionId>,
    pub(super) code: Code,
    pub(super) message: String,
}

/// How a denial is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DenialRecord {
    /// As any other.
    First,
    /// With the number of requests so far.
    Repeated(u64),
    /// Not at all.
    Counted,
}

#[derive(Debug, Default)]
pub(super) struct RepeatedDenials {
    /// When the first request of a kind came, and how many came since.
    counts: Mutex<HashMap<DenialKind, (UnixMicros, u64)>>,
}

impl RepeatedDenials {
    /// Counts a denial, and tells how it is recorded.
    pub(super) fn count(&self, kind: DenialKind, now: UnixMicros) -> DenialRecord {
        let mut counts = self.counts.lock();
        if counts.len() >= MAX_COUNTED_KINDS {
            counts.retain(|_, (since, _)| now.saturating_sub(*since) < WINDOW);
        }
        if counts.len() >= MAX_COUNTED_KINDS && !counts.contains_key(&kind) {
            return DenialRecord::First;
        }
        let (since, n_requests) = counts.entry(kind).or_insert((now, 0));
        if now.saturating_sub(*since) >= WINDOW {
            (*since, *n_requests) = (now, 0);
        }
        *n_requests = n_requests.saturating_add(1);
        match *n_requests {
            1 => DenialRecord::First,
            n if is_power_of_ten(n) => DenialRecord::Repeated(n),
            _ => DenialRecord::Counted,
        }
    }
}

impl DenialRecord {
    /// What the record of the request says besides.
    pub(super) fn notice(self) -> Option<String> {
        match self {
            Self::First | Self::Counted => None,
            Self::Repeated(n) => Some(format!(" (requested {n} times within 10 minutes)")),
        }
    }
}

fn is_power_of_ten(n: u64) -> bool {
    n.checked_ilog10().is_some_and(|exponent| 10_u64.pow(exponent) == n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(role: &str, message: &str) -> DenialKind {
        DenialKind {
            action: Hash::ZERO,
            role: Some(role.to_owned()),
            session: None,
            code: Code::PolicyDenied,
            message: message.to_owned(),
        }
    }

    #[test]
    fn repetitions_are_recorded_at_powers_of_ten_with_their_number() {
        let denials = RepeatedDenials::default();
        let records = (0..1234).map(|_| denials.count(kind("a", "no"), 5));
        let records: Vec<_> = records.filter(|record| *record != DenialRecord::Counted).collect();
        let repeated = [10, 100, 1000].map(DenialRecord::Repeated);
        assert_eq!(records, [&[DenialRecord::First][..], &repeated].concat());
        let later = denials.count(kind("a", "no"), 5 + WINDOW);
        assert_eq!(later, DenialRecord::First);
    }

    #[test]
    fn a_distinct_denial_is_recorded_whatever_was_repeated_before() {
        let denials = RepeatedDenials::default();
        for _ in 0..50 {
            denials.count(kind("a", "no"), 5);
        }
        let others = (0..2 * MAX_COUNTED_KINDS).map(|n| kind("a", &format!("no {n}")));
        for other in others.chain([kind("b", "no")]) {
            assert_eq!(denials.count(other, 6), DenialRecord::First);
        }
        assert!(denials.counts.lock().len() <= MAX_COUNTED_KINDS);
    }
}
