//! A full disk: a clear error, no partial write, and writes succeed again when there is space.

use std::fs;

use provost_proto::Stream;
use provost_store::{Clock, EventStore, StoreError};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{append, fresh, note, one, open, token};

#[tokio::test]
async fn a_full_disk_is_said_and_survived() {
    let (_, folder) = fresh();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    if let Err(error) = mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), c"size=1m") {
        // Only root may mount a small disk.
        assert!(!rustix::process::geteuid().is_root(), "root could not mount: {error}");
        return;
    }
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![0; 600 * 1024]).unwrap();

    let store = open(&disk);
    let long = "x".repeat(3000);
    let mut written = 0;
    let error = loop {
        match store.append(one(Stream::Sys, token(&Clock::system(), &long))).await {
            Ok(appended) => written = appended.events()[0].seq,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::NoSpace), "{error}");
    assert_eq!(store.watch_head().borrow().seq(), written);
    assert!(matches!(store.last_write_error(), Some(StoreError::NoSpace)), "it is known to fail");

    fs::remove_file(&ballast).unwrap();
    let next = append(&store, one(Stream::Sys, note("there is space again"))).await.remove(0);
    assert_eq!((next.seq, next.version), (written + 1, written + 1));
    assert!(store.last_write_error().is_none(), "it is known to be well again");
    let report = store.verify_log().await.unwrap();
    assert_eq!((report.events, report.bad), (written + 1, None));

    drop(store);
    unmount(&disk, UnmountFlags::empty()).unwrap();
}
