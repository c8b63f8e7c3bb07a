//! A client of rmcp. It reads the same lines from stdin, and writes the same lines to stdout, as client.py of the Python peers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{ClientCacheConfig, NotificationContext, RequestContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Notify;

use crate::make;
use crate::talks::Talks;

/// Why a conversation failed.
pub enum Wrong {
    Said(String),   // the peer's response is wrong
    Broken(String), // the connection can no longer be used
}

/// What a client received, each kind in the order of arrival.
#[derive(Default)]
pub struct Heard {
    pub logs: Mutex<Vec<Value>>,
    pub asked: Mutex<Vec<Value>>,
    pub progress: Mutex<Vec<Value>>,
    pub notes: Mutex<Vec<String>>, // the URI of an updated resource, or "tools" if the list changed
    news: Notify,
}

impl Heard {
    pub fn add<T>(&self, to: &Mutex<Vec<T>>, what: T) {
        to.lock().unwrap().push(what);
        self.news.notify_waiters();
    }

    pub async fn until(&self, truth: impl Fn() -> bool) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if truth() {
                return;
            }
            news.await;
        }
    }
}

pub struct Handler {
    pub heard: Arc<Heard>,
    deaf: bool,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let able = if self.deaf { json!({}) } else { json!({"elicitation": {}, "sampling": {}, "roots": {}}) };
        make(json!({"protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": {"name": "rust client", "version": "1"}}))
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        if self.deaf {
            return Err(ErrorData::new(ErrorCode(-32601), "not declared", None));
        }
        self.heard.add(&self.heard.asked, json!({"elicit": request}));
        Ok(make(json!({"action": "accept", "content": {"colour": "grün <&>"}})))
    }

    async fn create_message(&self, request: CreateMessageRequestParams, _: RequestContext<RoleClient>) -> Result<CreateMessageResult, ErrorData> {
        self.heard.add(&self.heard.asked, json!({"sample": request}));
        Ok(make(json!({"role": "assistant", "model": "mödel", "stopReason": "endTurn", "content": {"type": "text", "text": "thought <&>"}})))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(make(json!({"roots": [{"uri": "file:///one%20place", "name": "one"}, {"uri": "file:///two"}]})))
    }

    async fn on_progress(&self, note: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.add(&self.heard.progress, json!(note));
    }

    async fn on_logging_message(&self, line: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.add(&self.heard.logs, json!(line));
    }

    async fn on_resource_updated(&self, note: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.add(&self.heard.notes, note.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.add(&self.heard.notes, "tools".into());
    }
}

pub type Client = RunningService<RoleClient, Handler>;

/// Connects to {"url"} or {"command", "args"}. A deaf client declares no capabilities.
pub async fn connect(task: &Value, deaf: bool) -> Result<Client, Wrong> {
    let handler = Handler { heard: Default::default(), deaf };
    let modern = vec![make::<ProtocolVersion>(json!("2026-07-28"))];
    let lifecycle = match task["mode"].as_str() {
        Some("auto") => ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: Some(make(json!("2025-11-25"))) },
        _ => ClientLifecycleMode::Initialize,
    };
    let to = &task["to"];
    let client = match to["command"].as_str() {
        Some(program) => {
            let mut command = tokio::process::Command::new(program);
            command.args(to["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
            let child = TokioChildProcess::new(command).map_err(|e| Wrong::Broken(e.to_string()))?;
            handler.serve_with_lifecycle(child, lifecycle).await
        }
        None => handler.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(to["url"].as_str().unwrap_or("")), lifecycle).await,
    };
    let client = client.map_err(|e| Wrong::Broken(format!("cannot connect: {e}")))?;
    client.set_response_cache_config(ClientCacheConfig::disabled()).await;
    Ok(client)
}

/// Returns the result, or the error as {"error"}.
pub fn outcome<T: serde::Serialize>(result: Result<T, ServiceError>) -> Result<Value, Wrong> {
    match result {
        Ok(value) => Ok(json!(value)),
        Err(ServiceError::McpError(error)) => Ok(json!({"error": error})),
        Err(e) => Err(Wrong::Broken(e.to_string())),
    }
}

/// Runs all conversations over one connection. If a conversation breaks the connection or times out, the next one gets a new connection.
async fn converse(task: &Value) -> Value {
    let mut done = Map::new();
    let mut left: Vec<&str> = task["talks"].as_array().into_iter().flatten().filter_map(Value::as_str).rev().collect();
    let mut failed = 0;
    while !left.is_empty() {
        let client = match connect(task, false).await {
            Ok(client) => client,
            Err(Wrong::Broken(why) | Wrong::Said(why)) => {
                failed += 1;
                if failed == 3 {
                    done.extend(left.drain(..).map(|name| (name.to_owned(), json!({"saw": null, "wrong": why}))));
                }
                continue;
            }
        };
        while let Some(name) = left.pop() {
            let (told, good) = one(task, &client, name).await;
            done.insert(name.to_owned(), told);
            if !good {
                break;
            }
        }
        let _ = tokio::time::timeout(Duration::from_secs(5), client.cancel()).await;
    }
    Value::Object(done)
}

/// Runs one conversation and returns whether the connection can still be used.
async fn one(task: &Value, client: &Client, name: &str) -> (Value, bool) {
    let limited = task["limited"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let limit = Duration::from_millis(if limited { 1500 } else { 300_000 });
    let mut talks = Talks::new(client, task);
    let result = tokio::time::timeout(limit, talks.hold(name)).await;
    let (wrong, good) = match result {
        Ok(Ok(())) => (String::new(), true),
        Ok(Err(Wrong::Said(why))) => (why, true),
        Ok(Err(Wrong::Broken(why))) => (why, false),
        Err(_) => (format!("nothing for {limit:?}; {}", talks.saw), false),
    };
    (json!({"saw": talks.saw, "wrong": wrong.chars().take(800).collect::<String>()}), good)
}

pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let task: Value = serde_json::from_str(&line)?;
        let mut done = converse(&task).await.to_string();
        let (uris, prefix) = (task["uris"].as_str().unwrap_or(""), task["prefix"].as_str().unwrap_or(""));
        if !uris.is_empty() {
            done = done.replace(uris, "");
        }
        if !prefix.is_empty() {
            done = done.replace(&format!("\"{prefix}"), "\"");
        }
        println!("{{\"talks\":{done}}}");
    }
    Ok(())
}
