//! A server of rmcp with the tools of server.py. Calls with the same key share state, as many clients share the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::make;

type Answer = Result<CallToolResponse, ErrorData>;

/// A change that listeners are notified of.
#[derive(Clone)]
enum Change {
    Tools,
    Updated(String),
}

/// The state that all connections share.
struct World {
    grown: Mutex<BTreeSet<String>>,
    ended: Mutex<HashMap<String, u64>>, // number of cancelled calls of wait, by key
    changes: broadcast::Sender<Change>,
}

#[derive(Clone)]
struct Server {
    world: Arc<World>,
    subscribed: Arc<Mutex<BTreeSet<String>>>, // subscribed URIs of a legacy connection
    accepted: Arc<Mutex<Vec<broadcast::Receiver<Change>>>>, // receivers for streams that rmcp acknowledges before it calls listen
}

impl Server {
    fn new(world: &Arc<World>) -> Self {
        Server { world: world.clone(), subscribed: Default::default(), accepted: Default::default() }
    }
}

fn world() -> Arc<World> {
    Arc::new(World { grown: Default::default(), ended: Default::default(), changes: broadcast::channel(64).0 })
}

pub async fn stdio() -> Result<(), Box<dyn std::error::Error>> {
    let running = Server::new(&world()).serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}

pub async fn listen(http: &str, stateless: &str) -> Result<(), Box<dyn std::error::Error>> {
    for (port, sessions) in [(http, true), (stateless, false)] {
        let world = world();
        let service: StreamableHttpService<Server, LocalSessionManager> = StreamableHttpService::new(
            move || Ok(Server::new(&world)),
            Default::default(),
            StreamableHttpServerConfig::default().with_legacy_session_mode(sessions),
        );
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        let router = axum::Router::new().nest_service("/mcp", service);
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    std::future::pending().await
}

fn failure(code: i32, message: impl Into<String>) -> ErrorData {
    ErrorData::new(ErrorCode(code), message.into(), None)
}

fn say(text: impl Into<String>) -> Answer {
    Ok(make::<CallToolResult>(json!({"content": [{"type": "text", "text": text.into()}]})).into())
}

fn broken(e: impl std::fmt::Display) -> ErrorData {
    failure(-32603, e.to_string())
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties, "required": required}})
    };
    let (key, name) = (json!({"key": {"type": "string"}}), json!({"name": {"type": "string"}}));
    json!([
        tool("odd", "Returns its argument.", json!({"value": {}}), json!(["value"])),
        tool("add", "Adds.", json!({"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}}), json!(["a"])),
        tool("fail", "Fails.", json!({"text": {"type": "string"}}), json!(["text"])),
        tool("mixed", "Returns a content block of each type.", json!({}), json!([])),
        tool("steps", "Reports its progress.", json!({"n": {"type": "integer"}}), json!(["n"])),
        tool("speak", "Writes log lines.", key.clone(), json!(["key"])),
        tool("wait", "Ends when its call is cancelled.", key.clone(), json!(["key"])),
        tool("cancelled", "Returns how many calls of wait were cancelled.", key.clone(), json!(["key"])),
        tool("elicit", "Sends elicitation/create.", key.clone(), json!(["key"])),
        tool("think", "Sends sampling/createMessage.", key.clone(), json!(["key"])),
        tool("places", "Sends roots/list.", json!({}), json!([])),
        tool("either", "Asks for input in the way of the era.", key.clone(), json!(["key"])),
        tool("grow", "Adds a tool.", name.clone(), json!(["name"])),
        tool("shrink", "Removes a tool.", name, json!(["name"])),
        tool("link", "Links to a resource that is not listed.", key, json!(["key"])),
        tool("touch", "Reports that a resource was updated.", json!({"uri": {"type": "string"}}), json!(["uri"])),
    ])
}

/// The params of an elicitation.
fn form(key: &str) -> Value {
    json!({"mode": "form", "message": format!("Which colour, {key}?"), "requestedSchema": {
        "type": "object", "properties": {"colour": {"type": "string", "description": "wörd <&> \u{2028}"}}, "required": ["colour"]}})
}

/// The text for the answer to an elicitation.
fn answered(result: &Value) -> Answer {
    say(format!("{} {{'colour': '{}'}}", result["action"].as_str().unwrap_or(""), result["content"]["colour"].as_str().unwrap_or("")))
}

impl Server {
    async fn plain_tool(&self, request: &CallToolRequestParams, given: &Value, context: &RequestContext<RoleServer>) -> Answer {
        let text = |name: &str| given[name].as_str().unwrap_or("").to_owned();
        match request.name.as_ref() {
            "odd" => {
                let value = json!({"value": given["value"]});
                Ok(make::<CallToolResult>(json!({"structuredContent": value, "content": [{"type": "text", "text": value.to_string()}]})).into())
            }
            "add" => {
                let a = given["a"].as_i64().ok_or_else(|| failure(-32602, "a must be an integer"))?;
                say((a + given["b"].as_i64().unwrap_or(2)).to_string())
            }
            "fail" => Ok(make::<CallToolResult>(json!({"isError": true, "content": [{"type": "text", "text": text("text")}]})).into()),
            "mixed" => Ok(make::<CallToolResult>(json!({"content": [
                {"type": "text", "text": "a <b> & \u{2028} ü", "annotations": {"audience": ["user"], "priority": 0.5}},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "note://embedded", "text": "in it", "mimeType": "text/plain"}},
                {"type": "resource_link", "uri": "note://plain", "name": "plain"}]}))
            .into()),
            "steps" => {
                let n = given["n"].as_i64().unwrap_or(0);
                for i in 1..=n {
                    progress(context, i as f64, n as f64, format!("step {i}")).await?;
                }
                say(format!("{n} steps"))
            }
            "speak" => {
                for level in ["debug", "info", "warning", "error"] {
                    let line = json!({"level": level, "logger": "rust", "data": format!("{level} {}", text("key"))});
                    context.peer.notify_logging_message(make(line)).await.map_err(broken)?;
                }
                say("said")
            }
            "wait" => {
                progress(context, 1.0, 2.0, "waiting".into()).await?;
                tokio::select! {
                    () = context.ct.cancelled() => *self.world.ended.lock().unwrap().entry(text("key")).or_default() += 1,
                    () = tokio::time::sleep(Duration::from_secs(600)) => (),
                }
                say("ended")
            }
            "cancelled" => say(self.world.ended.lock().unwrap().get(&text("key")).unwrap_or(&0).to_string()),
            "grow" => {
                self.world.grown.lock().unwrap().insert(text("name"));
                let _ = self.world.changes.send(Change::Tools);
                say("added")
            }
            "shrink" => {
                self.world.grown.lock().unwrap().remove(&text("name"));
                let _ = self.world.changes.send(Change::Tools);
                say("removed")
            }
            "link" => {
                let link = json!({"type": "resource_link", "uri": format!("hidden://{}", text("key")), "name": "hidden", "mimeType": "text/plain"});
                Ok(make::<CallToolResult>(json!({"content": [link]})).into())
            }
            "touch" => {
                let _ = self.world.changes.send(Change::Updated(text("uri")));
                say("touched")
            }
            name if self.world.grown.lock().unwrap().contains(name) => say("new"),
            name => Err(failure(-32602, format!("unknown tool: {name}"))),
        }
    }

    async fn elicit(&self, key: &str, context: &RequestContext<RoleServer>) -> Answer {
        let result = context.peer.create_elicitation(make(form(key))).await.map_err(broken)?;
        answered(&json!(result))
    }

    /// Requests input with input_required in the modern era, and with an elicitation request in the legacy era.
    async fn either(&self, request: &CallToolRequestParams, key: &str, context: &RequestContext<RoleServer>) -> Answer {
        if context.protocol_version().is_none_or(|version| version.as_str() < "2026") {
            return self.elicit(key, context).await;
        }
        if let Some(responses) = &request.input_responses {
            return answered(&responses["colour"]);
        }
        Ok(make::<InputRequiredResult>(json!({"resultType": "input_required", "requestState": format!("state {key}"),
            "inputRequests": {"colour": {"method": "elicitation/create", "params": form(key)}}}))
        .into())
    }
}

async fn progress(context: &RequestContext<RoleServer>, n: f64, total: f64, message: String) -> Result<(), ErrorData> {
    match context.meta.get_progress_token() {
        Some(token) => {
            let note = json!({"progressToken": token, "progress": n, "total": total, "message": message});
            context.peer.notify_progress(make(note)).await.map_err(broken)
        }
        None => Ok(()),
    }
}

fn contents(uri: &str, kind: &str, member: &str, value: String) -> Result<ReadResourceResponse, ErrorData> {
    let mut one = json!({"uri": uri, "mimeType": kind});
    one[member] = json!(value);
    Ok(make::<ReadResourceResult>(json!({"contents": [one]})).into())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        make(json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "rust server", "version": "1"}, "capabilities": {
            "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "logging": {}, "completions": {}}}))
    }

    /// Forwards changes to a legacy client until its connection ends.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut changes, subscribed) = (self.world.changes.subscribe(), self.subscribed.clone());
        tokio::spawn(async move {
            while let Ok(change) = changes.recv().await {
                let sent = match change {
                    Change::Tools => context.peer.notify_tool_list_changed().await,
                    Change::Updated(uri) if subscribed.lock().unwrap().contains(&uri) => context.peer.notify_resource_updated(make(json!({"uri": uri}))).await,
                    Change::Updated(_) => Ok(()),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.accepted.lock().unwrap().push(self.world.changes.subscribe());
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = self.accepted.lock().unwrap().pop();
        let mut changes = accepted.unwrap_or_else(|| self.world.changes.subscribe());
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => {
                    let _ = match change.map_err(broken)? { // the sink rejects changes that the client's filter does not include
                        Change::Tools => context.sink().notify_tool_list_changed().await,
                        Change::Updated(uri) => context.sink().notify_resource_updated(uri).await,
                    };
                }
            }
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().remove(&request.uri);
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let mut all = tools();
        for name in self.world.grown.lock().unwrap().iter() {
            all.as_array_mut().unwrap().push(json!({"name": name, "description": "New.", "inputSchema": {"type": "object", "properties": {}}}));
        }
        Ok(make(json!({"tools": all})))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer {
        let given = json!(request.arguments);
        let key = given["key"].as_str().unwrap_or("").to_owned();
        match request.name.as_ref() {
            "elicit" => self.elicit(&key, &context).await,
            "either" => self.either(&request, &key, &context).await,
            "think" => {
                let ask = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "say <it>"}}], "maxTokens": 7});
                let result = json!(context.peer.create_message(make(ask)).await.map_err(broken)?);
                say(format!("{} {}", result["model"].as_str().unwrap_or(""), result["content"]["text"].as_str().unwrap_or("")))
            }
            "places" => {
                let result = context.peer.list_roots().await.map_err(broken)?;
                say(result.roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(" "))
            }
            _ => self.plain_tool(&request, &given, &context).await,
        }
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Ok(make(json!({"resources": [
            {"uri": "note://plain", "name": "plain", "mimeType": "text/plain"},
            {"uri": "note://bytes", "name": "bytes", "mimeType": "application/octet-stream"},
            {"uri": "note://broken", "name": "broken"}]})))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(make(json!({"resourceTemplates": [
            {"uriTemplate": "note://by/{name}", "name": "by", "mimeType": "text/plain"}, {"uriTemplate": "tree://{+path}", "name": "tree", "mimeType": "text/plain"}]})))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        for (prefix, says) in [("note://by/", "by "), ("tree://", "at "), ("hidden://", "found ")] {
            if let Some(rest) = uri.strip_prefix(prefix) {
                return contents(uri, "text/plain", "text", format!("{says}{rest}"));
            }
        }
        match uri {
            "note://plain" => contents(uri, "text/plain", "text", "plain <&> ü \u{2028}".into()),
            "note://bytes" => contents(uri, "application/octet-stream", "blob", "AP8gYnl0ZXM=".into()),
            "note://broken" => Err(failure(-32603, "it is broken")),
            _ => Err(failure(-32002, format!("unknown resource: {uri}"))),
        }
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        let name = json!({"name": "name", "required": true});
        Ok(make(json!({"prompts": [
            {"name": "greet", "description": "Greets.", "arguments": [name, {"name": "style"}]}, {"name": "broke", "description": "Fails.", "arguments": [name]}]})))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let given = json!(request.arguments);
        let name = given["name"].as_str().ok_or_else(|| failure(-32602, "name is missing"))?;
        match request.name.as_str() {
            "greet" => {
                let text = format!("Say hello to {name} in a {} way.", given["style"].as_str().unwrap_or("plain"));
                Ok(make::<GetPromptResult>(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})).into())
            }
            "broke" => Err(failure(-32603, format!("no {name}"))),
            _ => Err(failure(-32602, format!("unknown prompt: {}", request.name))),
        }
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        let asked = json!(request);
        let of = asked["ref"]["name"].as_str().or(asked["ref"]["uri"].as_str()).unwrap_or("");
        let given: BTreeMap<String, Value> = serde_json::from_value(asked["context"]["arguments"].clone()).unwrap_or_default();
        let first = format!("{of} {} {}", request.argument.name, request.argument.value);
        Ok(make(json!({"completion": {"values": [first, json!(given).to_string()], "total": 2, "hasMore": false}})))
    }
}
