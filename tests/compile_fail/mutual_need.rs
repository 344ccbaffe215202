use reflexion::layer::{BoxError, Layers, Svc};
use reflexion::{layers, service};

trait Config: Send + Sync {}
trait Storage: Send + Sync {}
trait Generator: Send + Sync {}
trait Reflection: Send + Sync {}
service!(Config, Storage, Generator, Reflection);

async fn config(_: Svc<dyn Generator>) -> Result<Svc<dyn Config>, BoxError> {
    Err("not reached".into())
}
async fn storage(_: Svc<dyn Config>) -> Result<Svc<dyn Storage>, BoxError> {
    Err("not reached".into())
}
async fn generator(_: Svc<dyn Storage>) -> Result<Svc<dyn Generator>, BoxError> {
    Err("not reached".into())
}
// Not part of the cycle, and not named.
async fn reflection(_: Svc<dyn Generator>) -> Result<Svc<dyn Reflection>, BoxError> {
    Err("not reached".into())
}

fn live() -> Layers {
    layers![reflection, config, storage, generator]
}

fn main() {
    live();
}
