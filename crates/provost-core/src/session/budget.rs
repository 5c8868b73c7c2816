//! Whether a request may be paid for, before it is made.
//!
//! Before a model is asked, the most that the answer may cost is reserved, or what is
//! left if a shorter answer fits that; when it has come, what it did cost takes the place of that. So many sessions at once
//! cannot spend together what each alone may.

use std::ops::RangeInclusive;

use provost_proto::session::Nanos;

/// Something that money or tokens are kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pot {
    /// One session.
    Session,
    /// One project, since it exists.
    Project,
    /// All sessions of one day.
    Day,
}

/// A pot, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Which.
    pub pot: Pot,
    /// The most that may be spent; none if that is not limited.
    pub most: Option<u64>,
    /// What was spent.
    pub spent: u64,
    /// What is reserved for requests that are under way.
    pub reserved: u64,
}

/// A pot has too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct TooLittle {
    /// Which.
    pub pot: Pot,
    /// Whether it is counted in tokens and not in money.
    pub unit: Unit,
    /// The most that may be spent.
    pub most: u64,
    /// What was spent or is reserved.
    pub taken: u64,
    /// What the next answer needs at least.
    pub needed: u64,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Billionths of a dollar.
    Nanos,
    /// Tokens.
    Tokens,
}

impl TooLittle {
    fn sentence(&self) -> String {
        let whose = match self.pot {
            Pot::Session => "this session",
            Pot::Project => "this project",
            Pot::Day => "today",
        };
        let amount = |n: u64| match self.unit {
            Unit::Nanos => dollars(n),
            Unit::Tokens => format!("{n} tokens"),
        };
        let left = self.most.saturating_sub(self.taken);
        // Rounded down, so that what is needed is more in writing too.
        let left = match self.unit {
            Unit::Nanos => dollars(left / ROUNDED * ROUNDED),
            Unit::Tokens => amount(left),
        };
        format!(
            "the budget of {whose} is {} and {} of it are spent or reserved: {left} remain, and \
             the next answer needs at least {}; raise it, or use a cheaper model",
            amount(self.most),
            amount(self.taken),
            amount(self.needed)
        )
    }
}

/// Money is written to the tenth of a mill.
const ROUNDED: Nanos = 100_000;

/// Money as people read it.
pub fn dollars(nanos: Nanos) -> String {
    let tenth_of_a_mill = nanos.div_ceil(ROUNDED);
    format!("${}.{:04}", tenth_of_a_mill / 10_000, tenth_of_a_mill % 10_000)
}

/// As much of an amount as every one of these has left; none if that is less than its
/// least.
pub fn grant(
    accounts: &[Account],
    unit: Unit,
    amount: RangeInclusive<u64>,
) -> Result<u64, TooLittle> {
    let (needed, mut granted) = amount.into_inner();
    for account in accounts {
        let Some(most) = account.most else { continue };
        let taken = account.spent.saturating_add(account.reserved);
        let left = most.saturating_sub(taken);
        if left < needed {
            return Err(TooLittle { pot: account.pot, unit, most, taken, needed });
        }
        granted = granted.min(left);
    }
    Ok(granted)
}

/// About how many tokens a text has, rather too many than too few.
pub fn estimate(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_cannot_be_spent_twice() {
        let account = |reserved| Account { pot: Pot::Day, most: Some(100), spent: 40, reserved };
        assert_eq!(grant(&[account(0)], Unit::Nanos, 60..=60), Ok(60));
        assert!(grant(&[account(1)], Unit::Nanos, 60..=60).is_err());
        let unlimited = Account { most: None, ..account(u64::MAX) };
        assert_eq!(grant(&[unlimited], Unit::Nanos, 0..=u64::MAX), Ok(u64::MAX));
    }

    #[test]
    fn less_is_granted_where_less_is_left_but_never_less_than_is_needed() {
        let account = |most| Account { pot: Pot::Day, most: Some(most), spent: 40, reserved: 10 };
        for (most, granted) in
            [(100, Ok(50)), (90, Ok(40)), (60, Ok(10)), (59, Err(10)), (0, Err(10))]
        {
            let got = grant(&[account(1000), account(most)], Unit::Tokens, 10..=50);
            assert_eq!(got.map_err(|error| error.needed), granted, "{most}");
        }
    }

    #[test]
    fn the_sentence_says_whose_budget_and_how_much() {
        let account = Account {
            pot: Pot::Session,
            most: Some(2_000_000_000),
            spent: 1_999_950_000,
            reserved: 0,
        };
        let error = grant(&[account], Unit::Nanos, 60_000..=1_000_000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the budget of this session is $2.0000 and $2.0000 of it are spent or reserved: \
             $0.0000 remain, and the next answer needs at least $0.0001; raise it, or use a \
             cheaper model"
        );
        let account = Account { most: Some(300), spent: 100, ..account };
        let error = grant(&[account], Unit::Tokens, 256..=512).unwrap_err().to_string();
        assert!(error.contains("200 tokens remain, and the next answer needs at least 256"));
    }
}
