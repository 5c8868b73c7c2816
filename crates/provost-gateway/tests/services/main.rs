//! The services of the gateway with real kernels: a process for each project, which is this
//! program again.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where it fails")]
#![expect(clippy::print_stdout, reason = "a test runner lists its tests")]

mod fixture;
mod kernel_process;

mod executor;
mod kernel_pool;
mod lifecycle;

use std::pin::Pin;
use std::process::ExitCode;

type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! tests {
    ($($module:ident::$name:ident),+ $(,)?) => {
        &[$((
            concat!(stringify!($module), "::", stringify!($name)),
            || Box::pin($module::$name()),
        )),+]
    };
}

const TESTS: &[Test] = tests![
    executor::a_request_that_is_repeated_runs_once,
    executor::of_many_answers_one_runs_the_action,
    executor::what_is_cancelled_depends_on_the_state,
    executor::an_action_that_is_cancelled_while_it_starts_ends,
    kernel_pool::callers_at_once_get_one_kernel,
    kernel_pool::starts_that_fail_are_delayed_from_the_fourth_on,
    kernel_pool::a_killed_kernel_ends_its_actions_and_is_started_again,
    kernel_pool::a_stopped_kernel_leaves_no_process,
    lifecycle::closing_ends_what_runs_and_what_waits,
    lifecycle::actions_that_start_while_the_project_closes_leave_no_kernel,
    lifecycle::a_folder_that_is_opened_again_is_the_same_project,
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if args.first().is_some_and(|arg| arg == "kernel") {
        return runtime.block_on(kernel_process::run(&args[1..]));
    }
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            for (name, _) in TESTS {
                println!("{name}: test");
            }
        }
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    for (name, test) in TESTS {
        if wanted.is_empty() || wanted.contains(name) {
            println!("{name}");
            runtime.block_on(test());
        }
    }
    ExitCode::SUCCESS
}
