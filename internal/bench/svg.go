package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// canvas is an SVG that grows downwards. Colours are CSS classes, so that light and dark mode
// differ.
type canvas struct {
	shapes strings.Builder
	y      float64 // where the next section begins
}

const (
	pictureWidth = 880.0
	margin       = 28.0
)

const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" role="img" aria-labelledby="title text">
<title id="title">Results of make bench</title>
<desc id="text">%[3]s</desc>
<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
.h1 { font-size: 20px; font-weight: 600 }
.h2 { font-size: 15px; font-weight: 600 }
.soft { fill: #59636e }
.small { font-size: 12px }
.strong { font-weight: 600 }
.ground { fill: #ffffff }
.frame { fill: none; stroke: #d1d9e0 }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.nginx { fill: #9aa4ae }
.gateway { fill: #0969da }
.bar { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 3 2 }
.band { fill: #dafbe1 }
.p99 { fill: none; stroke: #0969da; stroke-width: 2; stroke-linejoin: round }
.kill { stroke: #cf222e; stroke-width: 2 }
.killed, .no { fill: #cf222e }
.yes { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .soft { fill: #9198a1 }
  .ground { fill: #0d1117 }
  .frame { stroke: #3d444d }
  .grid { stroke: #3d444d }
  .nginx { fill: #656c76 }
  .gateway { fill: #4493f8 }
  .bar { stroke: #e6edf3 }
  .band { fill: #12351d }
  .p99 { stroke: #4493f8 }
  .kill { stroke: #f85149 }
  .killed, .no { fill: #f85149 }
  .yes { fill: #3fb950 }
}
</style>
`

// picture draws a run: rates next to nginx's, p99 around the kill of an upstream, and a table of
// the other results.
func picture(r *report, now time.Time) string {
	c := &canvas{y: margin}
	c.text(margin, c.y+16, "h1", "start", "The gateway beside nginx, on one machine in one run")
	c.text(margin, c.y+38, "soft", "start",
		fmt.Sprintf("make bench, %s, %s shared with wrk, Redis, PostgreSQL and the upstream",
			now.UTC().Format(time.DateOnly), machine()))
	c.y += 62
	c.rates(r.loads)
	if r.kill != nil {
		c.timeline(r.kill)
	}
	c.table(r.results)
	height := c.y + margin/2
	out := &strings.Builder{}
	fmt.Fprintf(out, svgHead, pictureWidth, height, html.EscapeString(describe(r)))
	fmt.Fprintf(out, `<rect class="ground" width="%g" height="%g" rx="8"/>`+"\n", pictureWidth, height)
	fmt.Fprintf(out, `<rect class="frame" x=".5" y=".5" width="%g" height="%g" rx="8"/>`+"\n", pictureWidth-1, height-1)
	out.WriteString(c.shapes.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// describe returns the picture's text alternative.
func describe(r *report) string {
	var lines []string
	for _, result := range r.results {
		lines = append(lines, result.String())
	}
	return strings.Join(lines, "; ")
}

func (c *canvas) text(x, y float64, class, anchor, words string) {
	fmt.Fprintf(&c.shapes, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor,
		html.EscapeString(words))
}

func (c *canvas) rect(x, y, width, height float64, class string) {
	fmt.Fprintf(&c.shapes, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"/>`+"\n", x, y, width, height,
		class)
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.shapes, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (c *canvas) heading(title, about string) {
	c.text(margin, c.y+14, "h2", "start", title)
	c.text(margin, c.y+33, "soft small", "start", about)
	c.y += 46
}
