//! What counts as a layer: an async function of services that results in a service.

use super::BoxError;
use super::built::{Built, ErasedService};
use super::scope::Scope;
use super::service::{Service, ServiceId, Svc};
use futures_util::future::BoxFuture;
use std::marker::PhantomData;

/// What one run of a layer makes.
pub(super) type Made = Vec<(ServiceId, ErasedService)>;

/// One run of a layer.
pub(super) type Construction = BoxFuture<'static, Result<Made, BoxError>>;

/// A provider layer: an `async fn` whose arguments are the services it needs and whose result is
/// the service it provides.
///
/// Implemented for every `async fn` (or cloneable closure returning a future) that
/// - takes at most 20 arguments, each a [`Svc<dyn Trait>`](Svc) or a [`Scope`],
/// - returns `Result<Svc<dyn Trait>, E>`, or `Result<(Svc<dyn A>, Svc<dyn B>), E>` where two
///   services share one construction, with `E: Into<BoxError>`,
/// - and whose future is `Send`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "not a layer",
    note = "a layer is an `async fn` with at most 20 arguments, each `Svc<dyn Trait>` or `Scope`, that returns `Result<Svc<dyn Trait>, E>` with `E: Into<BoxError>`",
    note = "each trait must be registered once with `service!(Trait)`",
    note = "the future must be `Send`: no `Rc` and no lock guard may be held over an `.await`"
)]
pub trait Layer<Arguments>: Clone + Send + Sync + 'static {
    /// The needed service of each argument; `None` where the argument is no service.
    #[doc(hidden)]
    const NEEDS: &'static [Option<ServiceId>];

    /// The services it provides.
    #[doc(hidden)]
    const GIVES: &'static [ServiceId];

    /// Takes the arguments from what has been built and runs the function on them.
    #[doc(hidden)]
    fn construct(&self, inputs: Inputs<'_>) -> Construction;
}

/// What may stand in a layer's argument list: [`Svc<dyn Trait>`](Svc) or [`Scope`].
pub trait Argument: Sized + Send + 'static {
    /// The service that has to be built first, if any.
    #[doc(hidden)]
    const NEED: Option<ServiceId>;

    /// The argument's value.
    #[doc(hidden)]
    fn take(inputs: Inputs<'_>) -> Self;
}

/// What a layer may provide: [`Svc<dyn Trait>`](Svc), or a tuple of up to four of them.
pub trait Provision: Sized + Send + 'static {
    /// The services it consists of.
    #[doc(hidden)]
    const SERVICES: &'static [ServiceId];

    /// Erases the types.
    #[doc(hidden)]
    fn into_made(self) -> Made;

    /// Finds the services among those that were built.
    #[doc(hidden)]
    fn find(built: &Built) -> Option<Self>;
}

/// What [`Layers::build`](super::Layers::build) may be asked for: [`Svc<dyn Trait>`](Svc), or a tuple of up to
/// four of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked of `build`",
    label = "not a handle to a service",
    note = "ask for the handle: `build::<Svc<dyn Trait>>()`, for example `build::<Svc<dyn ReflectionService>>()`; for several: `build::<(Svc<dyn A>, Svc<dyn B>)>()`",
    note = "each trait must be registered once with `service!(Trait)`"
)]
pub trait Root {
    /// What is built.
    #[doc(hidden)]
    type Provision: Provision;
}

impl<S: Service + ?Sized> Root for Svc<S> {
    type Provision = Self;
}

/// Where a layer's arguments come from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub(super) built: &'a Built,
    pub(super) slot: usize,
}

impl<S: Service + ?Sized> Argument for Svc<S> {
    const NEED: Option<ServiceId> = Some(S::ID);

    fn take(inputs: Inputs<'_>) -> Self {
        let service = inputs.built.service::<S>();
        service.expect("the plan starts a layer only after all it needs was built")
    }
}

impl Argument for Scope {
    const NEED: Option<ServiceId> = None;

    fn take(inputs: Inputs<'_>) -> Self {
        inputs.built.scope(inputs.slot)
    }
}

impl<S: Service + ?Sized> Provision for Svc<S> {
    const SERVICES: &'static [ServiceId] = &[S::ID];

    fn into_made(self) -> Made {
        vec![(S::ID, Box::new(self))]
    }

    fn find(built: &Built) -> Option<Self> {
        built.service::<S>()
    }
}

/// Implements [`Provision`] and [`Root`] for several services at once.
macro_rules! provision_of_services {
    ($($service:ident)*) => {
        impl<$($service: Service + ?Sized),*> Root for ($(Svc<$service>,)*) {
            type Provision = Self;
        }

        impl<$($service: Service + ?Sized),*> Provision for ($(Svc<$service>,)*) {
            const SERVICES: &'static [ServiceId] = &[$($service::ID),*];

            #[allow(non_snake_case)] // one variable a type
            fn into_made(self) -> Made {
                let ($($service,)*) = self;
                vec![$(($service::ID, Box::new($service))),*]
            }

            fn find(built: &Built) -> Option<Self> {
                Some(($(built.service::<$service>()?,)*))
            }
        }
    };
}

provision_of_services!(A B);
provision_of_services!(A B C);
provision_of_services!(A B C D);

/// Implements [`Layer`] for functions of the given number of arguments.
macro_rules! layer_of_arguments {
    ($($argument:ident)*) => {
        impl<Function, Run, Given, Failure, $($argument: Argument),*> Layer<($($argument,)*)> for Function
        where
            Function: Fn($($argument),*) -> Run + Clone + Send + Sync + 'static,
            Run: Future<Output = Result<Given, Failure>> + Send + 'static,
            Given: Provision,
            Failure: Into<BoxError>,
        {
            const NEEDS: &'static [Option<ServiceId>] = &[$($argument::NEED),*];
            const GIVES: &'static [ServiceId] = Given::SERVICES;

            #[allow(non_snake_case, unused_variables)] // one variable a type; none without arguments
            fn construct(&self, inputs: Inputs<'_>) -> Construction {
                let function = self.clone();
                $(let $argument = $argument::take(inputs);)*
                // The call itself is inside, too: a closure may panic before its first future.
                Box::pin(async move {
                    let given = function($($argument),*).await.map_err(Into::into)?;
                    Ok(given.into_made())
                })
            }
        }
    };
}

layer_of_arguments!();
layer_of_arguments!(A1);
layer_of_arguments!(A1 A2);
layer_of_arguments!(A1 A2 A3);
layer_of_arguments!(A1 A2 A3 A4);
layer_of_arguments!(A1 A2 A3 A4 A5);
layer_of_arguments!(A1 A2 A3 A4 A5 A6);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19);
layer_of_arguments!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20);

/// A layer whose argument types are erased.
pub trait Construct: Send + Sync {
    /// See [`Layer::construct`].
    fn construct(&self, inputs: Inputs<'_>) -> Construction;
}

/// A layer together with its argument types, ready to be erased.
pub struct Typed<L, Arguments>(pub L, pub PhantomData<fn(Arguments)>);

impl<L: Layer<Arguments>, Arguments: 'static> Construct for Typed<L, Arguments> {
    fn construct(&self, inputs: Inputs<'_>) -> Construction {
        self.0.construct(inputs)
    }
}

/// One line of a `layers!` list, known while compiling.
#[derive(Clone, Copy)]
pub struct Provider {
    pub(super) name: &'static str,
    pub(super) needs: &'static [Option<ServiceId>],
    pub(super) gives: &'static [ServiceId],
    pub(super) layer: &'static dyn Construct,
}

/// What `layers!` makes of one of its lines.
pub const fn provider<L: Layer<Arguments>, Arguments: 'static>(
    name: &'static str,
    layer: &'static Typed<L, Arguments>,
) -> Provider {
    Provider { name, needs: L::NEEDS, gives: L::GIVES, layer }
}
