//! What the fuzz target `place` and an ordinary test call on every input: a file that sets variables is read and changed
//! as [`needless_environment::Place`] promises.
//!
//! An input is three lines, the name of the place, a value, and the part of the file (or nothing), then the file.

use needless_environment::{Edit, PLACES};

/// Returns whether the change could be made, by a tool or by hand.
pub(crate) fn check_place(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(4, '\n');
    let (Some(name), Some(value), Some(part), Some(text)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return false;
    };
    let Some(place) = PLACES.iter().find(|place| place.name == name) else { return false };
    let part = Some(part).filter(|part| !part.is_empty());
    place.find(text, "TZ", part);
    place.find(text, "TZ", None);
    for value in [Some(value), None] {
        let edit = Edit { variable: "TZ", value, part };
        let Ok(once) = place.change(text, &edit) else { continue };
        assert_eq!(place.change(&once, &edit).as_ref(), Ok(&once), "made again, it changes more");
        // sudoers says which variables pass, and not their values.
        if let Some(value) = value.filter(|_| name != "sudoers") {
            let found = place.find(&once, "TZ", part).pop().and_then(|found| found.value);
            assert_eq!(found.as_deref(), Some(value), "what was put is not found in {once:?}");
        }
    }
    let edit = Edit { variable: "TZ", value: Some(value), part };
    place.change(text, &edit).is_ok() || place.line_by_hand(text, &edit).is_some()
}
