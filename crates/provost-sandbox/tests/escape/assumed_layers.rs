//! A run that is started on the assumption that the machine refuses nothing: it has every layer
//! that a probe finds, or does not start.

use provost_sandbox::confine::{LayerSelection, Sandbox, SandboxError, SandboxExit};
use provost_sandbox::probe::MachineFeatures;
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    for profile in [SandboxProfile::Read, SandboxProfile::Build] {
        let probed = fixture.sandbox(profile, LayerSelection::Auto);
        let assumed = MachineFeatures::assume_available();
        let policy = probed.policy().clone();
        let sandbox = Sandbox::new(policy, &assumed, LayerSelection::Auto, fixture.limits).unwrap();
        match sandbox.spawn(fixture.command("ask", &[])) {
            Ok(mut child) => {
                assert_eq!(child.applied, *probed.applied(), "{profile:?}");
                assert_ne!(child.wait().unwrap(), SandboxExit::Code(0), "there is no input");
            }
            Err(SandboxError::Unavailable { layer, .. }) => {
                assert_ne!(sandbox.applied(), probed.applied(), "{profile:?}: {layer}");
            }
            Err(error) => panic!("{profile:?}: {error}"),
        }
    }
}
