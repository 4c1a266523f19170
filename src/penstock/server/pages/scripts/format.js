// Numbers, sizes and times for people to read. A figure that is not known is an en dash.

export const UNKNOWN = "–";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function significant(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(2).replace(/\.?0+$/, "");
}

/** A whole number with separators. */
export function count(value) {
  return isNumber(value) ? Math.round(value).toLocaleString("en-US") : UNKNOWN;
}

/** A short form: 12.3 k, 4.56 M. */
export function short(value) {
  if (!isNumber(value)) return UNKNOWN;
  for (const [size, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= size) return significant(value / (unit === " k" ? 1e3 : size)) + unit;
  }
  return Number.isInteger(value) ? value.toLocaleString("en-US") : significant(value);
}

export function rate(value) {
  return isNumber(value) ? `${short(value >= 10 ? Math.round(value) : value)}/s` : UNKNOWN;
}

export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return `${significant(value / size)} ${unit}`;
  }
  return `${value} B`;
}

export function percent(share) {
  if (!isNumber(share)) return UNKNOWN;
  const value = share * 100;
  return `${value > 0 && value < 1 ? "<1" : Math.round(value)} %`;
}

/** How long something takes, in the unit that says most. */
export function duration(ms) {
  if (!isNumber(ms)) return UNKNOWN;
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (size < 120_000) return `${Math.round(ms / 1000)} s`;
  const minutes = Math.floor(size / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((size % 60_000) / 1000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function ago(ms, now) {
  if (!isNumber(ms)) return UNKNOWN;
  const passed = Math.max(0, now - ms);
  return passed < 1000 ? "now" : `${duration(passed).replace(/\.\d s$/, " s")} ago`;
}

const pad = (value, width = 2) => String(value).padStart(width, "0");

/** A time of day, with the date if that is not today. */
export function time(ms, withMillis = false) {
  const when = new Date(ms);
  if (!isNumber(ms) || Number.isNaN(when.getTime())) return isNumber(ms) ? String(ms) : UNKNOWN;
  const clock = `${pad(when.getHours())}:${pad(when.getMinutes())}:${pad(when.getSeconds())}`;
  const text = withMillis ? `${clock}.${pad(when.getMilliseconds(), 3)}` : clock;
  const isToday = when.toDateString() === new Date().toDateString();
  return isToday ? text : `${when.getFullYear()}-${pad(when.getMonth() + 1)}-${pad(when.getDate())} ${text}`;
}

/** A time as data has it, for tooltips. */
export function exactTime(ms) {
  const when = new Date(ms);
  return !isNumber(ms) || Number.isNaN(when.getTime()) ? UNKNOWN : when.toISOString();
}

/** How uneven subtasks are: how much more than the mean the largest has. */
export function skew(value) {
  return !isNumber(value) ? UNKNOWN : value < 0.01 ? "even" : `+${percent(value)}`;
}
