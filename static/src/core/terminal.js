/*
 * terminal.js - what a program writes, as lines of plain text: escape sequences
 * dropped, \r and \b applied to the line they stand in.
 */

const SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g
const CUT_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}\x1b?)?$/

/* Text without its escape sequences. */
export function plain(text) {
	return text.replace(SEQUENCE, "")
}

export class Terminal {
	#line = []
	#column = 0
	#cut = ""

	/* Takes a piece; the lines it completed, each with its \n, as one text. */
	push(piece) {
		let text = this.#cut + piece
		const cut = CUT_SEQUENCE.exec(text)
		this.#cut = cut ? cut[0] : ""
		if (cut) text = text.slice(0, cut.index)
		text = plain(text)
		let whole = ""
		for (const char of text.replaceAll("\r\n", "\n")) {
			if (char === "\n") {
				whole += this.line + "\n"
				this.#line = []
				this.#column = 0
			} else if (char === "\r") {
				this.#column = 0
			} else if (char === "\b") {
				this.#column = Math.max(0, this.#column - 1)
			} else {
				this.#line[this.#column++] = char
			}
		}
		return whole
	}

	/* The line that is not complete yet. */
	get line() {
		return this.#line.join("")
	}
}
