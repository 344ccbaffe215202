//! Any bytes, to every reader of transcripts: an error or a reading, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reflexion::reading::FORMATS;
use reflexion::reading::read;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    // The first byte names the format; beyond the last name it is seen from the records.
    let format = FORMATS.get(usize::from(*first)).and_then(|name| name.parse().ok());
    let _ = read(rest, format);
});
