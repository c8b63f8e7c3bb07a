//go:build linux

package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// nginxBalancer assigns replicas in turn. It sets a cookie that names the replica and that later requests return. It compresses everything.
const nginxBalancer = `
daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events {}
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  gzip on; gzip_types *; gzip_min_length 0; gzip_proxied any; gzip_http_version 1.0;
  upstream replicas { server %[3]s; server %[4]s; }
  upstream first { server %[3]s; }
  upstream second { server %[4]s; }
  map $cookie_replica $target { default replicas; "%[3]s" first; "%[4]s" second; }
  server {
    listen 127.0.0.1:%[2]s;
    location / {
      proxy_pass http://$target; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
      add_header Set-Cookie "replica=$upstream_addr; Path=/; HttpOnly" always;
      proxy_buffering off; proxy_read_timeout 1h;
    }
  }
}
`

// balancer returns the command of a load balancer with cookie affinity in front of two replicas. As with front, the program
// depends on what is installed.
func (p *place) balancer(port, first, second string) *exec.Cmd {
	p.t.Helper()
	if program := nginx(); program != "" {
		p.write("nginx.conf", fmt.Sprintf(nginxBalancer, p.dir, port, first, second))
		return exec.Command(program, "-p", p.dir, "-c", filepath.Join(p.dir, "nginx.conf"), "-e", filepath.Join(p.dir, "error.log"))
	}
	return p.npmProxy(port, "http://"+first, "http://"+second)
}

// npmProxy returns the command of the proxy of tests/interop. The test fails with PROXY=nginx. Without the proxy, it fails with CI=true and is
// skipped elsewhere.
func (p *place) npmProxy(port string, targets ...string) *exec.Cmd {
	p.t.Helper()
	if os.Getenv("PROXY") == "nginx" {
		p.t.Fatal("nginx is not installed: apt-get install nginx, or set NGINX_PROGRAM")
	}
	if _, err := os.Stat("../interop/node_modules/http-proxy-3"); err != nil {
		const why = "SKIPPED: neither nginx nor the npm proxy is installed (make interop), so the tests behind a real proxy do not run"
		if os.Getenv("CI") == "true" {
			p.t.Fatal(why)
		}
		fmt.Println(why)
		p.t.Skip(why)
	}
	return exec.Command("node", append([]string{"../interop/proxy.mjs", port}, targets...)...)
}
