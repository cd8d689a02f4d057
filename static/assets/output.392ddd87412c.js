/*
 * output.js - records to the blocks that people read. Data reaches the document as
 * text, as a picture, or inside a frame; never as markup.
 */
import { pretty } from "./json.bfefd2d1c926.js"
import { dataUrl, resultForm } from "./result.fd803d46e60e.js"
import { plain, Terminal } from "./terminal.b96601019a65.js"
import { frameOf } from "./frame.3783f074bb23.js"
import { GrowingText } from "./text.dac7ba8ef408.js"

function element(name, className, text) {
	const e = document.createElement(name)
	if (className) e.className = className
	if (text !== undefined) e.textContent = text
	return e
}

function picture(url, alt) {
	const block = element("div", "picture")
	const img = element("img")
	img.alt = alt
	img.src = url
	block.append(img)
	return block
}

function blobUrl(text, type) {
	return URL.createObjectURL(new Blob([text], { type }))
}

const pre = text => element("pre", "", text)

/* How each form is drawn; what is not listed is shown as its text. */
const DRAW = {
	svg: value => picture(blobUrl(String(value), "image/svg+xml"), "SVG output"),
	png: value => picture(dataUrl("image/png", value), "PNG output"),
	jpeg: value => picture(dataUrl("image/jpeg", value), "JPEG output"),
	json: (value, record) => pre(pretty(record.jsonText)),
	pdf: value => {
		const link = element("a", "", "output.pdf")
		link.download = "output.pdf"
		link.href = dataUrl("application/pdf", value)
		return link
	},
}

export class Output {
	#place
	#stream = null
	#grown = new Set()

	constructor(place) {
		this.#place = place
	}

	clear() {
		for (const img of this.#place.querySelectorAll("img")) {
			if (img.src.startsWith("blob:")) URL.revokeObjectURL(img.src)
		}
		this.#place.replaceChildren()
		this.#stream = null
	}

	/* One record; adjacent stream records of a name share one block. */
	add(record) {
		if (record.type === "stdout" || record.type === "stderr") {
			this.#streamText(record.type, record.text)
			return
		}
		if (record.type === "keepalive" || record.type === "number_of_executions") return
		this.#stream = null
		if (record.type === "result") this.#result(record)
		else if (record.type === "error") this.error(record.traceback || `${record.name}: ${record.value}`)
	}

	/* After a batch of add(): what has to be measured is measured once. */
	settle() {
		for (const text of this.#grown) text.settle()
		this.#grown.clear()
	}

	error(text) {
		this.#stream = null
		this.#block("error").append(pre(plain(String(text))))
	}

	#block(className) {
		const block = element("div", `block ${className}`)
		this.#place.append(block)
		return block
	}

	#streamText(name, text) {
		if (this.#stream?.name !== name) {
			const block = this.#block(name)
			const note = element("p", "note")
			const area = element("pre")
			area.tabIndex = 0
			area.setAttribute("aria-label", name)
			block.append(note, area)
			this.#stream = { name, terminal: new Terminal(), text: new GrowingText(area, note) }
		}
		const { terminal, text: growing } = this.#stream
		const whole = terminal.push(String(text))
		growing.append(whole, terminal.line)
		this.#grown.add(growing)
	}

	#result(record) {
		const { form, value, others } = resultForm(record)
		const block = this.#block(record.is_main_result ? "result" : "display")
		if (form === "html") {
			const { frame, start } = frameOf(value)
			const place = element("div", "frame")
			place.append(frame)
			block.append(place)
			start()
		} else if (form !== null) {
			block.append((DRAW[form] ?? (v => pre(String(v))))(value, record))
		}
		if (others.length) block.append(element("p", "note", `Also here: ${others.join(", ")}`))
	}
}
