// Asks again and again while somebody looks: once a second, less often while the server is away, never while hidden.

const LONGEST_MS = 30_000;

export class Poll {
  /** `ask` is an async function; `onState` hears "live", "lost" with the time of the next try, or "paused". */
  constructor(ask, onState, everyMs = 1000) {
    this.ask = ask;
    this.onState = onState;
    this.everyMs = everyMs;
    this.failures = 0;
    this.timer = null;
    this.isStopped = false;
    this.onVisibility = () => (document.hidden ? this.pause() : this.now());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  /** Asks at once. */
  async now() {
    clearTimeout(this.timer);
    if (this.isStopped || this.isAsking) return;
    this.isAsking = true;
    let wait = this.everyMs;
    try {
      await this.ask();
      this.failures = 0;
      if (!this.isStopped) this.onState("live");
    } catch (error) {
      this.failures += 1;
      wait = Math.min(LONGEST_MS, this.everyMs * 2 ** Math.min(this.failures, 5));
      if (!this.isStopped) this.onState("lost", { error, nextMs: Date.now() + wait });
    } finally {
      this.isAsking = false;
    }
    if (this.isStopped) return;
    if (document.hidden) this.pause();
    else this.timer = setTimeout(() => this.now(), wait);
  }

  pause() {
    clearTimeout(this.timer);
    if (!this.isStopped) this.onState("paused");
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onVisibility);
  }
}
