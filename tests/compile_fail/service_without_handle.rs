use reflexion::layer::BoxError;
use reflexion::runtime;
use reflexion::services::ReflectionService;

struct MyStore;

async fn asks_for_the_trait() -> Result<(), BoxError> {
    let app = runtime::reflection_service_live().build::<dyn ReflectionService>().await?;
    app.shutdown().await?;
    Ok(())
}

fn gives_a_plain_value() {
    let _ = runtime::reflection_service_live().with(MyStore);
}

fn main() {
    let _ = asks_for_the_trait();
    gives_a_plain_value();
}
