//! The project's own commands. `cargo xtask` lists them.
#![expect(clippy::print_stdout, reason = "a tool that talks to the person who runs it")]

mod bench;
mod codegen;
mod shell;
mod test;
mod tidy;
mod ui;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// Without the benchmarks, which stand in a table of their own.
const HELP: &str = "\
cargo xtask run            build everything and start Provost on the current folder
cargo xtask test           install what the tests need and run all of them
cargo xtask ci             what CI runs: fmt, tidy, codegen, clippy, test, wasm, deny
cargo xtask tidy           check what no compiler checks: layers, lints, licences, …
cargo xtask codegen        write the generated files (--check: only compare them)
cargo xtask ui             build the web UI
cargo xtask wasm           build the core for the browser, where the target is there
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<()> {
    match args {
        ["run", rest @ ..] => test::run_provost(rest),
        ["test"] => test::all(&test::Compiler::Plain),
        ["ci"] => test::ci(),
        ["tidy"] => tidy::all(),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["ui"] => ui::build(),
        ["wasm"] => wasm::check(),
        ["bench", name, parts @ ..] => bench::run(name, parts),
        [] | ["help" | "--help" | "-h"] => {
            print!("{}", help());
            Ok(())
        }
        other => bail!("`{}` is no command\n\n{}", other.join(" "), help()),
    }
}

fn help() -> String {
    format!("{HELP}cargo xtask bench NAME     a benchmark: {}\n", bench::names())
}
