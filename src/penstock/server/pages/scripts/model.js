// What the pages know of one job: the server's parts put together, and figures that need two looks, such as rates.

const WINDOW_MS = 15_000;
const HISTORY = 200;

export class JobModel {
  constructor(id) {
    this.id = id;
    this.part = null;
    this.history = [];
    this.exceptions = [];
    this.samples = [];
  }

  /** The path that asks for what is new. */
  path() {
    const after = this.history[0]?.version ?? -1;
    const failure = this.exceptions[0]?.at_ms ?? -1;
    return `penstock/jobs/${encodeURIComponent(this.id)}/live?after=${after}&failure=${failure}`;
  }

  /** Takes an answer. Gives false if the job was started anew, so that all of it has to be asked for again. */
  take(part) {
    if (this.part && this.part.started_ms !== part.started_ms) {
      Object.assign(this, { part: null, history: [], exceptions: [], samples: [] });
      return false;
    }
    this.part = part;
    this.history = [...part.checkpoints.history, ...this.history].slice(0, HISTORY);
    if (part.exceptions) this.exceptions = part.exceptions;
    this.#sample();
    this.vertices = part.plan.map((vertex) => this.#vertex(vertex));
    return true;
  }

  get isOver() {
    return this.part.ended_ms !== null;
  }

  get now() {
    return this.isOver ? this.part.ended_ms : this.part.now_ms;
  }

  /** What "ago" is counted to: an ended job stands still, but time goes on. */
  get clock() {
    return this.isOver ? Date.now() : this.part.now_ms;
  }

  get last() {
    return this.history[0] ?? null;
  }

  /** Records that sources read, by second, the oldest first: [[time, records], ...]. */
  throughput(seconds = 60) {
    const end = Math.floor(this.now / 1000);
    const found = Array.from({ length: seconds }, (_, index) => [(end - seconds + 1 + index) * 1000, 0]);
    for (const each of this.history) {
      // A batch that took longer than a second is spread over the seconds that it took.
      const first = Math.max(Math.floor(each.began_ms / 1000), 0), final = Math.floor(each.sealed_ms / 1000);
      for (let second = first; second <= final; second++) {
        const place = second - (end - seconds + 1);
        if (place >= 0 && place < seconds) found[place][1] += each.records / (final - first + 1);
      }
    }
    return found;
  }

  /** Records a second that sources read, over the last seconds. */
  get recordsPerSecond() {
    if (this.isOver) return null;
    const looked = this.history.filter((each) => this.now - each.sealed_ms < WINDOW_MS);
    if (!looked.length) return 0;
    const since = Math.min(...looked.map((each) => each.began_ms), this.now - 1000);
    return (looked.reduce((sum, each) => sum + each.records, 0) / (this.now - since)) * 1000;
  }

  /** The share of the last seconds in which the job worked on a version. */
  get busy() {
    const looked = this.history.filter((each) => this.now - each.sealed_ms < WINDOW_MS);
    if (this.isOver || !looked.length) return this.isOver ? null : 0;
    const since = Math.min(...looked.map((each) => each.began_ms));
    const worked = looked.reduce((sum, each) => sum + each.work_ms + each.seal_ms + each.publish_ms, 0);
    return Math.min(1, worked / Math.max(1, this.now - since));
  }

  #sample() {
    const totals = new Map();
    for (const vertex of this.part.plan) totals.set(vertex.id, this.#subtasks(vertex).map(figuresOf));
    this.samples.push({ at: this.part.now_ms, totals });
    while (this.samples.length > 2 && this.part.now_ms - this.samples[1].at > WINDOW_MS) this.samples.shift();
  }

  /** Subtasks of a vertex; a sink on the driver's side counts nothing itself, so it has what was sent to it. */
  #subtasks(vertex) {
    const own = this.part.subtasks[vertex.id] ?? [];
    if (!vertex.is_driver || !own.length) return own;
    const senders = new Set(vertex.inputs.map((edge) => edge.id));
    const sent = [...senders].flatMap((id) => this.part.subtasks[id] ?? []).reduce((sum, each) => sum + each.records_out, 0);
    return [{ ...own[0], records_in: Math.max(sent, own[0].records_in) }];
  }

  #rate(vertex, number, name) {
    const first = this.samples[0], last = this.samples.at(-1);
    const passed = last.at - first.at;
    if (this.isOver || passed < 500) return null;
    const before = first.totals.get(vertex.id)?.[number]?.[name], now = last.totals.get(vertex.id)?.[number]?.[name];
    if (before === undefined || now === undefined || before === null || now === null) return null;
    return (Math.max(0, now - before) / passed) * 1000;
  }

  #vertex(vertex) {
    const subtasks = this.#subtasks(vertex).map((each, number) => ({
      ...each,
      inRate: this.#rate(vertex, number, "records_in"),
      outRate: this.#rate(vertex, number, "records_out"),
      busy: each.load?.busy ?? asShare(this.#rate(vertex, number, "busy_ms")),
      lagMs: each.watermark === null ? null : Math.max(0, this.now - each.watermark),
    }));
    const marks = subtasks.map((each) => each.watermark).filter((mark) => mark !== null);
    const watermark = marks.length ? Math.min(...marks) : null;
    return {
      ...vertex,
      subtasks,
      recordsIn: total(subtasks, "records_in"),
      recordsOut: total(subtasks, "records_out"),
      inRate: total(subtasks, "inRate"),
      outRate: vertex.sends.length ? total(subtasks, "outRate") : null,
      // The busiest subtask is what holds the others up.
      busy: subtasks.reduce((most, each) => (each.busy === null ? most : Math.max(most ?? 0, each.busy)), null),
      backpressured: this.#backpressured(vertex),
      watermark,
      lagMs: watermark === null ? null : Math.max(0, this.now - watermark),
      stateBytes: total(subtasks, "state_bytes"),
      skew: skewOf(subtasks.map((each) => each.records_in)),
      hasEnded: subtasks.length > 0 && subtasks.every((each) => each.has_ended),
      late: figure(subtasks, "numLateRecordsDropped"),
      side: figure(subtasks, "side_records_out"),
    };
  }

  #backpressured(vertex) {
    const held = this.#subtasks(vertex).map((each) => each.load?.backpressured).filter((share) => share !== undefined);
    if (held.length) return this.isOver ? null : Math.max(...held);
    const pace = this.part.progress.pace;
    return vertex.is_source && pace && !this.isOver ? pace.backpressured : null;
  }
}

function figuresOf(subtask) {
  const busy = Object.values(subtask.figures).filter((each) => "busy_ms" in each);
  return {
    records_in: subtask.records_in,
    records_out: subtask.records_out,
    busy_ms: busy.length ? busy.reduce((sum, each) => sum + each.busy_ms, 0) : null,
  };
}

const asShare = (perSecond) => (perSecond === null ? null : Math.min(1, perSecond / 1000));

function total(subtasks, name) {
  const known = subtasks.map((each) => each[name]).filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

/** A figure of all operators of all subtasks together. */
export function figure(subtasks, name) {
  return subtasks.reduce((sum, each) => sum + Object.values(each.figures).reduce((part, figures) => part + (figures[name] ?? 0), 0), 0);
}

/** How much more than the mean the largest subtask has: 0 is even, 1 is twice the mean. Unknown for one subtask. */
export function skewOf(values) {
  const sum = values.reduce((total, value) => total + value, 0);
  return values.length < 2 || sum === 0 ? null : Math.max(...values) / (sum / values.length) - 1;
}

/** The load of a vertex in a word; the word is shown too, for who sees no colours. */
export function loadOf(vertex, isOver) {
  if (isOver || vertex.hasEnded) return "ended";
  if (vertex.backpressured !== null && vertex.backpressured >= 0.5) return "backpressured";
  if (vertex.busy === null) return (vertex.inRate ?? 0) > 0 ? "running" : "idle";
  return vertex.busy >= 0.8 ? "saturated" : vertex.busy >= 0.5 ? "busy" : vertex.busy > 0.005 || vertex.inRate > 0 ? "running" : "idle";
}
