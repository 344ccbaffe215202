//! What a layer asks for and gives: a trait registered as a service, and the shared handle to it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A trait object that layers can need and provide.
///
/// Implemented by [`service!`](crate::service), once per trait and never by hand. The trait must
/// be object-safe and have `Send + Sync` as supertraits. Not to be confused with `tower::Service`,
/// which is one asynchronous function from a request to a response.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a service",
    label = "not a registered service",
    note = "register the trait once with `service!(Trait)` and name it as `dyn Trait`"
)]
pub trait Service: Send + Sync + 'static {
    /// Which service this is.
    const ID: ServiceId;
}

/// Says that a value of type `T` can stand behind this service.
///
/// Implemented by [`service!`](crate::service) for every `T` that implements the trait; it is what
/// lets [`Svc::new`] turn a plain value into a trait object.
#[diagnostic::on_unimplemented(message = "`{T}` does not implement the service `{Self}`")]
pub trait ImplementedBy<T>: Service {
    /// Puts the value behind a shared trait object.
    fn share(value: T) -> Arc<Self>;
}

/// Which service is meant: a name for people and a key that is unique in the program.
///
/// Two traits of the same name in two modules have the same name and different keys.
#[derive(Clone, Copy)]
pub struct ServiceId {
    name: &'static str,
    key: &'static str,
    /// Of the key; comparing numbers keeps the check at compile time cheap.
    hash: u64,
}

impl ServiceId {
    /// An identity from the path as written in `service!` and a key unique in the program.
    #[must_use]
    #[doc(hidden)]
    pub const fn new(path: &'static str, key: &'static str) -> Self {
        ServiceId { name: last_segment(path), key, hash: fnv1a(key) }
    }

    /// The trait's own name, for example `Storage`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The trait's path and where it was registered: unique, and good enough to find it.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// `==` that also works while compiling.
    pub(super) const fn same(&self, other: &ServiceId) -> bool {
        self.hash == other.hash && same_text(self.key, other.key)
    }
}

impl PartialEq for ServiceId {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for ServiceId {}

impl fmt::Debug for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

/// Equality of texts that works while compiling.
pub(super) const fn same_text(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// `Storage` of `crate::services::Storage`; generic arguments stay with the name.
const fn last_segment(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() && bytes[at] != b'<' {
        if bytes[at] == b':' {
            start = at + 1;
        }
        at += 1;
    }
    path.split_at(start).1
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): three lines that a `const fn` can run.
const fn fnv1a(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Registers traits as services, so that `Svc<dyn Trait>` can be needed and provided by layers.
///
/// Once per trait, in the crate that owns the trait; anywhere in that crate, by any path. The
/// trait must be object-safe with `Send + Sync` as supertraits.
///
/// ```
/// mod ports {
///     pub trait Storage: Send + Sync {}
///     pub trait Clock: Send + Sync {}
/// }
/// reflexion_layer::service!(ports::Storage, ports::Clock);
///
/// use reflexion_layer::layer::Service;
/// assert_eq!(<dyn ports::Storage as Service>::ID.name(), "Storage");
/// ```
#[macro_export]
macro_rules! service {
    ($($service:path),+ $(,)?) => { $(
        impl $crate::layer::Service for dyn $service {
            // The line tells apart traits of one name that are local to two functions of a module.
            const ID: $crate::layer::ServiceId = $crate::layer::ServiceId::new(
                stringify!($service),
                concat!(
                    stringify!($service), " (registered in ", module_path!(), ", line ", line!(), ")"
                ),
            );
        }
        impl<T: $service + 'static> $crate::layer::ImplementedBy<T> for dyn $service {
            fn share(value: T) -> ::std::sync::Arc<Self> {
                ::std::sync::Arc::new(value)
            }
        }
    )+ };
}

/// A shared handle to a service: the only thing a layer asks for and gives.
///
/// Cloning is cheap and shares the value (an [`Arc`] inside); methods of the trait are called on
/// the handle directly.
///
/// ```
/// use reflexion_layer::layer::Svc;
/// use std::sync::Arc;
///
/// trait Greeter: Send + Sync {
///     fn greet(&self) -> String;
/// }
/// reflexion_layer::service!(Greeter);
///
/// struct English;
/// impl Greeter for English {
///     fn greet(&self) -> String {
///         "hello".into()
///     }
/// }
///
/// let greeter = Svc::<dyn Greeter>::new(English);
/// assert_eq!(greeter.greet(), "hello");
/// let shared: Arc<dyn Greeter> = greeter.into_arc();
/// assert_eq!(Svc::from(shared).greet(), "hello");
/// ```
pub struct Svc<S: ?Sized>(Arc<S>);

impl<S: ?Sized> Svc<S> {
    /// Puts a value (the real thing, a fake, a mock) behind the service.
    pub fn new<T>(value: T) -> Self
    where
        S: ImplementedBy<T>,
    {
        Svc(S::share(value))
    }

    /// The shared pointer inside, for code that knows nothing of layers.
    #[must_use]
    pub fn into_arc(self) -> Arc<S> {
        self.0
    }

    /// Borrows the shared pointer inside.
    #[must_use]
    pub fn as_arc(&self) -> &Arc<S> {
        &self.0
    }
}

/// What can be given for a service: a [`Svc<dyn Trait>`](Svc) or an `Arc<dyn Trait>`.
///
/// Both say for which service they stand; a plain value does not, because it may implement several.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say for which service it is given",
    label = "a plain value, not a service",
    note = "write `.with(Svc::<dyn Trait>::new(value))`, for example `.with(Svc::<dyn Storage>::new(MyStore))`"
)]
pub trait Handle: Sized {
    /// For which service.
    type Service: Service + ?Sized;

    /// The shared handle.
    fn into_svc(self) -> Svc<Self::Service>;
}

impl<S: Service + ?Sized> Handle for Svc<S> {
    type Service = S;

    fn into_svc(self) -> Svc<S> {
        self
    }
}

impl<S: Service + ?Sized> Handle for Arc<S> {
    type Service = S;

    fn into_svc(self) -> Svc<S> {
        Svc(self)
    }
}

impl<S: ?Sized> From<Arc<S>> for Svc<S> {
    fn from(shared: Arc<S>) -> Self {
        Svc(shared)
    }
}

impl<S: ?Sized> From<Svc<S>> for Arc<S> {
    fn from(service: Svc<S>) -> Self {
        service.0
    }
}

impl<S: ?Sized> Clone for Svc<S> {
    fn clone(&self) -> Self {
        Svc(Arc::clone(&self.0))
    }
}

impl<S: ?Sized> Deref for Svc<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Service + ?Sized> fmt::Debug for Svc<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Svc<{}>", S::ID.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod left {
        pub trait Storage: Send + Sync {
            fn side(&self) -> &'static str;
        }
        pub struct Here;
        impl Storage for Here {
            fn side(&self) -> &'static str {
                "left"
            }
        }
    }
    mod right {
        pub trait Storage: Send + Sync {}
    }
    crate::service!(left::Storage, right::Storage);

    fn check_name(path: &'static str, expected: &str) {
        assert_eq!(ServiceId::new(path, path).name(), expected);
    }

    #[test]
    fn the_name_is_the_last_segment_of_the_path() {
        check_name("Storage", "Storage");
        check_name("crate::services::Storage", "Storage");
        check_name("crate::cache::Cache<domain::Key>", "Cache<domain::Key>");
    }

    #[test]
    fn traits_of_the_same_name_are_different_services() {
        let left = <dyn left::Storage as Service>::ID;
        let right = <dyn right::Storage as Service>::ID;
        assert_eq!(left.name(), right.name());
        assert_ne!(left, right);
        assert!(left.key().starts_with("left::Storage (registered in reflexion_layer::layer::service::tests"));
    }

    #[test]
    fn a_handle_shares_one_value_and_shows_its_service() {
        let first = Svc::<dyn left::Storage>::new(left::Here);
        let second = first.clone();
        assert_eq!(second.side(), "left");
        assert!(Arc::ptr_eq(first.as_arc(), second.as_arc()));
        assert_eq!(format!("{first:?}"), "Svc<Storage>");
        let shared: Arc<dyn left::Storage> = first.into();
        assert!(Arc::ptr_eq(&shared, &second.into_arc()));
    }
}
