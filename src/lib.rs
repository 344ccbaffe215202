//! reflexion

pub mod layer;
