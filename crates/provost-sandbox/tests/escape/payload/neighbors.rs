//! Attacks on other processes of the same user, and on what they share.

use std::ffi::{CString, c_long};

use super::{Attack, call, number};

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("other-process", [how, pid]) => other_process(how, number(pid)),
        ("shared-object", ["memory", id]) => {
            call(libc::SYS_shmat, [number(id), 0, c_long::from(libc::SHM_RDONLY), 0, 0])
        }
        ("shared-object", ["queue", id]) => {
            let message = [1 as c_long, 0];
            let flags = c_long::from(libc::IPC_NOWAIT);
            call(libc::SYS_msgsnd, [number(id), message.as_ptr() as c_long, 1, flags, 0])
        }
        ("shared-object", ["named-queue", name]) => {
            let name = CString::new(*name).unwrap();
            let flags = c_long::from(libc::O_RDWR);
            call(libc::SYS_mq_open, [name.as_ptr() as c_long, flags, 0, 0, 0])
        }
        _ => return None,
    })
}

/// Changes something of a process that does it no harm here, by the calls that could.
fn other_process(how: &str, pid: c_long) -> Attack {
    let cores = [u64::MAX; 16];
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let parameter = libc::sched_param { sched_priority: 0 };
    match how {
        "limits" => {
            let limit = (&raw const limit) as c_long;
            call(libc::SYS_prlimit64, [pid, c_long::from(libc::RLIMIT_CORE), limit, 0, 0])
        }
        "affinity" => {
            let size = c_long::try_from(size_of_val(&cores)).unwrap();
            call(libc::SYS_sched_setaffinity, [pid, size, cores.as_ptr() as c_long, 0, 0])
        }
        "scheduler" => {
            let parameter = (&raw const parameter) as c_long;
            let policy = c_long::from(libc::SCHED_OTHER);
            call(libc::SYS_sched_setscheduler, [pid, policy, parameter, 0, 0])
        }
        "priority" => call(libc::SYS_setpriority, [0, pid, 19, 0, 0]),
        "all-priorities" => call(libc::SYS_setpriority, [2, 0, 19, 0, 0]),
        // The idle class, of which there is one level.
        "io-priority" => call(libc::SYS_ioprio_set, [1, pid, 3 << 13, 0, 0]),
        _ => panic!("{how}"),
    }
}
