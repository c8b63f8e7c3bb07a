// Package login lets users log in to servers: it serves the page that a loginUrl opens, the redirect target for
// authorization servers, and the API for the commands login and logout.
//
//	pages := login.New(base)
//	pages.SetGateway(gateway)
//	pages.URL(login.Key{Entry: "github"})   // http://127.0.0.1:8730/login/<ticket>
//	pages.Handler("/login/…")               // for the listener; nil for any other path
//	pages.HandlerFor(identity.Local, "begin") // for the admin socket
//
// A loginUrl contains a sealed ticket, which holds the login and an expiry time. It does not identify the user who
// opens it. The page is therefore shown only to the principal that owns the login. Where the gateway authenticates
// clients, a browser cannot identify its user, so errors name a command instead of a URL: an attacker could send the
// URL of their own login to a victim, who would then log in for the attacker.
//
// A cookie ensures that the browser that submits the form is also the one that is redirected back. Otherwise an
// attacker could submit the form and have a victim complete the login.
package login
