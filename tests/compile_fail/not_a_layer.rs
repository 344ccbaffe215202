use reflexion::layer::{Layers, Svc};
use reflexion::{layers, service};
use std::fmt::Error; // a short name, to keep the messages short

trait Storage: Send + Sync {}
trait Unregistered: Send + Sync {}
service!(Storage);

async fn takes_a_number(_: u32) -> Result<Svc<dyn Storage>, Error> {
    Err(Error)
}
fn is_not_async() -> Result<Svc<dyn Storage>, Error> {
    Err(Error)
}
async fn returns_no_result() -> Svc<dyn Storage> {
    unreachable!()
}
async fn provides_no_service(_: Svc<dyn Storage>) -> Result<Svc<dyn Unregistered>, Error> {
    Err(Error)
}
async fn is_not_send() -> Result<Svc<dyn Storage>, Error> {
    let stays_here = std::rc::Rc::new(());
    std::future::ready(()).await;
    drop(stays_here);
    Err(Error)
}

fn argument() -> Layers {
    layers![takes_a_number]
}
fn future() -> Layers {
    layers![is_not_async]
}
fn result() -> Layers {
    layers![returns_no_result]
}
fn registered() -> Layers {
    layers![provides_no_service]
}
fn send() -> Layers {
    layers![is_not_send]
}

fn main() {
    argument();
    future();
    result();
    registered();
    send();
}
