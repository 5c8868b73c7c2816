//! A command that waits for somebody to answer: nobody is there, and it is told so.

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    yard.must_fail("ask", &[]);
}
