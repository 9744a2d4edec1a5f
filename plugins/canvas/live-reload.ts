/** Tells open pages that a file changed. Files are watched only while a page listens. */
import { basename } from "node:path";
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Logger, pause, type Stop, unavailable } from "@svc/sdk";
import { watchPlaces } from "@svc/sdk/files";

/** Choice: maximum pages that listen at the same time. */
const MAX_LISTENERS = 64;
/** Choice: milliseconds between two signs of life, without which a lost connection would stay open. */
const PING_MS = 30_000;
/** Choice: milliseconds without a further change before pages reload. */
const QUIET_MS = 200;
/** Choice: levels of directories that are watched. */
const DEPTH = 8;

export interface LiveReloadParts {
  readonly root: () => string;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
}

export class LiveReload {
  readonly #parts: LiveReloadParts;
  readonly #listeners = new Set<AsyncGenerator<string>>();
  #change = new AbortController();
  #watching: { readonly root: string; readonly stop: Promise<Stop> } | undefined;

  constructor(parts: LiveReloadParts) {
    this.#parts = parts;
  }

  /**
   * Server-sent events, until one of the signals aborts.
   * @throws GatewayError `UNAVAILABLE`: too many pages listen
   */
  listen(...signals: readonly AbortSignal[]): AsyncIterable<string> {
    if (this.#listeners.size >= MAX_LISTENERS) {
      return unavailable(`${MAX_LISTENERS} pages listen for changes, the maximum; close some`, {
        retryAfterMs: 10_000,
      });
    }
    const events = this.#events(signals, () => this.#leave(events));
    this.#listeners.add(events);
    return events;
  }

  async *#events(signals: readonly AbortSignal[], leave: () => Promise<void>): AsyncGenerator<string> {
    const { clock } = this.#parts;
    try {
      await this.#watch();
      yield "retry: 2000\n\n";
      while (!signals.some(({ aborted }) => aborted)) {
        const { signal: changed } = this.#change;
        const ending = new AnySignal(changed, ...signals);
        await pause(PING_MS, clock, ending.signal);
        ending.release();
        if (signals.some(({ aborted }) => aborted)) return;
        yield changed.aborted ? "event: reload\ndata: {}\n\n" : ": ping\n\n";
      }
    } finally {
      await leave();
    }
  }

  async #watch(): Promise<void> {
    const root = this.#parts.root();
    if (this.#watching?.root !== root) {
      await this.stop();
      this.#watching = { root, stop: this.#open(root) };
    }
    await this.#watching.stop;
  }

  async #open(root: string): Promise<Stop> {
    const { clock, log } = this.#parts;
    const failed = (err: unknown) =>
      log.warn({ err, directory: root }, "page files cannot be watched; open pages are not reloaded");
    const ignored = (path: string) =>
      path !== root && (basename(path).startsWith(".") || basename(path) === "node_modules");
    try {
      return await watchPlaces({
        places: async () => ({ key: root, roots: [root], depth: DEPTH, ignored }),
        quietMs: () => QUIET_MS,
        changed: () => this.#changed(),
        failed,
        clock,
      });
    } catch (error) {
      failed(error);
      return () => undefined;
    }
  }

  #changed(): void {
    const change = this.#change;
    this.#change = new AbortController();
    change.abort();
  }

  async #leave(events: AsyncGenerator<string>): Promise<void> {
    this.#listeners.delete(events);
    if (this.#listeners.size === 0) await this.stop();
  }

  /** Stops watching. Pages that still listen are told nothing more. */
  async stop(): Promise<void> {
    const watching = this.#watching;
    this.#watching = undefined;
    await (
      await watching?.stop
    )?.();
  }
}
