//! When to retry: pure data and arithmetic.

use std::time::Duration;

use super::ModelError;

/// How often and after how long a failed request is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub base: Duration,
    /// The longest wait that is chosen here.
    pub longest: Duration,
    /// The longest delay that a provider may ask for; if it asks for more, the request fails at
    /// once, with that delay in the error.
    pub patience: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(20),
            patience: Duration::from_secs(90),
        }
    }
}

impl RetryPolicy {
    /// One that never tries again.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How long to wait before the next attempt, or `None` if there is none.
    ///
    /// `failed` counts the attempts that failed, from 1. `chance` is a random byte:
    /// it spreads the waits of many sessions between half and all of what is due,
    /// so that they do not come back at the same moment. What the provider asks
    /// for is never cut short.
    pub fn backoff_delay(&self, error: &ModelError, failed: u32, chance: u8) -> Option<Duration> {
        if !error.is_retryable() || failed >= self.attempts {
            return None;
        }
        let doubled = self.base.saturating_mul(1 << (failed.saturating_sub(1)).min(16));
        let due = doubled.min(self.longest);
        let own = due / 2 + (due / 2) * u32::from(chance) / 255;
        match error.retry_after() {
            Some(requested) if requested > self.patience => None,
            Some(requested) => Some(requested.max(own)),
            None => Some(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(seconds: u64) -> ModelError {
        let retry_after = Some(Duration::from_secs(seconds));
        ModelError::RateLimited { retry_after, message: String::new() }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end_with_the_attempts() {
        let retry = RetryPolicy { longest: Duration::from_secs(3), ..RetryPolicy::default() };
        let broken = ModelError::Truncated(String::new());
        let waits: Vec<_> =
            (1..=5).map(|failed| retry.backoff_delay(&broken, failed, 255)).collect();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(waits, [millis(500), millis(1000), millis(2000), millis(3000), None]);
        assert_eq!(retry.backoff_delay(&broken, 1, 0), millis(250));
    }

    #[test]
    fn a_provider_is_left_alone_as_long_as_it_asks_but_not_for_ever() {
        let retry = RetryPolicy::default();
        assert_eq!(retry.backoff_delay(&limited(7), 1, 0), Some(Duration::from_secs(7)));
        assert_eq!(retry.backoff_delay(&limited(91), 1, 0), None);
    }

    #[test]
    fn what_cannot_succeed_is_not_tried_again() {
        for error in [
            ModelError::Unauthorized(String::new()),
            ModelError::ContextLength(String::new()),
            ModelError::BadRequest(String::new()),
            ModelError::QuotaExceeded(String::new()),
        ] {
            assert_eq!(RetryPolicy::default().backoff_delay(&error, 1, 0), None, "{error}");
        }
    }
}
