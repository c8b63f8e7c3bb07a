// A third-party authorization server, oidc-provider from npm, on a free port of loopback. It prints its issuer on one line. It registers clients, reads
// client id metadata documents, supports device logins, and grants access to any requested resource.
//
//   node servers/oidc-provider.mjs jwt|opaque
//
// On its development pages, a user can log in under any name.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const accessTokenFormat = process.argv[2];
const document = "https://client.example/goblin.json"; // the only client id metadata document

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: "resource", client_secret: "resource-secret", redirect_uris: [], response_types: [], grant_types: [] },
      { client_id: "robot", client_secret: "robot-secret", redirect_uris: [], response_types: [], grant_types: ["client_credentials"] },
    ],
    scopes: ["openid", "offline_access", "read", "write"],
    cookies: { keys: ["only for tests"] },
    fetch: async (url) => {
      if (String(url) !== document) return new Response("no", { status: 404 });
      const client = {
        client_id: document, client_name: "goblin-actor", redirect_uris: ["http://127.0.0.1:4711/callback"], application_type: "native",
        token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
      };
      return new Response(JSON.stringify(client), { headers: { "content-type": "application/json" } });
    },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true, allowedPolicy: async () => true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_, audience) => ({ audience, scope: "read write", accessTokenFormat, accessTokenTTL: 600 }),
      },
    },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
