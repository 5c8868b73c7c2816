//! Numbers that look random and are the same each time.

/// xorshift64.
pub(crate) struct ReplayRandom(u64);

impl ReplayRandom {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    /// One of a list that is not empty.
    pub(crate) fn choose<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let length = u64::try_from(list.len()).unwrap_or(u64::MAX);
        &list[usize::try_from(self.below(length)).unwrap_or_default()]
    }
}
