//! An agent while it works: stuck, looping, or forgetful after its context was shortened.

mod judge;

pub use judge::Progress;
