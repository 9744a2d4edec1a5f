/** Timers: repeated and delayed work, from a plugin's start to its stop. */
import { Type } from "@svc/sdk";
import { type Begin, defineKind } from "../kind.ts";

export interface DeclaredTimer {
  readonly ms: number;
  readonly repeats: boolean;
  readonly begin: Begin;
}

export const timers = defineKind<DeclaredTimer>({
  name: "timers",
  noun: "timer",
  shape: Type.Object({ name: Type.String(), ms: Type.Number(), repeats: Type.Boolean() }),
  describe: ({ ms, repeats }) => ({ name: `${repeats ? "every" : "after"} ${ms} ms`, ms, repeats }),

  members(record, { clock, signal, isOpen, run, failed }) {
    const contained = (what: string, work: () => void | Promise<void>) => () => {
      if (signal.aborted) return;
      try {
        const result = run(work);
        if (result) result.catch((error: unknown) => failed(error, what));
      } catch (error) {
        failed(error, what);
      }
    };
    /** Starts a timer that is cancelled with the plugin; a timer that ends by itself calls `ended`. */
    const whileAlive = (begin: (ended: () => void) => () => void) => {
      const ended = () => signal.removeEventListener("abort", cancel);
      const cancel = begin(ended);
      signal.addEventListener("abort", cancel, { once: true });
    };
    /** A timer created in `setup` begins at the plugin's start; a later one begins at once. */
    const timer = (ms: number, repeats: boolean, begin: () => void) => {
      if (isOpen()) record({ ms, repeats, begin });
      else if (!signal.aborted) begin();
    };
    return {
      every(ms: number, work: () => void | Promise<void>) {
        timer(ms, true, () => whileAlive(() => clock.setInterval(contained("every()", work), ms)));
      },
      after(ms: number, work: () => void | Promise<void>) {
        const once = contained("after()", work);
        timer(ms, false, () => whileAlive((ended) => clock.setTimeout(() => (ended(), once()), ms)));
      },
    };
  },
  tap({ started }) {
    started.tapPromise("timers", async ({ declared }, begin) => {
      for (const timer of declared.of(timers)) await begin(timer.begin);
    });
  },
  wakes: () => "its timers run from the start of the gateway",
});
