use reflexion::layer::{BoxError, Layers, Svc};
use reflexion::{layers, service};

trait Storage: Send + Sync {}
trait Generator: Send + Sync {}
trait Reflection: Send + Sync {}
service!(Storage, Generator, Reflection);

async fn generator() -> Result<Svc<dyn Generator>, BoxError> {
    Err("not reached".into())
}
async fn reflection(
    _: Svc<dyn Storage>,
    _: Svc<dyn Generator>,
) -> Result<Svc<dyn Reflection>, BoxError> {
    Err("not reached".into())
}

fn live() -> Layers {
    layers![reflection, generator]
}

fn main() {
    live();
}
