//! The peers of rmcp: `peer client`, `peer stdio`, or `peer HTTP STATELESS` (ports) for a server.
#![allow(deprecated)] // the legacy era's methods

mod client;
mod server;
mod talks;

#[tokio::main(flavor = "current_thread")] // tasks that rmcp spawns for notifications run in the order of arrival
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client"] => client::run().await,
        ["stdio"] => server::stdio().await,
        [http, stateless] => server::listen(http, stateless).await,
        _ => Err("usage: peer client | peer stdio | peer HTTP STATELESS".into()),
    }
}

/// Builds a type of the protocol from its names on the wire.
fn make<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    let text = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|e| panic!("{e}: {text}"))
}
