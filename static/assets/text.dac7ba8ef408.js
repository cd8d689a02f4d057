/*
 * text.js - text that grows, in a bounded <pre>: the oldest goes when there is
 * too much, so that a program that prints for ever does not take the page along.
 */

const LENGTH_MAX = 1_000_000
const PIECE = 16_384

export class GrowingText {
	#pre
	#note
	#pieces = []
	#length = 0
	#dropped = 0
	#last
	#follow = true

	constructor(pre, note) {
		this.#pre = pre
		this.#note = note
		this.#last = document.createTextNode("")
		pre.append(this.#last)
		pre.addEventListener("scroll", () => {
			this.#follow = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24
		})
	}

	/* Adds whole lines, which stay, and what may still change behind them. */
	append(lines, last = "") {
		if (lines) this.#add(lines)
		if (this.#last.data !== last) this.#last.data = last
	}

	/* Once after any number of append(): scrolls along, unless somebody scrolled up. */
	settle() {
		this.#trim()
		if (this.#follow) this.#pre.scrollTop = this.#pre.scrollHeight
	}

	/* Blocks of some size, so that one layout looks at the newest alone. */
	#add(lines) {
		let piece = this.#pieces.at(-1)
		if (!piece || piece.length > PIECE) {
			piece = document.createTextNode("")
			const block = document.createElement("div")
			block.append(piece)
			this.#last.before(block)
			this.#pieces.push(piece)
		}
		piece.appendData(lines)
		this.#length += lines.length
	}

	#trim() {
		while (this.#length > LENGTH_MAX && this.#pieces.length > 1) {
			const piece = this.#pieces.shift()
			this.#length -= piece.length
			this.#dropped += piece.length
			piece.parentNode.remove()
		}
		if (this.#dropped) this.#note.textContent = `The first ${this.#dropped.toLocaleString("en")} characters are not shown.`
	}
}
