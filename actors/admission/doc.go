// Package admission decides what a client's request may see, and which item of which server it names, before an actor holds it as a
// call. It also builds the capabilities that the gateway announces. It contains no actor and no state.
package admission
