//! What your own tests need: scripted doubles of the ports, and the contracts that implementations must keep.

mod storage_contract;

pub use storage_contract::storage_contract;
