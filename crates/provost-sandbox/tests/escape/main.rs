//! Attacks on the sandbox. Each must fail, and is shown to work without the sandbox.
//!
//! One file per attack. A test starts this binary again, in a sandbox, as the attacker
//! ([`payload`]); the attacker's exit code says whether it did harm. Every test runs in
//! each [`TestEnvironment`]: as root, as an ordinary user, without namespaces, with
//! namespaces as restricted as on Ubuntu, and without cgroups; in each with the fewest
//! layers and with all that the environment offers.
#![expect(unsafe_code, reason = "attackers make system calls that have no safe interface")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where it fails")]
#![expect(clippy::print_stdout, reason = "a test prints which layers were active")]

mod assumed_layers;
mod dangling_link;
mod hard_link;
mod home;
mod kernel_surface;
mod memfd_exec;
mod namespaces;
mod network;
mod other_processes;
mod output_flood;
mod own_ports;
mod own_sockets;
mod payload;
mod pinned_script;
mod private_tmp;
mod proc_root;
mod protected_paths;
mod ptrace;
mod read_only_paths;
mod reserved_ports;
mod resources;
mod sandbox_fixture;
mod secrets;
mod set_id;
mod stop;
mod symlink_swap;
mod terminals;
mod test_environment;
mod tiocsti;
mod traversal;
mod undumpable_parent;
mod waits_for_input;
mod write_outside;

use std::process::ExitCode;

use test_environment::TestEnvironment;

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("assumed_layers", assumed_layers::test),
    ("dangling_link", dangling_link::test),
    ("hard_link", hard_link::test),
    ("home_is_read_by_name", home::read),
    ("home_of_its_own", home::own),
    ("home_caches", home::caches),
    ("home_links", home::links),
    ("home_settings_in_program_folder", home::settings_in_program_folder),
    ("home_network", home::network),
    ("kernel_surface", kernel_surface::test),
    ("memfd_exec", memfd_exec::test),
    ("namespaces", namespaces::test),
    ("network", network::test),
    ("network_loopback_stays_inside", network::loopback),
    ("network_serve_listens_and_calls_itself_alone", network::serve),
    ("other_processes", other_processes::test),
    ("other_processes_shared_memory", other_processes::shared_memory),
    ("output_flood", output_flood::test),
    ("own_ports_are_reached", own_ports::reached),
    ("own_ports_only", own_ports::only),
    ("own_ports_shared_with_others", own_ports::shared),
    ("own_ports_address_swapped", own_ports::swapped),
    ("own_ports_taken_by_others", own_ports::taken),
    ("own_ports_left_to_others", own_ports::lured),
    ("own_ports_full_queue", own_ports::full_queue),
    ("own_ports_leave_nothing", own_ports::leave_nothing),
    ("own_ports_without_notification", own_ports::without_notification),
    ("own_sockets_are_reached", own_sockets::reached),
    ("own_sockets_only", own_sockets::only),
    ("own_sockets_swapped", own_sockets::swapped),
    ("own_sockets_datagrams", own_sockets::datagrams),
    ("pinned_script", pinned_script::test),
    ("private_tmp", private_tmp::test),
    ("proc_root", proc_root::test),
    ("protected_paths", protected_paths::test),
    ("ptrace", ptrace::test),
    ("read_only_paths", read_only_paths::test),
    ("reserved_ports", reserved_ports::refused),
    ("reserved_ports_swapped", reserved_ports::swapped),
    ("reserved_ports_leave_others", reserved_ports::others),
    ("resources_fork_bomb", resources::fork_bomb),
    ("resources_memory", resources::memory),
    ("resources_memory_files", resources::memory_files),
    ("resources_watchers", resources::watchers),
    ("resources_open_files", resources::open_files),
    ("resources_file_size", resources::file_size),
    ("secrets", secrets::test),
    ("secrets_terminal", secrets::terminal),
    ("set_id", set_id::test),
    ("stop_double_setsid", stop::double_setsid),
    ("stop_blinded", stop::blinded),
    ("stop_ignores_term", stop::ignores_term),
    ("stop_closes_output_and_lives", stop::closes_output),
    ("stop_orphans", stop::orphans),
    ("stop_parent_dies", stop::parent_dies),
    ("symlink_swap", symlink_swap::test),
    ("terminals", terminals::test),
    ("terminals_of_its_own", terminals::own),
    ("terminals_of_other_runs", terminals::shared),
    ("tiocsti", tiocsti::test),
    ("traversal", traversal::test),
    ("undumpable_parent", undumpable_parent::test),
    ("waits_for_input", waits_for_input::test),
    ("write_outside", write_outside::test),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--payload", name, ..] => return payload::main(name, &args[2..]),
        ["--in-environment", environment, name] => {
            let environment = TestEnvironment::from_name(environment);
            println!("{name} as uid {}", rustix::process::geteuid().as_raw());
            environment.assert_detected();
            let (_, test) = TESTS.iter().find(|(other, _)| *other == name).unwrap();
            test();
        }
        _ if args.contains(&"--list") => {
            if !args.contains(&"--ignored") {
                for (environment, test) in all_tests() {
                    println!("{}::{test}: test", environment.name());
                }
            }
        }
        _ => {
            let wanted: Vec<&str> =
                args.iter().copied().filter(|arg| !arg.starts_with('-')).collect();
            for (environment, test) in all_tests() {
                let name = format!("{}::{test}", environment.name());
                if wanted.is_empty() || wanted.contains(&name.as_str()) {
                    environment.run(test);
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// Every test in every environment that this user can create.
fn all_tests() -> impl Iterator<Item = (TestEnvironment, &'static str)> {
    let environments = TestEnvironment::available().iter();
    environments.flat_map(|environment| TESTS.iter().map(|(name, _)| (*environment, *name)))
}
