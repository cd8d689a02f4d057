/*
 * frame.js - a kernel's HTML, drawn in frame.html: an origin of its own, with no
 * way to the page, its cookies, or any server. It asks for its text by a message
 * and tells its height over the port that it is given.
 */

const HEIGHT_MAX = 4000
const REPORTS_MAX = 500
const BORDERS = 2
const waiting = new WeakMap() // window → what to do when it is ready

addEventListener("message", event => {
	const ready = waiting.get(event.source)
	if (ready && event.data === "nb2-frame-ready") {
		waiting.delete(event.source)
		ready()
	}
})

/* An iframe for html; start() once it stands in the document, before it can load. */
export function frameOf(html) {
	const frame = document.createElement("iframe")
	frame.setAttribute("sandbox", "allow-scripts")
	frame.title = "HTML output"
	frame.src = "frame.html"
	return { frame, start: () => waiting.set(frame.contentWindow, () => feed(frame, html)) }
}

function feed(frame, html) {
	const { port1, port2 } = new MessageChannel()
	let reports = 0
	port1.onmessage = event => {
		if (typeof event.data !== "number" || ++reports > REPORTS_MAX) return
		frame.style.height = `${BORDERS + Math.min(HEIGHT_MAX, Math.max(24, Math.ceil(event.data)))}px`
	}
	// "*": a sandboxed frame has no origin that could be named.
	frame.contentWindow.postMessage({ html: String(html) }, "*", [port2])
}
