//! The conversations of client.py. Each fails with Wrong, or records in saw what the server sent.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{PeerRequestOptions, Subscription};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

use crate::client::{Client, Heard, Wrong, connect, outcome};
use crate::make;

type Done = Result<(), Wrong>;

fn must(truth: bool, why: &str, what: &Value) -> Done {
    if truth { Ok(()) } else { Err(Wrong::Said(format!("{why} {what}"))) }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or("")
}

/// Replaces the task's key, so that the results of two tasks can be compared.
fn without(value: &Value, key: &str) -> Value {
    serde_json::from_str(&value.to_string().replace(key, "KEY")).unwrap()
}

fn odd() -> Vec<Value> {
    let text = r#"[0, -1, 1.5, 1e-7, 9007199254740991, -9007199254740991, 12345678901234567890, true, false, null, "", " ",
        "ü \u2028 \ud83d\udc7a <&> \" \\ \n \u0000", [], {}, [[[]]], {"": {"$ref": "x", "a.b": [null]}}, {"z": 1, "a": 2}, [1, "1", 1.0, true]]"#;
    let mut all: Vec<Value> = serde_json::from_str(text).unwrap();
    all.push(json!("x".repeat(5000)));
    all
}

pub struct Talks<'a> {
    client: &'a Client,
    task: &'a Value,
    heard: std::sync::Arc<Heard>,
    prefix: &'a str,
    uris: &'a str,
    key: &'a str,
    pub saw: Value,
}

impl<'a> Talks<'a> {
    pub fn new(client: &'a Client, task: &'a Value) -> Self {
        let text = |name: &str| task[name].as_str().unwrap_or("");
        let heard = client.service().heard.clone();
        Talks { client, task, heard, prefix: text("prefix"), uris: text("uris"), key: text("key"), saw: json!({}) }
    }

    pub async fn hold(&mut self, name: &str) -> Done {
        match name {
            "list" => self.list().await,
            "odd" => self.odd().await,
            "many" => self.many().await,
            "add" => self.add().await,
            "fail" => self.fail().await,
            "unknown" => self.unknown().await,
            "mixed" => self.mixed().await,
            "progress" => self.progress().await,
            "log" => self.log().await,
            "cancel" => self.cancel().await,
            "elicit" | "either" => self.asks(name, "accept {'colour': 'grün <&>'}").await,
            "sample" => self.asks("think", "mödel thought <&>").await,
            "roots" => self.asks("places", "file:///one%20place file:///two").await,
            "refuse" => self.refuse().await,
            "resources" => self.resources().await,
            "tree" => self.tree().await,
            "link" => self.link().await,
            "prompts" => self.prompts().await,
            "complete" => self.complete().await,
            "subscribe" => self.subscribe().await,
            "grow" => self.grow().await,
            "found" => self.found().await,
            "ping" => self.ping().await,
            _ => Err(Wrong::Said(format!("unknown talk {name}"))),
        }
    }

    fn modern(&self) -> bool {
        self.client.peer_info().is_some_and(|info| info.protocol_version.as_str() >= "2026")
    }

    fn params(&self, name: &str, arguments: Value) -> CallToolRequestParams {
        let mut params = json!({"name": format!("{}{name}", self.prefix), "arguments": arguments});
        if self.modern() {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"});
        }
        make(params)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, Wrong> {
        outcome(self.client.call_tool(self.params(name, arguments)).await)
    }

    async fn read(&self, uri: &str) -> Result<Value, Wrong> {
        outcome(self.client.read_resource(make(json!({"uri": uri}))).await)
    }

    async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, Wrong> {
        outcome(self.client.get_prompt(make(json!({"name": format!("{}{name}", self.prefix), "arguments": arguments}))).await)
    }

    async fn list(&mut self) -> Done {
        for (of, by, result) in [
            ("tools", "name", outcome(self.client.list_tools(None).await)?),
            ("resources", "uri", outcome(self.client.list_resources(None).await)?),
            ("resourceTemplates", "uriTemplate", outcome(self.client.list_resource_templates(None).await)?),
            ("prompts", "name", outcome(self.client.list_prompts(None).await)?),
        ] {
            let before = if by == "name" { self.prefix } else { self.uris };
            let grown = |item: &Value| item["name"].as_str().unwrap_or("").trim_start_matches(self.prefix).starts_with("new");
            let mut mine: Vec<Value> = result[of].as_array().cloned().unwrap_or_default();
            mine.retain(|item| item[by].as_str().unwrap_or("").starts_with(before) && !grown(item));
            mine.sort_by_key(|item| item[by].to_string());
            self.saw[of] = json!(mine);
        }
        let count = |of: &str| self.saw[of].as_array().map_or(0, Vec::len);
        must(count("tools") > 10 && count("resources") == 3 && count("prompts") == 2, "lists", &self.saw)
    }

    async fn odd(&mut self) -> Done {
        let mut results = vec![];
        for value in odd() {
            let result = self.call("odd", json!({"value": value})).await?;
            must(result["structuredContent"]["value"] == value, "odd", &json!([value, result]))?;
            results.push(result);
        }
        self.saw["results"] = json!(results);
        Ok(())
    }

    async fn many(&mut self) -> Done {
        let mut calls = JoinSet::new();
        for i in 0..20 {
            let (peer, value) = (self.client.peer().clone(), format!("{} {i}", self.key));
            let params = self.params("odd", json!({"value": value}));
            calls.spawn(async move { (value, outcome(peer.call_tool(params).await)) });
        }
        while let Some(call) = calls.join_next().await {
            let (value, result) = call.map_err(|e| Wrong::Broken(e.to_string()))?;
            let result = result?;
            must(result["structuredContent"]["value"] == value, "another call's answer", &result)?;
        }
        Ok(())
    }

    async fn add(&mut self) -> Done {
        for (name, arguments) in [
            ("both", json!({"a": 1, "b": 5})),
            ("default", json!({"a": 1})),
            ("missing", json!({})),
            ("wrong", json!({"a": "x"})),
            ("more", json!({"a": 1, "c": 2})),
        ] {
            self.saw[name] = self.call("add", arguments).await?;
        }
        must(text(&self.saw["both"]) == "6" && text(&self.saw["default"]) == "3", "sum", &self.saw)
    }

    async fn fail(&mut self) -> Done {
        self.saw = self.call("fail", json!({"text": "it <failed> & ü"})).await?;
        must(self.saw["isError"] == true && text(&self.saw).contains("it <failed> & ü"), "failure", &self.saw)
    }

    async fn unknown(&mut self) -> Done {
        let uri = format!("{}note://nowhere", self.uris);
        for result in [self.call("no_such", json!({})).await?, self.read(&uri).await?, self.prompt("no_such", json!({})).await?] {
            must(result.get("error").is_some() || result["isError"] == true, "unknown item", &result)?;
        }
        Ok(())
    }

    async fn mixed(&mut self) -> Done {
        self.saw = self.call("mixed", json!({})).await?;
        let kinds: Vec<&Value> = self.saw["content"].as_array().into_iter().flatten().map(|block| &block["type"]).collect();
        must(json!(kinds) == json!(["text", "image", "audio", "resource", "resource_link"]), "kinds", &self.saw)
    }

    /// Progress may be dropped or arrive late. What arrives must be the server's, and must grow.
    async fn progress(&mut self) -> Done {
        self.heard.progress.lock().unwrap().clear();
        self.saw = self.call("steps", json!({"n": 3})).await?;
        must(text(&self.saw) == "3 steps", "steps", &self.saw)?;
        self.heard.until(|| !self.heard.progress.lock().unwrap().is_empty()).await;
        let mut last = 0.0;
        for note in self.heard.progress.lock().unwrap().iter() {
            let now = note["progress"].as_f64().unwrap_or(0.0);
            must(now > last && note["total"] == 3.0 && note["message"] == format!("step {now}"), "progress", note)?;
            last = now;
        }
        Ok(())
    }

    async fn log(&mut self) -> Done {
        if !self.modern() {
            self.saw["level"] = outcome(self.client.set_level(make(json!({"level": "debug"}))).await)?;
        }
        must(text(&self.call("speak", json!({"key": self.key})).await?) == "said", "speak", &self.saw)?;
        let mine = || -> Vec<Value> {
            let logs = self.heard.logs.lock().unwrap();
            logs.iter().filter(|line| line.to_string().contains(self.key)).map(|line| without(line, self.key)).collect()
        };
        self.heard.until(|| mine().len() >= 4).await;
        self.saw["lines"] = json!(mine());
        Ok(())
    }

    async fn cancel(&mut self) -> Done {
        self.heard.progress.lock().unwrap().clear();
        let params = self.params("wait", json!({"key": self.key}));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let broken = |e: rmcp::ServiceError| Wrong::Broken(e.to_string());
        let handle = self.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.map_err(broken)?;
        self.heard.until(|| !self.heard.progress.lock().unwrap().is_empty()).await;
        handle.cancel(Some("enough".into())).await.map_err(broken)?;
        while text(&self.call("cancelled", json!({"key": self.key})).await?) == "0" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn asks(&mut self, tool: &str, want: &str) -> Done {
        self.heard.asked.lock().unwrap().clear();
        let arguments = if tool == "places" { json!({}) } else { json!({"key": "KEY"}) };
        self.saw["result"] = self.call(tool, arguments).await?;
        self.saw["asked"] = json!(*self.heard.asked.lock().unwrap());
        must(text(&self.saw["result"]).contains(want), tool, &self.saw)
    }

    /// A client without capabilities gets an error, and other clients are not affected.
    async fn refuse(&mut self) -> Done {
        let deaf = connect(self.task, true).await?;
        let talks = Talks::new(&deaf, self.task);
        let result = talks.call("elicit", json!({"key": "KEY"})).await?;
        must(result.get("error").is_some() || result["isError"] == true, "a result although no client can answer", &result)?;
        must(talks.lists("add").await?, "no tools after a server request", &result)?;
        let _ = deaf.cancel().await;
        must(text(&self.call("add", json!({"a": 1})).await?) == "3", "another client", &result)
    }

    async fn resources(&mut self) -> Done {
        for uri in ["note://plain", "note://bytes", "note://by/x", "note://by/a%20b%3F", "note://by/%C3%BC", "note://broken"] {
            self.saw[uri] = self.read(&format!("{}{uri}", self.uris)).await?;
        }
        must(self.saw["note://by/x"]["contents"][0]["text"] == "by x", "template", &self.saw)?;
        must(self.saw["note://bytes"]["contents"][0].get("blob").is_some(), "bytes", &self.saw)?;
        must(self.saw["note://broken"].get("error").is_some(), "broken", &self.saw)
    }

    async fn tree(&mut self) -> Done {
        for uri in ["tree://a", "tree://a/b/c.txt", "tree://a/b%20c/d"] {
            self.saw[uri] = self.read(&format!("{}{uri}", self.uris)).await?;
            must(self.saw[uri].get("contents").is_some(), "tree", &self.saw)?;
        }
        Ok(())
    }

    async fn link(&mut self) -> Done {
        let key = self.key.to_lowercase();
        let result = self.call("link", json!({"key": key})).await?;
        let link = &result["content"][0];
        must(link["type"] == "resource_link", "link", &result)?;
        self.saw = without(&self.read(link["uri"].as_str().unwrap_or("")).await?, &key);
        must(self.saw.get("contents").is_some(), "linked", &self.saw)
    }

    async fn prompts(&mut self) -> Done {
        for (name, prompt, arguments) in [
            ("one", "greet", json!({"name": "ü <&>"})),
            ("two", "greet", json!({"name": "x", "style": "odd"})),
            ("missing", "greet", json!({})),
            ("broke", "broke", json!({"name": "x"})),
        ] {
            self.saw[name] = self.prompt(prompt, arguments).await?;
        }
        must(self.saw["two"].to_string().contains("odd way"), "prompt", &self.saw)
    }

    async fn complete(&mut self) -> Done {
        let prompt = json!({"ref": {"type": "ref/prompt", "name": format!("{}greet", self.prefix)}, "argument": {"name": "name", "value": "ü"}});
        let template = json!({"ref": {"type": "ref/resource", "uri": format!("{}note://by/{{name}}", self.uris)},
            "argument": {"name": "name", "value": "<&>"}, "context": {"arguments": {"other": "given"}}});
        self.saw["prompt"] = outcome(self.client.complete(make(prompt)).await)?;
        self.saw["template"] = outcome(self.client.complete(make(template)).await)?;
        must(self.saw["template"].to_string().contains("other") && self.saw["prompt"].get("completion").is_some(), "completion", &self.saw)
    }

    /// Opens a subscription stream in the modern era and forwards its notifications to heard. The legacy era has no such streams.
    async fn listening(&self, filter: Value) -> Result<Listening, Wrong> {
        if !self.modern() {
            return Ok(Listening(None));
        }
        let mut stream: Subscription = self.client.listen(make(filter)).await.map_err(|e| Wrong::Broken(format!("listen: {e}")))?;
        let heard = self.heard.clone();
        Ok(Listening(Some(tokio::spawn(async move {
            while let Ok(Some(note)) = stream.next().await {
                let uri = json!(note)["params"]["uri"].as_str().unwrap_or("tools").to_owned();
                heard.add(&heard.notes, uri);
            }
        }))))
    }

    async fn subscribe(&mut self) -> Done {
        let uri = format!("{}note://plain", self.uris);
        let _stream = self.listening(json!({"resourceSubscriptions": [uri]})).await?;
        if !self.modern() {
            let result = outcome(self.client.subscribe(make(json!({"uri": uri}))).await)?;
            must(result.get("error").is_none(), "subscribe", &result)?;
        }
        must(text(&self.call("touch", json!({"uri": "note://plain"})).await?) == "touched", "touch", &self.saw)?;
        self.heard.until(|| self.heard.notes.lock().unwrap().contains(&uri)).await;
        if !self.modern() {
            outcome(self.client.unsubscribe(make(json!({"uri": uri}))).await)?;
        }
        Ok(())
    }

    async fn lists(&self, name: &str) -> Result<bool, Wrong> {
        let tools = outcome(self.client.list_tools(None).await)?;
        let public = format!("{}{name}", self.prefix);
        Ok(tools["tools"].as_array().into_iter().flatten().any(|tool| tool["name"] == public))
    }

    async fn grow(&mut self) -> Done {
        let name = format!("new{}", self.key);
        let _stream = self.listening(json!({"toolsListChanged": true})).await?;
        for (tool, there) in [("grow", true), ("shrink", false)] {
            let mut before = self.heard.notes.lock().unwrap().len();
            let answer = self.call(tool, json!({"name": name})).await?;
            must(["added", "removed"].contains(&text(&answer)), "answer", &answer)?;
            loop {
                self.heard.until(|| self.heard.notes.lock().unwrap()[before..].iter().any(|note| note == "tools")).await;
                before = self.heard.notes.lock().unwrap().len();
                if self.lists(&name).await? == there {
                    break;
                }
            }
            if there {
                self.saw = self.call(&name, json!({})).await?;
                must(text(&self.saw) == "new", "the new tool", &self.saw)?;
            }
        }
        Ok(())
    }

    async fn found(&mut self) -> Done {
        let name = format!("new{}", self.key);
        self.call("grow", json!({"name": name})).await?;
        while text(&self.call(&name, json!({})).await?) != "new" || !self.lists(&name).await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.call("shrink", json!({"name": name})).await?;
        Ok(())
    }

    async fn ping(&mut self) -> Done {
        let request = ClientRequest::PingRequest(PingRequest::default());
        self.saw = outcome::<ServerResult>(self.client.send_request(request).await)?;
        must(self.saw.get("error").is_none(), "ping", &self.saw)
    }
}

/// A subscription stream, which closes when it is dropped.
struct Listening(Option<JoinHandle<()>>);

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}
