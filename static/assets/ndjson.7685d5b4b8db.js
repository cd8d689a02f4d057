/*
 * ndjson.js - bytes to lines to records. Lines end with \n and nothing else:
 * other separators of Unicode are text.
 */

import { memberText } from "./json.bfefd2d1c926.js"

/* Cuts text that comes in pieces into whole lines. */
export class LineSplitter {
	#rest = ""

	/* The lines that this piece completed. */
	push(text) {
		const lines = (this.#rest + text).split("\n")
		this.#rest = lines.pop()
		return lines
	}

	/* What stands behind the last \n. */
	end() {
		const rest = this.#rest
		this.#rest = ""
		return rest === "" ? [] : [rest]
	}
}

/* One line as a record; a line that is none becomes an error record. */
export function recordOf(line) {
	try {
		const record = JSON.parse(line)
		if (record && typeof record === "object" && typeof record.type === "string") {
			/* Digits as they came, beside the value that lost some. */
			const value = record.json === undefined ? null : memberText(line, "json")
			Object.defineProperty(record, "jsonText", { value, enumerable: false })
			return record
		}
	} catch {
		// told below
	}
	return { type: "error", name: "BadRecord", value: "This line is no record", traceback: line }
}

/*
 * Batches of [line, record] from a body, each as soon as it is here. One decoder
 * for the whole stream, since a character may be cut between two pieces.
 */
export async function* batches(body) {
	const reader = body.getReader()
	const decoder = new TextDecoder()
	const splitter = new LineSplitter()
	const batch = lines => lines.map(line => [line, recordOf(line)])
	try {
		for (;;) {
			const { done, value } = await reader.read()
			const text = done ? decoder.decode() : decoder.decode(value, { stream: true })
			const lines = splitter.push(text)
			if (lines.length) yield batch(lines)
			if (done) break
		}
		const last = splitter.end()
		if (last.length) yield batch(last)
	} finally {
		reader.releaseLock()
	}
}
