//! What a started program inherits beside its three streams: nothing.

/// The first descriptor that is none of the three streams.
const FIRST: i32 = 3;

/// Makes each descriptor above the streams one that ends when another program is started in this process's place, as each is that this program
/// opened itself. Others come from whoever started us (`exec 7<> notes`, `--events >(cat)`, a terminal): through them a program would write where no
/// sandbox lets it write by a path.
///
/// Done before each start, and not once, because a program around this library opens what it likes when it likes. What that wants to hand on
/// itself it says when it starts the other program, as it has to say for any file that Rust opens.
pub(in crate::host) fn keep_descriptors() {
    close_fds::set_fds_cloexec_threadsafe(FIRST, &[]);
}
