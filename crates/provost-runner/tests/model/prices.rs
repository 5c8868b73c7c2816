//! Prices of models.

use provost_runner::model::{CompletionUsage, PriceTable, Usd};

#[test]
fn prices_are_dated_and_cover_the_models_that_are_used_most() {
    let prices = PriceTable::built_in().unwrap();
    assert_eq!(prices.as_of.len(), "2026-07-01".len());
    for model in [
        "anthropic/claude-sonnet-5",
        "anthropic/claude-sonnet-4-5-20250929",
        "openai/gpt-5",
        "openai/gpt-5-2025-08-07",
        "gemini/gemini-2.5-pro",
        "deepseek/deepseek-v4-pro",
        "mistral/mistral-large-latest",
        "groq/openai/gpt-oss-120b",
        "xai/grok-4.3",
    ] {
        let price = prices.find_price(model).unwrap_or_else(|| panic!("no price of {model}"));
        assert!(price.output >= price.input, "{model}");
        assert!(price.cached.is_none_or(|cached| cached < price.input), "{model}");
    }
}

#[test]
fn a_price_that_is_not_known_is_not_nothing() {
    let prices = PriceTable::built_in().unwrap();
    let usage = CompletionUsage { input: 10, output: 10, ..CompletionUsage::default() };
    for model in ["openai/gpt-99", "ollama/llama3", "script/tour", "gpt-5", "openai/gpt-5-20"] {
        assert_eq!(prices.compute_cost(model, &usage), None, "{model}");
    }
}

#[test]
fn a_turn_costs_what_its_parts_cost() {
    let table = r#"
        as_of = "2026-01-01"
        source = "made up"
        [[model]]
        name = "p/m"
        input = 3.0
        output = 15.0
        cached = 0.3
        cache_write = 3.75
        long = { over = 1000, input = 6.0, output = 22.5, cached = 0.6, cache_write = 7.5 }
        [[model]]
        name = "p/plain"
        input = 0.0375
        output = 1.0
    "#;
    let prices = PriceTable::parse(table).unwrap();
    let usage = |input, output, cached_input, cache_write| CompletionUsage {
        input,
        output,
        cached_input,
        cache_write,
        reasoning: output / 2,
        reported_usd: None,
    };
    for (model, usage, nanos) in [
        // 100 plain, 400 cached and 500 written at 3, 0.3 and 3.75; 10 out at 15 a million.
        ("p/m", usage(1000, 10, 400, 500), 300_000 + 120_000 + 1_875_000 + 150_000),
        // One token more makes all of it dear.
        ("p/m", usage(1001, 10, 0, 0), 6_006_000 + 225_000),
        // Without prices of a cache, what is cached costs as the rest.
        ("p/plain", usage(1000, 0, 500, 500), 37_500),
        // A part of a billionth is a billionth.
        ("p/plain", usage(1, 0, 0, 0), 38),
        // A server that counts more cached than there was.
        ("p/m", usage(10, 0, 50, 50), 3000),
        ("p/m", usage(0, 0, 0, 0), 0),
    ] {
        assert_eq!(prices.compute_cost(model, &usage), Some(Usd::from_nanos(nanos)), "{usage:?}");
    }
    let reported = CompletionUsage { reported_usd: Some(0.00085), ..usage(10, 10, 0, 0) };
    assert_eq!(prices.compute_cost("p/unknown", &reported), Some(Usd::from_nanos(850_000)));
    let other = table.replace("3.0", "1.0");
    let other = other.replace("2026-01-01", "2026-12-24").replace("p/plain", "p/other");
    let changed = prices.with_overrides(PriceTable::parse(&other).unwrap());
    let days = |models: &[&'static str]| changed.price_dates(models.iter().copied()).join(" and ");
    for (models, tables) in [
        (&["p/m", "p/m-latest"][..], "2026-12-24"),
        (&["p/plain"], "2026-01-01"),
        (&["p/m", "p/unknown", "p/plain"], "2026-01-01 and 2026-12-24"),
        (&[], "2026-01-01"),
    ] {
        assert_eq!(days(models), tables, "{models:?}");
    }
    assert_eq!(
        changed.compute_cost("p/m", &usage(1000, 0, 0, 0)),
        Some(Usd::from_nanos(1_000_000))
    );
    assert_eq!(Usd::from_nanos(1_234_567_890).to_string(), "$1.2346");
}

#[test]
fn a_table_of_prices_that_makes_no_sense_is_refused() {
    let head = "as_of = 'x'\nsource = 'y'\n";
    for rows in [
        "[[model]]\nname = 'a'\ninput = -1.0\noutput = 1.0",
        "[[model]]\nname = 'a'\ninput = 1.0\noutput = inf",
        "[[model]]\nname = 'a'\ninput = 1.0\noutput = 1.0\n[[model]]\nname = 'a'\ninput = 1.0\noutput = 1.0",
        "[[model]]\nname = 'a'\ninput = 1.0",
    ] {
        assert!(PriceTable::parse(&format!("{head}{rows}")).is_err(), "{rows}");
    }
}
