// Package login leads people to the login pages of servers: the page behind a loginUrl, where a browser comes back to from an authorization
// server, and what our own shell commands ask for.
//
//	pages := login.New(base)
//	pages.Serve(gateway)
//	pages.URL(login.Key{Entry: "github"})   // http://127.0.0.1:8730/login/<ticket>
//	pages.Handler("/login/…")               // for the listener; nil for any other path
//	pages.For(identity.Local, "begin")      // for the admin socket
//
// A loginUrl holds a sealed ticket: which login, and until when. It proves nothing of who opens it. So the page is shown only to the
// principal whose login it is, and where the gateway asks who somebody is, no browser can say: there the error names a command, and no
// URL is given that would bind whoever is made to open it to somebody else's login.
//
// Between the page's button and the browser's return a cookie says that it is the same browser: else somebody could press the button and
// have another person log in for him.
package login
