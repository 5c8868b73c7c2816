//! Positions: there is always one between two others.

use proptest::prelude::*;
use provost_notebook::position::{check_position, position_between, position_sequence};

#[test]
fn cells_at_the_end_need_few_characters() {
    let positions = position_sequence(10_000);
    assert_eq!(positions.len(), 10_000);
    assert!(positions.is_sorted_by(|a, b| a < b));
    assert!(positions.iter().all(|position| check_position(position).is_ok()));
    assert!(positions.iter().all(|position| position.len() <= 4));
}

#[test]
fn cells_before_all_others_need_few_characters() {
    let mut first = position_between(None, None).unwrap();
    for _ in 0..5000 {
        let before = position_between(None, Some(&first)).unwrap();
        assert!(before < first && before.len() <= 4, "{before}");
        first = before;
    }
}

#[test]
fn what_is_not_a_position_is_refused() {
    let long = format!("a0{}", "V".repeat(300));
    let smallest = format!("A{}", "0".repeat(26));
    for text in ["", "a", "b0", "0", "a00", "a0!", "ä0", "a0 ", "~", &long, &smallest] {
        assert!(check_position(text).is_err(), "{text}");
        assert!(position_between(Some(text), None).is_err(), "{text}");
        assert!(position_between(None, Some(text)).is_err(), "{text}");
    }
    assert!(position_between(Some("a1"), Some("a0")).is_err());
    assert!(position_between(Some("a1"), Some("a1")).is_err());
}

#[test]
fn there_is_a_position_beside_the_outermost_ones() {
    let first = format!("A{}1", "0".repeat(25));
    let before = position_between(None, Some(&first)).unwrap();
    assert!(before < first && check_position(&before).is_ok(), "{before}");
    let last = format!("z{}", "z".repeat(26));
    let after = position_between(Some(&last), None).unwrap();
    assert!(after > last && check_position(&after).is_ok(), "{after}");
}

proptest! {
    #[test]
    fn a_position_fits_anywhere_again_and_again(places in prop::collection::vec(any::<prop::sample::Index>(), 1..60)) {
        let mut positions = position_sequence(2);
        for place in places {
            let index = place.index(positions.len() + 1);
            let before = index.checked_sub(1).map(|index| positions[index].as_str());
            let after = positions.get(index).map(String::as_str);
            let between = position_between(before, after).unwrap();
            prop_assert!(check_position(&between).is_ok(), "{between}");
            prop_assert!(before.is_none_or(|before| before < between.as_str()));
            prop_assert!(after.is_none_or(|after| between.as_str() < after));
            positions.insert(index, between);
        }
    }
}
