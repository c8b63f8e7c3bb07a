package admin

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// wantsOpenMetrics reports whether a scraper accepts OpenMetrics 1.0 and does not prefer Prometheus text. Prometheus
// itself prefers OpenMetrics.
func wantsOpenMetrics(h http.Header) bool {
	open, text := 0.0, 0.0
	for _, accept := range h.Values("Accept") {
		for part := range strings.SplitSeq(accept, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			weight := 1.0
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				weight = q
			}
			switch version := params["version"]; {
			case kind == "application/openmetrics-text" && (version == "" || version == "1.0.0"):
				open = max(open, weight)
			case kind == "text/plain" && (version == "" || version == "0.0.4"):
				text = max(text, weight)
			}
		}
	}
	return open > 0 && open >= text
}
