//! reflexion
