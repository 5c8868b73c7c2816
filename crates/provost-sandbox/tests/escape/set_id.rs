//! Programs that run with the rights of their owner: none gains, none is made.

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    yard.works_without_wall("chmod", &[&yard.text("scratch/free")]);
    yard.must_fail("chmod", &[&yard.text("scratch/made")]);
    yard.works_without_wall("create-set-id", &[&yard.text("scratch/free2")]);
    yard.must_fail("create-set-id", &[&yard.text("scratch/made2")]);
    yard.works_without_wall("privileges", &[]);
    yard.must_fail("privileges", &[]);
}
