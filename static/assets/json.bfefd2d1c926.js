/*
 * json.js - JSON as text, for showing: JSON.parse turns 9007199254740993 into
 * another number, so what people read is never taken from what it returned.
 * Only for text that JSON.parse accepted. Pure.
 */

/* Strings, brackets, commas, colons, and all other runs: numbers and words. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g

/* The text of an object's own member; the last one of that name; null if there is none. */
export function memberText(text, key) {
	let depth = 0
	let found = null
	let from = -1
	let name = null
	let previous = ""
	const end = at => {
		if (from >= 0 && name === key) found = text.slice(from, at).trim()
		from = -1
	}
	for (const { 0: token, index } of text.matchAll(TOKEN)) {
		if (token === "{" || token === "[") depth++
		else if (token === "}" || token === "]") depth--
		if (depth === 1 && token === "," || depth === 0) end(index)
		if (depth === 1 && token === ":" && from < 0) {
			name = JSON.parse(previous)
			from = index + 1
		}
		previous = token
	}
	return found
}

/* The same text, a member or item a line. */
export function pretty(text, indent = "  ") {
	const out = []
	let depth = 0
	let opened = false // the last token opened something: an empty one stays on its line
	const line = () => out.push("\n", indent.repeat(depth))
	for (const [token] of text.matchAll(TOKEN)) {
		const closes = token === "}" || token === "]"
		if (closes) depth--
		if (closes !== opened && (closes || opened)) line()
		out.push(token === ":" ? ": " : token)
		opened = token === "{" || token === "["
		if (opened) depth++
		if (token === ",") line()
	}
	return out.join("")
}
