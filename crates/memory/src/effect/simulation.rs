//! Records with a planted truth.
