//! What command lines are read as: what each command is for, what it does, and how lines are taken apart.

mod effects;
mod kinds;
mod lines;
