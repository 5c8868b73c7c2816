//! The project's development commands. `cargo xtask` lists them.
#![expect(clippy::print_stdout, reason = "a command-line tool")]

mod bench;
mod codegen;
mod ordinary_user;
mod process_check;
mod schemathesis;
mod shell;
mod test;
mod tidy;
mod ui;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// Without the benchmarks, which have their own list.
const HELP: &str = "\
cargo xtask run            build everything and start Provost in the current folder
cargo xtask test           install the tools of the tests and run all tests, also WebAssembly
                           against the native code; a process that a suite leaves behind is an error
cargo xtask test --full    these, and the HTTP API against its OpenAPI document
cargo xtask api            only the latter, with schemathesis
cargo xtask test --as-user all Rust tests as an ordinary user, which root creates for it
cargo xtask ci             what CI runs: fmt, tidy, codegen, clippy, test, wasm, deny;
                           as root also as an ordinary user, which it creates, the tests of
                           the sandbox, the kernel, the daemon and its governance
                           (--full: all Rust tests)
cargo xtask tidy           check layers, lints, licenses, sources and names
cargo xtask codegen        write the generated files (--check: only compare)
cargo xtask ui             build the notebooks for the browser, and the web UI
cargo xtask wasm           build the core and the notebooks for the browser, and compare what
                           they compute there with the native code
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
        ["test"] => test::run_tests(&test::Compiler::Plain),
        ["test", "--full"] => test::run_full_tests(),
        ["api"] => test::check_api(),
        ["test", "--as-user"] => {
            test::run_tests_as_user(&test::Compiler::Plain, &test::UserTests::All)
        }
        ["ci"] => test::ci(&test::UserTests::Privileges),
        ["ci", "--full"] => test::ci(&test::UserTests::All),
        ["tidy"] => tidy::run_checks(),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["ui"] => ui::build(),
        ["wasm"] => wasm::build().and_then(|()| wasm::compare_replays()),
        ["bench", name, parts @ ..] => bench::run(name, parts),
        [] | ["help" | "--help" | "-h"] => {
            print!("{}", help());
            Ok(())
        }
        other => bail!("unknown command `{}`\n\n{}", other.join(" "), help()),
    }
}

fn help() -> String {
    format!("{HELP}cargo xtask bench NAME     run a benchmark: {}\n", bench::names())
}
