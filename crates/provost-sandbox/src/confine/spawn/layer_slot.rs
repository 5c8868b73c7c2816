//! Work folders of overlays, one set for each run at a time.
//!
//! Two overlays can share an upper layer as long as they do not share the folder in
//! which they prepare changes.

use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::confine::SandboxError;
use crate::confine::plan::mounts::create_overlay;
use crate::confine::plan::private_folders::{LayerDir, create_private_dir};
use crate::confine::plan::spawn_plan::{MountPlan, OverlayLayer, to_cstring};
use crate::confine::supervisor::standby_supervisor::StandbySupervisor;

/// Which numbers are in use in this process, by bit. All policies of a project have the
/// same layers.
static USED_SLOTS: Mutex<[u64; 8]> = Mutex::new([0; 8]);

/// A number that no other run has, until it is dropped.
#[derive(Debug)]
pub(in crate::confine) struct LayerSlot {
    number: usize,
    /// The work folders of its overlays, to be emptied for the next run.
    work_dirs: Vec<PathBuf>,
}

/// The layers of one run.
#[derive(Debug)]
pub(in crate::confine) struct RunLayers {
    /// Unmounted, if they are not in use, before the number is free again.
    pub(in crate::confine) layers: Vec<OverlayLayer>,
    pub(in crate::confine) slot: Option<LayerSlot>,
}

impl RunLayers {
    /// The layers of a run in these folders, if there are any.
    pub(in crate::confine) fn acquire(layer_dirs: &[LayerDir]) -> Result<Self, SandboxError> {
        if layer_dirs.iter().any(|dir| dir.is_in_memory) {
            // No other run can reach them.
            let layers = layer_dirs.iter().map(|dir| build_layer(dir, &dir.dir.join("work")));
            return Ok(Self { layers: layers.collect::<Result<_, _>>()?, slot: None });
        }
        let mut slot = (!layer_dirs.is_empty()).then(LayerSlot::acquire).flatten();
        let layers = slot.as_mut().map(|slot| slot.create_layers(layer_dirs)).transpose()?;
        Ok(Self { layers: layers.unwrap_or_default(), slot })
    }

    /// Those that were mounted in advance, if they are what a run gets now.
    pub(in crate::confine) fn take_or_acquire(
        standby: Option<&mut StandbySupervisor>,
        layer_dirs: &[LayerDir],
    ) -> Result<Self, SandboxError> {
        let in_advance = standby.and_then(StandbySupervisor::take_layers);
        match in_advance.filter(|layers| layers.is_current(layer_dirs)) {
            Some(layers) => Ok(layers),
            None => Self::acquire(layer_dirs),
        }
    }

    /// Mounts them in advance, which takes longer than the rest of a start. What this
    /// machine refuses is left to the start.
    pub(in crate::confine) fn mount(mut self, mounts: &MountPlan) -> Self {
        for folder in &mounts.folders {
            if let Some(layer) = folder.layer.and_then(|number| self.layers.get_mut(number)) {
                layer.mount = create_overlay(&folder.source, layer).ok();
            }
        }
        self
    }

    /// Whether they are what a run in these folders would get now.
    fn is_current(&self, layer_dirs: &[LayerDir]) -> bool {
        self.layers.len() == layer_dirs.len()
            && self.layers.iter().zip(layer_dirs).all(|(layer, dir)| {
                let below = dir.find_layer_below().map(|below| below.as_os_str().as_bytes());
                below == layer.below.as_deref().map(CStr::to_bytes)
                    && dir.upper().as_os_str().as_bytes() == layer.upper.to_bytes()
            })
    }
}

impl LayerSlot {
    /// The lowest free number; `None` if hundreds of runs have one.
    fn acquire() -> Option<Self> {
        let mut used = USED_SLOTS.lock();
        let (index, word) = used.iter_mut().enumerate().find(|(_, word)| **word != u64::MAX)?;
        let bit = word.trailing_ones();
        *word |= 1 << bit;
        let number = index * 64 + usize::try_from(bit).unwrap_or(0);
        Some(Self { number, work_dirs: Vec::new() })
    }

    /// The layers of a run with this number, in these folders.
    fn create_layers(
        &mut self,
        layer_dirs: &[LayerDir],
    ) -> Result<Vec<OverlayLayer>, SandboxError> {
        let create = |layer_dir: &LayerDir| {
            let work = layer_dir.dir.join(format!("work{}", self.number));
            create_private_dir(&work)
                .and_then(|()| remove_leftover_work(&work))
                .map_err(SandboxError::wrap_io("create the layer of a cache"))?;
            let layer = build_layer(layer_dir, &work)?;
            self.work_dirs.push(work);
            Ok(layer)
        };
        layer_dirs.iter().map(create).collect()
    }
}

fn build_layer(layer_dir: &LayerDir, work: &Path) -> Result<OverlayLayer, SandboxError> {
    let what = "the layer of a cache";
    let below = layer_dir.find_layer_below();
    Ok(OverlayLayer {
        below: below.map(|below| to_cstring(below.as_os_str(), what)).transpose()?,
        upper: to_cstring(layer_dir.upper().as_os_str(), what)?,
        work: to_cstring(work.as_os_str(), what)?,
        mount: None,
    })
}

/// Removes what the overlay of an earlier run left in its work folder: Linux refuses to mount a
/// volatile one again, because its layer may have lost writes if the machine crashed. A layer
/// holds caches only, and a run before would have lost the same writes without an overlay.
fn remove_leftover_work(work: &Path) -> io::Result<()> {
    if !work.join("work").try_exists()? {
        return Ok(());
    }
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
        for work in &self.work_dirs {
            // If it fails, the next run with this number tries it again, and says why.
            drop(remove_leftover_work(work));
        }
        let mut used = USED_SLOTS.lock();
        if let Some(word) = used.get_mut(self.number / 64) {
            *word &= !(1 << (self.number % 64));
        }
    }
}
