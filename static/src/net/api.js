/*
 * api.js - the calls to the server, and the token they need. Paths are relative
 * to the page. The cookie that /nb2/auth gives is for /nb2/ alone, so /execute is
 * told the token by a header.
 */

const KEY = "nb2.token"
let memory = ""

export function tokenGet() {
	try {
		return sessionStorage.getItem(KEY) ?? memory
	} catch {
		return memory
	}
}

export function tokenSet(token) {
	memory = token
	try {
		if (token) sessionStorage.setItem(KEY, token)
		else sessionStorage.removeItem(KEY)
	} catch {
		// no storage: it is kept until the page goes
	}
}

/* A token in the address is taken out of it at once. */
export function tokenFromAddress() {
	const url = new URL(location.href)
	const token = url.searchParams.get("token")
	if (token === null) return ""
	url.searchParams.delete("token")
	history.replaceState(null, "", url)
	return token
}

/* Trades a token for the cookie: "ok", "wrong", or "unreachable". */
export async function authenticate(token) {
	try {
		const answer = await fetch("auth", {
			method: "POST",
			headers: { "Content-Type": "application/json" },
			body: JSON.stringify({ token }),
		})
		if (answer.ok) return "ok"
		return answer.status === 401 ? "wrong" : "unreachable"
	} catch {
		return "unreachable"
	}
}

/* The health object, or null when there is no answer. */
export async function health() {
	try {
		const answer = await fetch("health", { cache: "no-store", signal: AbortSignal.timeout(4000) })
		return answer.ok ? await answer.json() : null
	} catch {
		return null
	}
}

/* The Response of an execution; aborting the signal interrupts the kernel. */
export function execute(code, signal) {
	const headers = { "Content-Type": "application/json" }
	const token = tokenGet()
	if (token) headers["X-Access-Token"] = token
	return fetch("../execute", { method: "POST", headers, body: JSON.stringify({ code }), signal, cache: "no-store" })
}

/* What a refusal says, in one sentence. */
export async function refusal(answer) {
	const text = await answer.text()
	try {
		const body = JSON.parse(text)
		const said = body.message ?? body.detail ?? body.error
		return typeof said === "string" ? said : JSON.stringify(said ?? body)
	} catch {
		return text || `status ${answer.status}`
	}
}
