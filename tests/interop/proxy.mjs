// A reverse proxy on 127.0.0.1:PORT in front of TARGET. It keeps one idle connection per target, which requests of all clients reuse. With several targets, it
// distributes requests round-robin and sets a cookie that names the target. Requests with that cookie go to that target.
//
//	node proxy.mjs PORT TARGET [TARGET…]
import { createServer, Agent } from 'node:http';
import httpProxy from 'http-proxy-3';

const [port, ...targets] = process.argv.slice(2);
let turn = 0;
const proxies = targets.map((target, i) => {
  const proxy = httpProxy.createProxyServer({
    target, xfwd: true, agent: new Agent({ keepAlive: true, maxFreeSockets: 1 }), headers: { host: 'localhost' },
  });
  proxy.on('error', (error, _request, response) => {
    if (!response.headersSent) response.writeHead?.(502);
    response.end(String(error));
  });
  if (targets.length > 1) proxy.on('proxyRes', (answer) => { answer.headers['set-cookie'] = [`replica=${i}; Path=/; HttpOnly`]; });
  return proxy;
});
createServer((request, response) => {
  const named = /(?:^|; )replica=(\d+)/.exec(request.headers.cookie ?? '')?.[1];
  (proxies[named] ?? proxies[turn++ % proxies.length]).web(request, response);
}).listen(Number(port), '127.0.0.1');
