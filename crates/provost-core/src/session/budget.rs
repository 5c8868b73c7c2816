//! Checks whether a completion can be paid for, before it is requested.
//!
//! Before a request, the maximum cost of the completion is reserved in every budget that pays for
//! it, or less if a shorter completion fits; afterwards the actual cost replaces the reservation
//! (see [`super::reservation_ledger`]). So concurrent sessions cannot together spend more than
//! each alone may.

use provost_proto::Code;
use provost_proto::session::NanoDollars;

/// Where money or tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetScope {
    /// One session, with the tasks that it hands off.
    Session,
    /// A session that handed off this one's task, or one further above.
    ParentSession,
    /// One turn, with the tasks that it hands off.
    Turn,
    /// One project, over its whole life.
    Project,
    /// All sessions of one day.
    Day,
}

/// A budget does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct BudgetShortfall {
    /// The budget.
    pub scope: BudgetScope,
    /// The unit.
    pub unit: BudgetUnit,
    /// The limit.
    pub most: u64,
    /// What is spent or reserved.
    pub taken: u64,
    /// The minimum that the next completion needs.
    pub needed: u64,
}

/// The unit of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Billionths of a dollar.
    Nanos,
    /// Tokens.
    Tokens,
    /// Completions.
    Calls,
}

impl BudgetShortfall {
    /// The error code; a limit of one turn has another one than a budget.
    pub fn code(&self) -> Code {
        match (self.scope, self.unit) {
            (BudgetScope::Turn, BudgetUnit::Tokens | BudgetUnit::Calls) => Code::TurnLimit,
            (BudgetScope::Turn, BudgetUnit::Nanos)
            | (
                BudgetScope::Session
                | BudgetScope::ParentSession
                | BudgetScope::Project
                | BudgetScope::Day,
                _,
            ) => Code::BudgetExceeded,
        }
    }

    fn sentence(&self) -> String {
        let whose = match self.scope {
            BudgetScope::Session => "this session",
            BudgetScope::ParentSession => "the session that handed this task over",
            BudgetScope::Turn => "one turn, with the tasks it hands over,",
            BudgetScope::Project => "this project",
            BudgetScope::Day => "today",
        };
        let amount = |n: u64| match self.unit {
            BudgetUnit::Nanos => format_dollars(n),
            BudgetUnit::Tokens => format!("{n} tokens"),
            BudgetUnit::Calls => format!("{n} questions to a model"),
        };
        let left = self.most.saturating_sub(self.taken);
        // Rounded down, so that the needed amount is displayed as larger.
        let left = match self.unit {
            BudgetUnit::Nanos => format_dollars(left / DISPLAY_PRECISION * DISPLAY_PRECISION),
            BudgetUnit::Tokens | BudgetUnit::Calls => amount(left),
        };
        let advice = match self.scope {
            BudgetScope::Turn => "continue if it should go on",
            BudgetScope::Session
            | BudgetScope::ParentSession
            | BudgetScope::Project
            | BudgetScope::Day => "raise it, or use a cheaper model",
        };
        format!(
            "the budget of {whose} is {} and {} of it are spent or reserved: {left} remain, and \
             the next answer needs at least {}; {advice}",
            amount(self.most),
            amount(self.taken),
            amount(self.needed)
        )
    }
}

/// Money is displayed to a hundredth of a cent.
const DISPLAY_PRECISION: NanoDollars = 100_000;

/// Money for display.
pub fn format_dollars(nanos: NanoDollars) -> String {
    let tenth_of_a_mill = nanos.div_ceil(DISPLAY_PRECISION);
    format!("${}.{:04}", tenth_of_a_mill / 10_000, tenth_of_a_mill % 10_000)
}

/// An estimate of the tokens of a text, rather too high than too low.
pub fn estimate_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_whose_budget_and_how_much() {
        let (scope, unit) = (BudgetScope::Session, BudgetUnit::Nanos);
        let (most, taken, needed) = (2_000_000_000, 1_999_950_000, 60_000);
        let error = BudgetShortfall { scope, unit, most, taken, needed };
        assert_eq!(
            error.to_string(),
            "the budget of this session is $2.0000 and $2.0000 of it are spent or reserved: \
             $0.0000 remain, and the next answer needs at least $0.0001; raise it, or use a \
             cheaper model"
        );
        let error = BudgetShortfall {
            unit: BudgetUnit::Tokens,
            most: 300,
            taken: 100,
            needed: 256,
            ..error
        };
        let message = error.to_string();
        assert!(message.contains("200 tokens remain, and the next answer needs at least 256"));
        let error = BudgetShortfall {
            scope: BudgetScope::Turn,
            unit: BudgetUnit::Calls,
            taken: 300,
            ..error
        };
        assert!(error.to_string().ends_with("; continue if it should go on"), "{error}");
        assert_eq!(error.code(), Code::TurnLimit);
    }
}
