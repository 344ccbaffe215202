//! Provider layers: dependency injection without a framework, in the style of Effect's `Layer`.
//!
//! A *service* is a trait object behind a [`Svc`] handle. A *provider layer* is an `async fn`: its
//! arguments are the services it needs, its result is the service it provides.
//! [`layers!`](crate::layers) puts layers together in any order and checks the graph while
//! compiling: a service that nothing provides, one with two providers, and layers that need each
//! other are compile errors that name the layer and the service. [`Layers::build`] then runs what
//! the asked-for root needs and nothing else, each layer once and independent ones at the same
//! time; [`App::shutdown`] releases it all in reverse order. A test swaps one service in one line.
//!
//! ```
//! use reflexion_layer::layer::{BoxError, Layers, Scope, Svc};
//! use reflexion_layer::{layers, service};
//! use std::convert::Infallible;
//!
//! // The ports: ordinary traits, registered once.
//! trait Settings: Send + Sync {
//!     fn greeting(&self) -> String;
//! }
//! trait Greeter: Send + Sync {
//!     fn greet(&self, name: &str) -> String;
//! }
//! service!(Settings, Greeter);
//!
//! // What stands behind them.
//! struct Fixed(&'static str);
//! impl Settings for Fixed {
//!     fn greeting(&self) -> String {
//!         self.0.into()
//!     }
//! }
//! struct Polite(Svc<dyn Settings>);
//! impl Greeter for Polite {
//!     fn greet(&self, name: &str) -> String {
//!         format!("{}, {name}", self.0.greeting())
//!     }
//! }
//!
//! // The layers: arguments are what a layer needs, the result is what it provides.
//! async fn settings() -> Result<Svc<dyn Settings>, Infallible> {
//!     Ok(Svc::new(Fixed("hello")))
//! }
//! async fn greeter(settings: Svc<dyn Settings>, scope: Scope) -> Result<Svc<dyn Greeter>, BoxError> {
//!     scope.on_release(|| async { println!("goodbye") });
//!     Ok(Svc::new(Polite(settings)))
//! }
//!
//! // The composition: in any order, checked while compiling.
//! fn live() -> Layers {
//!     layers![root: dyn Greeter; greeter, settings]
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), BoxError> {
//! let app = live().build::<Svc<dyn Greeter>>().await?;
//! assert_eq!(app.greet("Ada"), "hello, Ada");
//! app.shutdown().await?;
//!
//! // A test: one line swaps one service.
//! let app = live().with(Svc::<dyn Settings>::new(Fixed("hi"))).build::<Svc<dyn Greeter>>().await?;
//! assert_eq!(app.greet("Ada"), "hi, Ada");
//! app.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Not `tower::Layer`
//!
//! A `tower::Layer` decorates one `tower::Service`: timeouts and retries around a call. A provider
//! layer builds a service from others and knows how to release it. They meet where a provider
//! layer builds a service out of a tower stack; the decorator of this module is [`Layers::wrap`].
//!
//! # Limits
//!
//! - What [`Layers::with_layer`] adds, and a root not named in `root:`, are checked when building,
//!   before any layer is started, and not while compiling.
//! - A line of `layers!` is a path to a function without captured values, and cannot use generic
//!   parameters of the function around it. Settings come from a service; closures go through
//!   [`Layers::with_layer`].
//! - Of a function that is not a layer the compiler says so and names it, but not which argument,
//!   result or value held over an `.await` is the reason.
//! - A service has one provider. Several values of a kind are a service that holds them.
//! - Services are never optional. What can be switched off is provided by a layer that does nothing.
//! - Layers are constructed concurrently on the task of the caller, not on several threads; one
//!   that computes for long should `spawn_blocking`.
//! - An [`App`] dropped without [`shutdown`](App::shutdown), or a dropped `build`, cannot run
//!   asynchronous finalizers: a warning names the layers.
//! - Inside, the type of a service is erased and recovered by a downcast; users never see it.

mod app;
mod build;
mod built;
mod caught;
mod check;
mod describe;
mod list;
mod plan;
mod provider;
mod scope;
mod service;

#[cfg(test)]
mod fixture;

pub use app::{App, ShutdownError};
pub use build::BuildError;
pub use built::ReleaseFailure;
pub use caught::panic_text;
pub use list::Layers;
pub use plan::{GraphError, Link};
pub use provider::{Argument, Layer, Provision, Root};
pub use scope::{Released, Scope};
pub use service::{Handle, ImplementedBy, Service, ServiceId, Svc};

/// Any error a layer or a finalizer may end in.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What [`layers!`](crate::layers) expands to; not for use by hand.
#[doc(hidden)]
pub mod expansion {
    pub use super::check::check;
    pub use super::list::assemble;
    pub use super::provider::{Provider, Typed, provider};
}
