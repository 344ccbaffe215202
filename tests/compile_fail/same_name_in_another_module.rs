use reflexion::layer::{BoxError, Layers, Svc};
use reflexion::{layers, service};

mod ours {
    pub trait Storage: Send + Sync {}
}
mod theirs {
    pub trait Storage: Send + Sync {}
}
trait Reflection: Send + Sync {}
service!(ours::Storage, theirs::Storage, Reflection);

async fn storage() -> Result<Svc<dyn theirs::Storage>, BoxError> {
    Err("not reached".into())
}
async fn reflection(_: Svc<dyn ours::Storage>) -> Result<Svc<dyn Reflection>, BoxError> {
    Err("not reached".into())
}

fn live() -> Layers {
    layers![reflection, storage]
}

fn main() {
    live();
}
