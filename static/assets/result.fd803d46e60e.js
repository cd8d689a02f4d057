/*
 * result.js - which of a result's forms to show: the richest that this page can
 * draw safely. Pure: a record in, a description out.
 */

const FORMS = ["html", "svg", "png", "jpeg", "markdown", "latex", "json", "javascript", "pdf", "text"]
const OWN = new Set(["type", "extra", "is_main_result", ...FORMS])

/* {form, value, others}; form null when the record holds nothing to show. */
export function resultForm(record) {
	const have = FORMS.filter(form => record[form] !== undefined && record[form] !== null)
	const form = have[0] ?? null
	const others = [
		...have.slice(1).filter(name => name !== "text"),
		...Object.keys(record).filter(name => !OWN.has(name)),
		...Object.keys(record.extra ?? {}),
	]
	return { form, value: form && record[form], others }
}

/* base64 as a kernel sends it may hold line breaks. */
export function dataUrl(mime, base64) {
	return `data:${mime};base64,${String(base64).replace(/\s+/g, "")}`
}
