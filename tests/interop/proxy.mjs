// A reverse proxy on 127.0.0.1:PORT in front of TARGET. It keeps one connection to TARGET, which all clients share.
//
//	node proxy.mjs PORT TARGET
import { createServer, Agent } from 'node:http';
import httpProxy from 'http-proxy-3';

const [port, target] = process.argv.slice(2);
const proxy = httpProxy.createProxyServer({
  target, xfwd: true, agent: new Agent({ keepAlive: true, maxFreeSockets: 1 }), headers: { host: 'localhost' },
});
proxy.on('error', (error, _request, response) => {
  if (!response.headersSent) response.writeHead?.(502);
  response.end(String(error));
});
createServer((request, response) => proxy.web(request, response)).listen(Number(port), '127.0.0.1');
