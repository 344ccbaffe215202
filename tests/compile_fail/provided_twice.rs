use reflexion::layer::{BoxError, Layers, Svc};
use reflexion::{layers, service};

trait Storage: Send + Sync {}
service!(Storage);

async fn jsonl() -> Result<Svc<dyn Storage>, BoxError> {
    Err("not reached".into())
}
mod memory {
    pub async fn in_memory() -> Result<super::Svc<dyn super::Storage>, super::BoxError> {
        Err("not reached".into())
    }
}

fn live() -> Layers {
    layers![jsonl, memory::in_memory]
}

fn main() {
    live();
}
