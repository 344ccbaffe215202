//! A list of layers, and how to change it before it is built.

use super::BoxError;
use super::plan::GraphError;
use super::provider::{Argument, Construction, Inputs, Layer, Provider};
use super::service::{Handle, Service, ServiceId, Svc};
use std::fmt;
use std::sync::Arc;

/// Composes layers into a [`Layers`] list and checks the graph while compiling.
///
/// Lines are paths of layers in any order, and may carry `#[cfg(…)]`. A service that is needed but
/// not provided, a service with two providers, and layers that need each other are compile errors
/// that name the layer and the service. With `root: dyn Trait;` in front (or several traits,
/// separated by commas) the list must also provide what will be asked of
/// [`build`](Layers::build).
///
/// A line is a path to a function, not an expression: what a layer needs to know comes from a
/// service. Closures with captured values go through [`Layers::with_layer`].
///
/// ```
/// # use reflexion_layer::layer::{BoxError, Layers, Svc};
/// # trait Clock: Send + Sync {}
/// # trait Journal: Send + Sync {}
/// # reflexion_layer::service!(Clock, Journal);
/// # struct It;
/// # impl Clock for It {}
/// # impl Journal for It {}
/// mod disk {
///     use super::{BoxError, Clock, Journal, Svc};
///     # use super::It;
///
///     pub async fn journal(clock: Svc<dyn Clock>) -> Result<Svc<dyn Journal>, BoxError> {
///         # let _ = clock;
///         Ok(Svc::new(It))
///     }
/// }
/// async fn clock() -> Result<Svc<dyn Clock>, BoxError> {
///     Ok(Svc::new(It))
/// }
/// #[cfg(windows)]
/// async fn registry() -> Result<Svc<dyn Journal>, BoxError> {
///     Ok(Svc::new(It))
/// }
///
/// fn live() -> Layers {
///     reflexion_layer::layers![
///         root: dyn Journal;
///         clock,
///         #[cfg(not(windows))]
///         disk::journal,
///         #[cfg(windows)]
///         registry,
///     ]
/// }
/// # fn main() {
/// #     live();
/// # }
/// ```
#[macro_export]
macro_rules! layers {
    (root: $($root:ty),+ ; $($(#[$attribute:meta])* $layer:path),* $(,)?) => {
        $crate::layers!(@list [$($root),+] $($(#[$attribute])* $layer),*)
    };
    (@list [$($root:ty),*] $($(#[$attribute:meta])* $layer:path),*) => {{
        const PROVIDERS: &[$crate::layer::expansion::Provider] = &[$(
            $(#[$attribute])*
            $crate::layer::expansion::provider(
                stringify!($layer),
                &$crate::layer::expansion::Typed($layer, ::core::marker::PhantomData),
            )
        ),*];
        // An item and not an inline `const {}`: only items are evaluated by `cargo check`, too.
        const _: () = $crate::layer::expansion::check(
            PROVIDERS,
            &[$(<$root as $crate::layer::Service>::ID),*],
        );
        $crate::layer::expansion::assemble(PROVIDERS)
    }};
    ($($(#[$attribute:meta])* $layer:path),* $(,)?) => {
        $crate::layers!(@list [] $($(#[$attribute])* $layer),*)
    };
}

/// Layers that fit together, ready to be changed and built; made by [`layers!`](crate::layers).
///
/// A list is a value: cloning is cheap, nothing runs before [`build`](Layers::build), and one list
/// can be built many times. Each change acts on the list as it stands, so later ones win.
#[derive(Clone)]
pub struct Layers {
    pub(super) entries: Vec<Entry>,
    /// The first change that made no sense; `build` reports it, so that changes can be chained.
    pub(super) mistake: Option<GraphError>,
    /// What goes around whatever is given in the place of a service.
    guards: Vec<Guard>,
}

/// See [`Layers::guard`].
#[derive(Clone)]
struct Guard {
    service: ServiceId,
    put_around: Arc<dyn Fn(&mut Entry) + Send + Sync>,
}

/// One layer of the list, its types erased.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) needs: Vec<ServiceId>,
    /// What it is there to provide: less than it makes, where one of its services was replaced.
    pub(super) gives: Vec<ServiceId>,
    /// Services with decorators around them.
    pub(super) wrapped: Vec<ServiceId>,
    pub(super) construct: Constructor,
}

type Constructor = Arc<dyn Fn(Inputs<'_>) -> Construction + Send + Sync>;

/// What `layers!` ends in, after the check.
#[must_use]
pub fn assemble(providers: &'static [Provider]) -> Layers {
    let entries = providers.iter().map(|provider| Entry {
        name: provider.name,
        needs: provider.needs.iter().flatten().copied().collect(),
        gives: provider.gives.to_vec(),
        wrapped: Vec::new(),
        construct: Arc::new(|inputs| provider.layer.construct(inputs)),
    });
    Layers { entries: entries.collect(), mistake: None, guards: Vec::new() }
}

impl Layers {
    /// Swaps in a ready value (your own, a mock, a fake) for one service, or adds the service.
    ///
    /// A value may implement several services, so it says for which one it is given:
    /// `.with(Svc::<dyn Storage>::new(MyStore))`, or as an `Arc<dyn Storage>`. What only the replaced
    /// layer needed is not built any more.
    #[must_use]
    pub fn with<H: Handle>(self, value: H) -> Self {
        let value = value.into_svc();
        self.with_layer("a given value", move || std::future::ready(Ok::<_, BoxError>(value.clone())))
    }

    /// Swaps in another layer for the services it provides, or adds them.
    ///
    /// The layer may be a closure with captured values (they must be `Clone`, since a list can be
    /// built again): `move |clock: Svc<dyn Clock>| { let dir = dir.clone(); async move { … } }`.
    /// It is not known while compiling, so [`build`](Self::build) checks what it needs.
    #[must_use]
    pub fn with_layer<Arguments, L>(mut self, name: &'static str, layer: L) -> Self
    where
        L: Layer<Arguments>,
    {
        for entry in &mut self.entries {
            entry.gives.retain(|service| !L::GIVES.contains(service));
        }
        self.entries.retain(|entry| !entry.gives.is_empty());
        let mut entry = Entry {
            name,
            needs: L::NEEDS.iter().flatten().copied().collect(),
            gives: L::GIVES.to_vec(),
            wrapped: Vec::new(),
            construct: Arc::new(move |inputs| layer.construct(inputs)),
        };
        for guard in self.guards.iter().filter(|guard| L::GIVES.contains(&guard.service)) {
            (guard.put_around)(&mut entry);
        }
        self.entries.push(entry);
        self
    }

    /// Puts a decorator around whatever will be given in the place of the service, by
    /// [`with`](Self::with) or [`with_layer`](Self::with_layer), together with one other service that
    /// it needs (settings, for example).
    ///
    /// This is how a list keeps a promise about services that it does not know: a time limit, or
    /// that a panic is an error. What provides the service now stays as it is, and keeps the promise
    /// itself. Decorators of [`wrap`](Self::wrap) stand outside of it.
    ///
    /// ```
    /// # use reflexion_layer::layer::{BoxError, Svc};
    /// # use std::convert::Infallible;
    /// # trait Limit: Send + Sync { fn most(&self) -> usize; }
    /// # trait Source: Send + Sync { fn lines(&self) -> Vec<String>; }
    /// # reflexion_layer::service!(Limit, Source);
    /// # struct Two;
    /// # impl Limit for Two { fn most(&self) -> usize { 2 } }
    /// # struct Lines(usize);
    /// # impl Source for Lines { fn lines(&self) -> Vec<String> { vec!["a line".into(); self.0] } }
    /// # async fn limit() -> Result<Svc<dyn Limit>, Infallible> { Ok(Svc::new(Two)) }
    /// # async fn source() -> Result<Svc<dyn Source>, Infallible> { Ok(Svc::new(Lines(1))) }
    /// struct Limited(Svc<dyn Source>, Svc<dyn Limit>);
    /// impl Source for Limited {
    ///     fn lines(&self) -> Vec<String> {
    ///         self.0.lines().into_iter().take(self.1.most()).collect()
    ///     }
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), BoxError> {
    /// let layers = reflexion_layer::layers![source, limit]
    ///     .guard::<dyn Source, dyn Limit>(|given, limit| Svc::new(Limited(given, limit)));
    /// // Whoever uses the list brings a source that keeps no limit.
    /// let app = layers.with(Svc::<dyn Source>::new(Lines(100))).build::<Svc<dyn Source>>().await?;
    /// assert_eq!(app.lines().len(), 2);
    /// # app.shutdown().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn guard<S: Service + ?Sized, N: Service + ?Sized>(
        mut self,
        decorate: impl Fn(Svc<S>, Svc<N>) -> Svc<S> + Send + Sync + 'static,
    ) -> Self {
        let decorate = Arc::new(decorate);
        let put_around = move |entry: &mut Entry| {
            if !entry.needs.contains(&N::ID) {
                entry.needs.push(N::ID);
            }
            let (inner, decorate) = (Arc::clone(&entry.construct), Arc::clone(&decorate));
            entry.construct = Arc::new(move |inputs| {
                let (needed, decorate) = (Svc::<N>::take(inputs), Arc::clone(&decorate));
                decorated(inner(inputs), move |service| decorate(service, needed.clone()))
            });
        };
        self.guards.push(Guard { service: S::ID, put_around: Arc::new(put_around) });
        self
    }

    /// Puts a decorator (a policy, tracing, a recorder) around whatever provides the service now.
    ///
    /// Decorators nest: the last one is the outermost. Wrapping a service that the list does not
    /// provide is a mistake that [`build`](Self::build) reports.
    #[must_use]
    pub fn wrap<S: Service + ?Sized>(mut self, decorate: impl Fn(Svc<S>) -> Svc<S> + Send + Sync + 'static) -> Self {
        let provider = self.entries.iter_mut().find(|entry| entry.gives.contains(&S::ID));
        if let Some(entry) = provider {
            entry.wrap(Arc::new(decorate));
        } else {
            let service = S::ID.name();
            self.mistake.get_or_insert(GraphError::NothingToWrap { service });
        }
        self
    }
}

impl Entry {
    fn wrap<S: Service + ?Sized>(&mut self, decorate: Arc<dyn Fn(Svc<S>) -> Svc<S> + Send + Sync>) {
        let inner = Arc::clone(&self.construct);
        self.wrapped.push(S::ID);
        self.construct = Arc::new(move |inputs| {
            let decorate = Arc::clone(&decorate);
            decorated(inner(inputs), move |service| decorate(service))
        });
    }
}

/// The same construction with a decorator around one of the services that it makes.
fn decorated<S: Service + ?Sized>(
    construction: Construction,
    decorate: impl Fn(Svc<S>) -> Svc<S> + Send + 'static,
) -> Construction {
    Box::pin(async move {
        let mut made = construction.await?;
        for (_, service) in &mut made {
            if let Some(service) = service.downcast_mut::<Svc<S>>() {
                *service = decorate(service.clone());
            }
        }
        Ok(made)
    })
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|entry| entry.name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::fixture::{Config, Events, Generator, Metrics, MockStorage, Reflection, Storage, noting, text};
    use std::convert::Infallible;

    async fn check_text(layers: Layers, expected: &str) {
        let app = layers.build::<Svc<dyn Reflection>>().await.unwrap();
        assert_eq!(app.text(), expected);
        app.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn a_mock_takes_the_place_of_one_service() {
        let mut storage = MockStorage::new();
        storage.expect_text().times(1).return_const("mock".to_owned());
        let events = Events::default();
        let layers = noting(&events).with(Svc::<dyn Storage>::new(storage));
        check_text(layers, "mock generator(config)").await;
        assert!(!events.take().contains(&"build storage".to_owned()));
    }

    #[tokio::test]
    async fn a_list_can_be_built_again() {
        let layers = noting(&Events::default()).with::<Svc<dyn Storage>>(text("given"));
        check_text(layers.clone(), "given generator(config)").await;
        check_text(layers, "given generator(config)").await;
    }

    #[tokio::test]
    async fn another_layer_brings_its_own_needs() {
        let layers = noting(&Events::default()).with_layer("storage_s3", async |generator: Svc<dyn Generator>| {
            Ok::<Svc<dyn Storage>, BoxError>(text(format!("s3({})", generator.text())))
        });
        check_text(layers, "s3(generator(config)) generator(config)").await;
    }

    #[tokio::test]
    async fn replacing_one_of_a_pair_leaves_the_other() {
        async fn both() -> Result<(Svc<dyn Storage>, Svc<dyn Generator>), Infallible> {
            Ok((text("left"), text("right")))
        }
        async fn reflection(
            storage: Svc<dyn Storage>,
            generator: Svc<dyn Generator>,
        ) -> Result<Svc<dyn Reflection>, Infallible> {
            Ok(text(format!("{} {}", storage.text(), generator.text())))
        }
        let layers = crate::layers![both, reflection];
        check_text(layers.clone().with::<Svc<dyn Generator>>(text("given")), "left given").await;
        check_text(layers.with::<Svc<dyn Storage>>(text("given")), "given right").await;
    }

    #[tokio::test]
    async fn decorators_nest_and_the_last_is_outermost() {
        let layers = noting(&Events::default())
            .wrap::<dyn Generator>(|inner| text(format!("first({})", inner.text())))
            .wrap::<dyn Generator>(|inner| text(format!("second({})", inner.text())))
            .wrap::<dyn Generator>(|inner| text(inner.text().to_uppercase()));
        check_text(layers, "storage(config) SECOND(FIRST(GENERATOR(CONFIG)))").await;
    }

    #[tokio::test]
    async fn a_change_acts_on_the_list_as_it_stands() {
        let layers = noting(&Events::default());
        let loud = |inner: Svc<dyn Generator>| text(inner.text().to_uppercase());
        let wrapped_last = layers.clone().with::<Svc<dyn Generator>>(text("g")).wrap(loud);
        check_text(wrapped_last, "storage(config) G").await;
        let given_last = layers.wrap(loud).with::<Svc<dyn Generator>>(text("g"));
        check_text(given_last, "storage(config) g").await;
    }

    #[tokio::test]
    async fn a_guard_stands_around_what_is_given_and_within_what_is_wrapped() {
        let guarded = noting(&Events::default()).guard::<dyn Generator, dyn Config>(|given, config| {
            text(format!("guarded({} by {})", given.text(), config.text()))
        });
        check_text(guarded.clone(), "storage(config) generator(config)").await;
        let loud = |inner: Svc<dyn Generator>| text(inner.text().to_uppercase());
        let given = guarded.clone().with::<Svc<dyn Generator>>(text("mine"));
        check_text(given.clone(), "storage(config) guarded(mine by config)").await;
        check_text(given.wrap(loud), "storage(config) GUARDED(MINE BY CONFIG)").await;
        let by_layer = guarded.with_layer("mine", async |storage: Svc<dyn Storage>| {
            Ok::<Svc<dyn Generator>, BoxError>(text(format!("on {}", storage.text())))
        });
        check_text(by_layer, "storage(config) guarded(on storage(config) by config)").await;
    }

    #[tokio::test]
    async fn a_shared_pointer_is_given_like_a_handle() {
        let storage = text::<dyn Storage>("shared").into_arc();
        check_text(noting(&Events::default()).with(storage), "shared generator(config)").await;
    }

    #[tokio::test]
    async fn wrapping_what_nobody_provides_is_a_mistake() {
        let layers = noting(&Events::default()).wrap::<dyn Metrics>(|inner| inner);
        let error = layers.build::<Svc<dyn Config>>().await.unwrap_err();
        assert_eq!(error.to_string(), "`wrap` found no layer that provides `Metrics`");
    }

    #[tokio::test]
    async fn traits_of_the_same_name_do_not_meet() {
        mod other {
            pub trait Storage: Send + Sync {
                fn answer(&self) -> u8;
            }
            crate::service!(Storage);
            impl Storage for u8 {
                fn answer(&self) -> u8 {
                    *self
                }
            }
            pub async fn storage() -> Result<super::Svc<dyn Storage>, std::convert::Infallible> {
                Ok(super::Svc::new(7))
            }
        }
        async fn storage() -> Result<Svc<dyn Storage>, Infallible> {
            Ok(text("ours"))
        }
        let layers = crate::layers![root: dyn Storage, dyn other::Storage; storage, other::storage];
        let app = layers.build::<(Svc<dyn Storage>, Svc<dyn other::Storage>)>().await.unwrap();
        assert_eq!((app.0.text().as_str(), app.1.answer()), ("ours", 7));
    }

    #[tokio::test]
    async fn a_line_may_depend_on_the_configuration() {
        async fn here() -> Result<Svc<dyn Storage>, Infallible> {
            Ok(text("here"))
        }
        let layers = crate::layers![
            root: dyn Storage;
            #[cfg(any())]
            nowhere,
            #[cfg(all())]
            here,
        ];
        let app = layers.build::<Svc<dyn Storage>>().await.unwrap();
        assert_eq!(app.text(), "here");
        assert_eq!(format!("{layers:?}"), "[\"here\"]");
    }
}
