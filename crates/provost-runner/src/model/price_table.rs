//! Prices of tokens, from a dated table.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use super::CompletionUsage;

/// The built-in table.
const BUILTIN_PRICES_TOML: &str = include_str!("../../prices.toml");

/// An amount of money, exact to a billionth of a dollar; the JSON is that integer.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// This many billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// In billionths of a dollar.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// An amount in dollars; `None` if it is negative or not a number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nanos = (dollars * 1e9).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be neither negative nor too large"
        )]
        (0.0..1e19).contains(&nanos).then_some(Self(nanos as u64))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenth_of_a_mill = self.0.div_ceil(100_000);
        write!(f, "${}.{:04}", tenth_of_a_mill / 10_000, tenth_of_a_mill % 10_000)
    }
}

/// The price of a model, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Of the input.
    pub input: f64,
    /// Of the output, reasoning included.
    pub output: f64,
    /// Of input from a cache; as other input if absent.
    pub cached: Option<f64>,
    /// Of input that is written to a cache; as other input if absent.
    pub cache_write: Option<f64>,
    /// Another price for long requests.
    pub long: Option<LongContextPrice>,
    /// How many tokens a conversation with its answer may have; absent if not known.
    pub context: Option<u64>,
}

/// The price of a long request, for all of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContextPrice {
    /// It holds above this many tokens of input.
    pub over: u64,
    /// Of the input.
    pub input: f64,
    /// Of the output.
    pub output: f64,
    /// Of input from a cache.
    pub cached: Option<f64>,
    /// Of input that is written to a cache.
    pub cache_write: Option<f64>,
}

impl ModelPrice {
    /// What this costs.
    pub fn compute_cost(&self, usage: &CompletionUsage) -> Usd {
        let long = self.long.filter(|long| usage.input > long.over);
        let (input, output, cached, cache_write) = match long {
            None => (self.input, self.output, self.cached, self.cache_write),
            Some(long) => (long.input, long.output, long.cached, long.cache_write),
        };
        // A part is never more than the whole, even if a server reports so.
        let from_cache = usage.cached_input.min(usage.input);
        let to_cache = usage.cache_write.min(usage.input - from_cache);
        let plain = usage.input - from_cache - to_cache;
        let parts = [
            (plain, input),
            (from_cache, cached.unwrap_or(input)),
            (to_cache, cache_write.unwrap_or(input)),
            (usage.output, output),
        ];
        // Dollars for a million tokens are millionths of a dollar for one: with three
        // more digits, billionths. Sums are taken before rounding, and rounded up.
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
        let nanos: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price * 1e3).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "prices are not negative; `as` saturates"
        )]
        Usd((nanos - 1e-6).ceil() as u64)
    }
}

/// A table of prices that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the price table: {0}")]
pub struct PriceTableError(String);

/// The prices of models, by their full names.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// The day on which the prices were looked up; they may be outdated.
    pub as_of: String,
    /// Where they come from.
    pub source: String,
    models: BTreeMap<String, DatedPrice>,
}

/// A price, and the date of its table.
#[derive(Debug, Clone, PartialEq)]
struct DatedPrice {
    price: ModelPrice,
    as_of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTableFile {
    as_of: String,
    source: String,
    #[serde(default)]
    model: Vec<PriceTableRow>,
}

#[derive(Deserialize)]
struct PriceTableRow {
    name: String,
    #[serde(flatten)]
    price: ModelPrice,
}

impl PriceTable {
    /// Those that come with the program.
    pub fn built_in() -> Result<Self, PriceTableError> {
        Self::parse(BUILTIN_PRICES_TOML)
    }

    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, PriceTableError> {
        let table: PriceTableFile =
            toml::from_str(text).map_err(|error| PriceTableError(error.to_string()))?;
        let mut models = BTreeMap::new();
        for row in table.model {
            let all = [Some(row.price.input), Some(row.price.output), row.price.cached];
            if all.iter().flatten().any(|price| !price.is_finite() || *price < 0.0) {
                return Err(PriceTableError(format!("`{}` has a negative price", row.name)));
            }
            let dated = DatedPrice { price: row.price, as_of: table.as_of.clone() };
            if models.insert(row.name.clone(), dated).is_some() {
                return Err(PriceTableError(format!("`{}` is listed twice", row.name)));
            }
        }
        Ok(Self { as_of: table.as_of, source: table.source, models })
    }

    /// The models whose prices are known, by name.
    pub fn priced_models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// The table with prices of another added, which take precedence.
    #[must_use]
    pub fn with_overrides(mut self, others: Self) -> Self {
        self.models.extend(others.models);
        self
    }

    /// The price of a model by its full name. A name that ends with a date or with
    /// `-latest` has the price of the name without. `None` if it is not known: an unknown
    /// price must never be taken for zero.
    pub fn find_price(&self, model: &str) -> Option<&ModelPrice> {
        self.find_dated_price(model).map(|dated| &dated.price)
    }

    fn find_dated_price(&self, model: &str) -> Option<&DatedPrice> {
        let plain = strip_date_suffix(model);
        self.models.get(model).or_else(|| self.models.get(plain))
    }

    /// The dates of the tables with the prices of these models, the oldest first; that of the
    /// built-in table if none of them is priced.
    pub fn price_dates<'a>(&self, models: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let mut days: Vec<&str> = models
            .filter_map(|model| self.find_dated_price(model).map(|dated| dated.as_of.as_str()))
            .collect();
        days.sort_unstable();
        days.dedup();
        if days.is_empty() { vec![&self.as_of] } else { days }
    }

    /// How many tokens the model holds; `None` if it is not known.
    pub fn context_window(&self, model: &str) -> Option<u64> {
        self.find_price(model).and_then(|price| price.context)
    }

    /// What a turn cost: by the provider's own account if it gives one, else by the
    /// table, else unknown.
    pub fn compute_cost(&self, model: &str, usage: &CompletionUsage) -> Option<Usd> {
        let reported = usage.reported_usd.and_then(Usd::from_dollars);
        reported.or_else(|| self.find_price(model).map(|price| price.compute_cost(usage)))
    }
}

/// The name without `-20250929`, `-2025-09-29` or `-latest` at its end.
fn strip_date_suffix(model: &str) -> &str {
    if let Some(plain) = model.strip_suffix("-latest") {
        return plain;
    }
    let digits = |text: &str, n| text.len() == n && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((head, last)) = model.rsplit_once('-') else { return model };
    if digits(last, 8) {
        return head;
    }
    let parts: Vec<&str> = model.rsplitn(4, '-').collect();
    match parts[..] {
        [day, month, year, head] if digits(day, 2) && digits(month, 2) && digits(year, 4) => head,
        _ => model,
    }
}
