/** Limits per minute, of visitors and addresses. */
import { bounded } from "@svc/kit/channels";
import type { Clock } from "@svc/sdk";

/** Remembered keys; beyond that, the least recently seen one starts afresh. */
const MAX_KEYS = 20_000;

export interface Rate {
  /** Counts one use. @returns milliseconds until the next one is possible; 0: this one was */
  take(key: string, perMinute: number): number;
}

/** A minute's worth may be used at once; afterwards uses come back evenly. */
export function createRate(clock: Pick<Clock, "elapsed">): Rate {
  const used = bounded<{ readonly count: number; readonly at: number }>(MAX_KEYS);
  return {
    take(key, perMinute) {
      const [at, before] = [clock.elapsed(), used.get(key)];
      const everyMs = 60_000 / perMinute;
      const count = before ? Math.max(0, before.count - (at - before.at) / everyMs) : 0;
      if (count + 1 > perMinute) return Math.ceil((count + 1 - perMinute) * everyMs);
      used.set(key, { count: count + 1, at });
      return 0;
    },
  };
}

/** An address, or the /64 network of an IPv6 address: one customer has a whole one. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const groups = (text = "") => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
