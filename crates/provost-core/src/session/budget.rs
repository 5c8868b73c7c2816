//! Whether a request may be paid for, before it is made.
//!
//! Before a model is asked, the most that the answer may cost is reserved; when it
//! has come, what it did cost takes the place of that. So many sessions at once
//! cannot spend together what each alone may.

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
        format!(
            "the budget of {whose} is {} and {} of it are spent or reserved, which is too little \
             for the next answer; raise it, or use a cheaper model",
            amount(self.most),
            amount(self.taken)
        )
    }
}

/// Money as people read it.
pub fn dollars(nanos: Nanos) -> String {
    let tenth_of_a_mill = nanos.div_ceil(100_000);
    format!("${}.{:04}", tenth_of_a_mill / 10_000, tenth_of_a_mill % 10_000)
}

/// Whether an amount fits every one of these.
pub fn fits(accounts: &[Account], unit: Unit, amount: u64) -> Result<(), TooLittle> {
    for account in accounts {
        let taken = account.spent.saturating_add(account.reserved);
        if let Some(most) = account.most
            && taken.saturating_add(amount) > most
        {
            return Err(TooLittle { pot: account.pot, unit, most, taken });
        }
    }
    Ok(())
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
        assert_eq!(fits(&[account(0)], Unit::Nanos, 60), Ok(()));
        assert!(fits(&[account(1)], Unit::Nanos, 60).is_err());
        let unlimited = Account { most: None, ..account(u64::MAX) };
        assert_eq!(fits(&[unlimited], Unit::Nanos, u64::MAX), Ok(()));
    }

    #[test]
    fn the_sentence_says_whose_budget_and_how_much() {
        let account = Account {
            pot: Pot::Session,
            most: Some(2_000_000_000),
            spent: 1_999_950_000,
            reserved: 0,
        };
        let error = fits(&[account], Unit::Nanos, 1_000_000).unwrap_err();
        assert!(error.to_string().starts_with("the budget of this session is $2.0000 and $2.0000"));
    }
}
