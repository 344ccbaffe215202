//! The program `reflexion`; everything it does is in [`reflexion::cli`].

fn main() -> std::process::ExitCode {
    reflexion::cli::main()
}
