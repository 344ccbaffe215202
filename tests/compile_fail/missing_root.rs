use reflexion::layer::{BoxError, Layers, Svc};
use reflexion::{layers, service};

trait Config: Send + Sync {}
trait Orchestrator: Send + Sync {}
service!(Config, Orchestrator);

async fn config() -> Result<Svc<dyn Config>, BoxError> {
    Err("not reached".into())
}

fn live() -> Layers {
    layers![root: dyn Orchestrator, dyn Config; config]
}

fn main() {
    live();
}
