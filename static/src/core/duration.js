/* duration.js - milliseconds as people say them. */
export function duration(ms) {
	if (ms < 1000) return `${Math.round(ms)} ms`
	if (ms < 60e3) return `${(ms / 1000).toFixed(1)} s`
	const minutes = Math.floor(ms / 60e3)
	if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60e3) / 1000)} s`
	const hours = Math.floor(minutes / 60)
	return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
