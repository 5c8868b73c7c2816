//! The table of results.

use std::time::Duration;

/// The most that a value with 1 000 000 events may be, as a multiple of that with 1 000.
const MAX_RATIO: f64 = 1.3;

/// What is promised of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowLimits {
    ratio: Option<f64>,
    most: Option<f64>,
}

impl RowLimits {
    pub(crate) const RATIO: Self = Self { ratio: Some(MAX_RATIO), most: None };

    pub(crate) const fn at_most(most: f64) -> Self {
        Self { ratio: None, most: Some(most) }
    }

    pub(crate) const fn and_ratio(self) -> Self {
        Self { ratio: Some(MAX_RATIO), most: self.most }
    }
}

struct ResultRow {
    name: String,
    unit: &'static str,
    values: [f64; 2],
    limits: RowLimits,
}

/// The rows in order.
#[derive(Default)]
pub(crate) struct ResultTable(Vec<ResultRow>);

impl ResultTable {
    pub(crate) fn add(
        &mut self,
        name: &str,
        unit: &'static str,
        values: [f64; 2],
        limits: RowLimits,
    ) {
        println!("{name}: {:.2} and {:.2} {unit}", values[0], values[1]);
        self.0.push(ResultRow { name: name.to_owned(), unit, values, limits });
    }

    /// Adds the medians of times.
    pub(crate) fn add_times(&mut self, name: &str, times: [Vec<Duration>; 2], limits: RowLimits) {
        let values = times.map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1000.0
        });
        self.add(name, "ms", values, limits);
    }

    /// Prints the table in Markdown.
    pub(crate) fn print(&self) {
        println!("\n| | 1 000 events | 1 000 000 events | ratio | promised | |");
        println!("|---|---|---|---|---|---|");
        for ResultRow { name, unit, values: [small, large], limits } in &self.0 {
            let ratio = large / small.max(f64::MIN_POSITIVE);
            let holds = limits.most.is_none_or(|most| *large <= most)
                && limits.ratio.is_none_or(|most| ratio <= most);
            let most = limits.most.map(|most| format!("≤ {most} {unit}"));
            let most_ratio = limits.ratio.map(|most| format!("≤ {most} ×"));
            let promised = [most_ratio, most].into_iter().flatten().collect::<Vec<_>>().join(", ");
            let word = match (promised.is_empty(), holds) {
                (true, _) => "",
                (false, true) => "holds",
                (false, false) => "MISSED",
            };
            println!(
                "| {name} | {small:.1} {unit} | {large:.1} {unit} | {ratio:.2} | {promised} | {word} |"
            );
        }
    }
}
