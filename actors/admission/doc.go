// Package admission decides what a client's request may see and which item of which server it names, before an actor holds
// it as a call. It also says what the gateway announces to clients. Nothing here is an actor or has state.
package admission
