/** One at a time for each key, in the order of the calls. */
import { unavailable } from "@svc/sdk";

export class KeyLock {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @throws what `work` throws; GatewayError `UNAVAILABLE` when `signal` aborts before it begins */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = (async () => {
      await before?.catch(() => undefined);
      if (signal.aborted) return stopping();
      return work();
    })();
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}

/** @throws GatewayError always: `UNAVAILABLE`; the next start of the gateway goes on. */
export function stopping(): never {
  return unavailable("the gateway stops; the webhook goes on when it is back");
}
