//! Commands of the command line, each a process of its own.

use crate::measured_daemon::MeasuredDaemon;
use crate::table::{ResultTable, RowLimits};

const ROUNDS: usize = 15;

pub(crate) fn measure(table: &mut ResultTable, both: [&MeasuredDaemon<'_>; 2]) {
    let actions = both.map(|daemon| daemon.folder_copy.history.action.to_string());
    measure_command(table, both, "provost status", [&["status"], &["status"]]);
    measure_command(table, both, "provost events", [&["events"], &["events"]]);
    measure_command(table, both, "provost audit", [&["audit"], &["audit"]]);
    let report = |id| ["audit", "--action", id];
    let (first, second) = (report(&actions[0]), report(&actions[1]));
    measure_command(table, both, "provost audit --action", [&first, &second]);
}

fn measure_command(
    table: &mut ResultTable,
    both: [&MeasuredDaemon<'_>; 2],
    name: &str,
    commands: [&[&str]; 2],
) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (number, daemon) in both.iter().enumerate() {
            times[number].push(daemon.folder_copy.run_provost(commands[number]));
        }
    }
    table.add_times(name, times, RowLimits::RATIO);
}
