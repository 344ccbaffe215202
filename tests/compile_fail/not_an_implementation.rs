use reflexion::layer::Svc;
use reflexion::service;

trait Storage: Send + Sync {}
service!(Storage);

struct NoStorage;

fn main() {
    let _ = Svc::<dyn Storage>::new(NoStorage);
}
