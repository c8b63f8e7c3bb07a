//go:build linux

package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const nginxConfig = `
daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events {}
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  upstream gateway { server %[3]s; keepalive 1; }
  server {
    listen 127.0.0.1:%[2]s;
    location / {
      proxy_pass http://gateway; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off; proxy_read_timeout 1h;
    }
  }
}
`

// front returns the command of a reverse proxy on a port of this machine in front of target, a host and port. It is nginx where that
// is installed or NGINX_PROGRAM names it; otherwise it is the proxy of tests/interop, which npm installs. Without either, the test
// fails with CI=true and is skipped elsewhere. PROXY=nginx, as in make proxy, accepts only nginx.
func (p *place) front(port, target string) *exec.Cmd {
	p.t.Helper()
	if program := nginx(); program != "" {
		p.write("nginx.conf", fmt.Sprintf(nginxConfig, p.dir, port, target))
		return exec.Command(program, "-p", p.dir, "-c", filepath.Join(p.dir, "nginx.conf"), "-e", filepath.Join(p.dir, "error.log"))
	}
	return p.npmProxy(port, "http://"+target)
}

// nginx returns the path of the program, or "".
func nginx() string {
	if path := os.Getenv("NGINX_PROGRAM"); path != "" {
		return path
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		return ""
	}
	return path
}
