//! Fractional indexes: a text between any two others.

use provost_proto::notebook::CellPosition;

/// A position that no cell can have, or two that nothing is between.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// The text is not a position.
    #[error("`{0}` is not a position of a cell")]
    Invalid(String),
    /// The first is not before the second.
    #[error("`{0}` is not before `{1}`")]
    NotBefore(String, String),
}

/// A position between two others; at the start or at the end if one is absent.
pub fn position_between(before: Option<&str>, after: Option<&str>) -> Result<CellPosition, PositionError> { todo!() }

/// Ascending positions for a number of cells.
pub fn position_sequence(count: usize) -> Vec<CellPosition> { todo!() }
