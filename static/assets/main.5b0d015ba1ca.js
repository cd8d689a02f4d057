/*
 * main.js - the only file that wires: the form, a run, the records, the health line.
 */
import { duration } from "./duration.a371fd9e7f36.js"
import { batches } from "./ndjson.7685d5b4b8db.js"
import { authenticate, execute, health, refusal, tokenFromAddress, tokenGet, tokenSet } from "./api.11871fb4ccb8.js"
import { Output } from "./output.392ddd87412c.js"
import { GrowingText } from "./text.dac7ba8ef408.js"

const HEALTH_MS = 5000
const $ = id => document.getElementById(id)

const output = new Output($("output"))
let run = null // {abort, began, waiting and raw: not drawn yet, number, failed, ended}
let last = null // the run before
let rawText = null

/* ---- state line ------------------------------------------------------------ */

function state(text, kind = "") {
	$("state").textContent = text
	$("state").dataset.kind = kind
}

function tick() {
	if (!run) return
	$("clock").textContent = duration(performance.now() - run.began)
	setTimeout(tick, 200)
}

/* ---- raw records -------------------------------------------------------------- */

function rawReset() {
	$("raw-lines").replaceChildren()
	$("raw-count").textContent = ""
	rawText = new GrowingText($("raw-lines"), $("raw-count"))
}

function rawDraw(current) {
	if (!$("raw").open || current.raw.length === 0) return
	rawText.append(current.raw.join("\n") + "\n")
	rawText.settle()
	current.raw = []
}

/* ---- a run ------------------------------------------------------------------------ */

/* Draws what has come; how the execution went is kept in current. */
function draw(current) {
	for (const [line, record] of current.waiting) {
		current.raw.push(line)
		if (record.type === "end_of_execution") current.ended = true
		else if (record.type === "error") current.failed = true
		else if (record.type === "number_of_executions") current.number = record.execution_count
		output.add(record)
	}
	current.waiting = []
	output.settle()
	rawDraw(current)
}

/* One drawing a frame, however many records come; a page that nobody sees has no
 * frames, and then the end of the run draws. */
function drawSoon(current) {
	if (current.scheduled) return
	current.scheduled = true
	requestAnimationFrame(() => {
		current.scheduled = false
		if (run === current) draw(current)
	})
}

async function follow(current) {
	const answer = await execute($("code").value, current.abort.signal)
	if (answer.status === 401) {
		tokenSet("")
		tokenAsk("The server wants another token.")
		throw new Error("no valid token")
	}
	if (!answer.ok) throw new Error(await refusal(answer))
	state("running")
	try {
		for await (const batch of batches(answer.body)) {
			current.waiting.push(...batch)
			drawSoon(current)
		}
	} finally {
		draw(current)
	}
}

function verdict(current) {
	const which = current.number ? ` [${current.number}]` : ""
	if (!current.ended) state("the stream ended early", "bad")
	else if (current.failed) state(`error${which}`, "bad")
	else state(`done${which}`, "good")
}

async function start() {
	if (run) return
	const current = {
		abort: new AbortController(), began: performance.now(),
		waiting: [], raw: [], ended: false, failed: false,
	}
	run = current
	output.clear()
	rawReset()
	buttons()
	state("sent")
	tick()
	try {
		await follow(current)
		verdict(current)
	} catch (e) {
		if (current.abort.signal.aborted) state("stopped; the kernel was interrupted", "bad")
		else {
			output.error(`The run failed: ${e.message}`)
			state("failed", "bad")
		}
	}
	$("clock").textContent = duration(performance.now() - current.began)
	run = null
	last = current
	buttons()
}

function buttons() {
	const focused = document.activeElement
	$("run").disabled = run !== null
	$("stop").disabled = run === null
	// A button that is switched off must not take the focus with it.
	if (focused === $("run") && run) $("stop").focus()
	if (focused === $("stop") && !run) $("run").focus()
}

/* ---- token ---------------------------------------------------------------------------- */

function tokenAsk(why) {
	$("token-form").hidden = false
	if (why) {
		$("token-help").textContent = why
		$("token-help").dataset.kind = "bad"
	}
	$("token").focus()
}

async function tokenUse(token) {
	const how = await authenticate(token)
	if (how === "wrong") {
		tokenSet("")
		tokenAsk("The server does not know this token.")
		return
	}
	tokenSet(token)
	if (how === "unreachable") return
	$("token-form").hidden = true
	$("token").value = ""
	$("code").focus()
	healthDraw(await health())
}

/* ---- health ------------------------------------------------------------------------------- */

function healthText(h) {
	const parts = [`${h.pkg} ${h.version}`, `up ${duration(h.uptimeMs)}`]
	if (h.worker) parts.push(`worker ${h.worker.index + 1} of ${h.worker.of}`)
	if (h.dir) parts.push(`starts in ${h.dir}`)
	return parts.join(" · ")
}

function healthDraw(h) {
	$("health").dataset.state = h?.ok ? "up" : "down"
	$("health-text").textContent = h?.ok ? healthText(h) : "the server does not answer"
}

async function healthPoll() {
	if (!document.hidden) healthDraw(await health())
	setTimeout(healthPoll, HEALTH_MS)
}

/* ---- start ---------------------------------------------------------------------------------- */

$("run").addEventListener("click", start)
$("stop").addEventListener("click", () => run?.abort.abort())
$("code").addEventListener("keydown", event => {
	if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
		event.preventDefault()
		start()
	}
})
$("raw").addEventListener("toggle", () => (run ?? last) && rawDraw(run ?? last))
$("token-form").addEventListener("submit", event => {
	event.preventDefault()
	tokenUse($("token").value.trim())
})
document.addEventListener("visibilitychange", () => document.hidden || health().then(healthDraw))

const given = tokenFromAddress() || tokenGet()
if (given) await tokenUse(given)
const first = await health()
healthDraw(first)
// Without a token, only a server that asks for none tells who it is.
if (!tokenGet() && !first?.worker && $("token-form").hidden) tokenAsk("")
setTimeout(healthPoll, HEALTH_MS)
