//! Work folders of overlays, one set for each run at a time.
//!
//! Two overlays can share an upper layer as long as they do not share the folder in
//! which they prepare changes.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use parking_lot::Mutex;

use crate::confine::SandboxError;
use crate::confine::plan::private_folders::{LayerDir, create_private_dir};
use crate::confine::plan::spawn_plan::{OverlayLayer, to_cstring};

/// Which numbers are in use in this process, by bit. All policies of a project have the
/// same layers.
static USED_SLOTS: Mutex<[u64; 8]> = Mutex::new([0; 8]);

/// A number that no other run has, until it is dropped.
#[derive(Debug)]
pub(in crate::confine) struct LayerSlot(usize);

impl LayerSlot {
    /// A number and the layers of a run with it, if there are folders for layers.
    pub(in crate::confine) fn acquire_layers(
        layer_dirs: &[LayerDir],
    ) -> Result<(Option<Self>, Vec<OverlayLayer>), SandboxError> {
        let slot = (!layer_dirs.is_empty()).then(Self::acquire).flatten();
        let layers = slot.as_ref().map(|slot| slot.create_layers(layer_dirs)).transpose()?;
        Ok((slot, layers.unwrap_or_default()))
    }

    /// The lowest free number; `None` if hundreds of runs have one.
    fn acquire() -> Option<Self> {
        let mut used = USED_SLOTS.lock();
        let (index, word) = used.iter_mut().enumerate().find(|(_, word)| **word != u64::MAX)?;
        let bit = word.trailing_ones();
        *word |= 1 << bit;
        Some(Self(index * 64 + usize::try_from(bit).unwrap_or(0)))
    }

    /// The layers of a run with this number, in these folders.
    fn create_layers(&self, layer_dirs: &[LayerDir]) -> Result<Vec<OverlayLayer>, SandboxError> {
        let create = |LayerDir { dir, below }: &LayerDir| {
            let below = below.as_ref().filter(|below| below.is_dir());
            let (upper, work) = (dir.join("upper"), dir.join(format!("work{}", self.0)));
            create_private_dir(&work)
                .and_then(|()| remove_leftover_work(&work))
                .map_err(SandboxError::wrap_io("create the layer of a cache"))?;
            let what = "the layer of a cache";
            Ok(OverlayLayer {
                below: below.map(|below| to_cstring(below.as_os_str(), what)).transpose()?,
                upper: to_cstring(upper.as_os_str(), what)?,
                work: to_cstring(work.as_os_str(), what)?,
            })
        };
        layer_dirs.iter().map(create).collect()
    }
}

/// Removes what the overlay of an earlier run left in its work folder: Linux refuses to mount a
/// volatile one again, because its layer may have lost writes if the machine crashed. A layer
/// holds caches only, and a run before would have lost the same writes without an overlay.
fn remove_leftover_work(work: &Path) -> io::Result<()> {
    // Linux creates these without any permissions.
    for folder in ["work", "work/incompat", "work/incompat/volatile"] {
        match fs::set_permissions(work.join(folder), Permissions::from_mode(0o700)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    match fs::remove_dir_all(work.join("work")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

impl Drop for LayerSlot {
    fn drop(&mut self) {
        let mut used = USED_SLOTS.lock();
        if let Some(word) = used.get_mut(self.0 / 64) {
            *word &= !(1 << (self.0 % 64));
        }
    }
}
