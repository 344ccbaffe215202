//! Wrong graphs do not compile, and the errors name the layer and the service.
//!
//! After a wanted change: `TRYBUILD=overwrite cargo test --test compile_fail`, then read the diff.

#[test]
fn wrong_layers_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
